// SPDX-License-Identifier: Apache-2.0
#include "base/mesh.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/fd.h"
#include "base/log.h"
#include "base/loopback.h"
#include "base/text.h"

namespace muster {

namespace {

using Instant = std::chrono::steady_clock::time_point;

constexpr std::chrono::milliseconds kQuitLimit{3'000};
constexpr size_t kStatusLine = 12;  // "HTTP/1.1 200"

std::string http(const char* method, const char* path) {
  return std::string(method) + " " + path +
         " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n"
         "Connection: close\r\n\r\n";
}

Error unanswered(int port, const std::string& why) {
  return {
      "mesh",
      "the mesh's proxy does not answer on 127.0.0.1:" + std::to_string(port),
      why,
      {},
      "is the proxy in this pod? If not, leave --mesh out"};
}

bool wait_for(int fd, short events, Instant until) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      until - std::chrono::steady_clock::now());
  pollfd poll_fd{fd, events, 0};
  return ::poll(&poll_fd, 1,
                static_cast<int>(std::max<int64_t>(left.count(), 0))) == 1;
}

}  // namespace

Mesh mesh_of(const std::string& name) {
  if (name == "istio") return Mesh::kIstio;
  return name == "linkerd" ? Mesh::kLinkerd : Mesh::kNone;
}

MeshCall mesh_ready_call(Mesh mesh) {
  return mesh == Mesh::kIstio ? MeshCall{15021, http("GET", "/healthz/ready")}
                              : MeshCall{4191, http("GET", "/ready")};
}

MeshCall mesh_quit_call(Mesh mesh) {
  return mesh == Mesh::kIstio ? MeshCall{15020, http("POST", "/quitquitquit")}
                              : MeshCall{4191, http("POST", "/shutdown")};
}

Result<int> mesh_ask(const MeshCall& call, std::chrono::milliseconds limit) {
  const Instant until = std::chrono::steady_clock::now() + limit;
  const auto fd = dial_loopback(call.port, limit);
  if (!fd) return fail(unanswered(call.port, std::strerror(fd.error())));
  // A request this short fits into any socket's buffer.
  if (::send(fd->get(), call.request.data(), call.request.size(),
             MSG_NOSIGNAL) != static_cast<ssize_t>(call.request.size())) {
    return fail(unanswered(call.port, std::strerror(errno)));
  }
  std::string answer;
  while (answer.size() < kStatusLine) {
    char bytes[64];
    if (!wait_for(fd->get(), POLLIN, until)) {
      return fail(unanswered(call.port, "no answer in time"));
    }
    const ssize_t count = ::recv(fd->get(), bytes, sizeof bytes, 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (count <= 0) return fail(unanswered(call.port, "it hung up"));
    answer.append(bytes, static_cast<size_t>(count));
  }
  const auto status = parse_integer(answer.substr(9, 3));
  if (!answer.starts_with("HTTP/1.") || !status) {
    return fail(unanswered(call.port, "the process there does not speak HTTP"));
  }
  return static_cast<int>(*status);
}

void mesh_quit(Mesh mesh) {
  if (mesh == Mesh::kNone) return;
  const auto status = mesh_ask(mesh_quit_call(mesh), kQuitLimit);
  if (!status) {
    log::warn("{}", status.error().text());
  } else if (*status != 200) {
    log::warn(
        "the mesh's proxy answered {} when asked to quit: the pod may stay",
        *status);
  } else {
    log::info("told the mesh's proxy to quit");
  }
}

}  // namespace muster
