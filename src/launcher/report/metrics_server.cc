// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/metrics_server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/listen.h"

namespace muster {

namespace {

constexpr size_t kMaxRequest = 4096;
constexpr size_t kMaxPeers = 16;
constexpr Milliseconds kPatience{5'000};

std::string answer(const std::string& status, const std::string& body) {
  return "HTTP/1.0 " + status +
         "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
         "Content-Length: " +
         std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body;
}

}  // namespace

struct MetricsServer::Peer {
  Peer(Loop& loop, UniqueFd socket)
      : fd(std::move(socket)), watch(loop, fd.get()), deadline(loop) {}
  UniqueFd fd;
  FdWatch watch;
  Timer deadline;
  std::string in;
  std::string out;
};

MetricsServer::MetricsServer(Loop& loop, std::function<std::string()> text)
    : loop_(loop), text_(std::move(text)) {}

MetricsServer::~MetricsServer() = default;

Status MetricsServer::listen(int port) {
  listener_ = listen_on_any(port);
  if (!listener_) {
    const bool privileged = errno == EACCES;
    return fail(Error{privileged ? "port_privileged" : "port_in_use",
                      "cannot serve metrics", strerror(errno),
                      "port " + std::to_string(port),
                      privileged ? "ports below 1024 need a right that pods "
                                   "rarely have: as in --metrics-port 9400"
                                 : "something in this pod listens there: "
                                   "choose another --metrics-port"});
  }
  port_ = port_of(listener_.get());
  watch_ = std::make_unique<AcceptWatch>(
      loop_, listener_.get(),
      [this](UniqueFd fd) { accept_peer(std::move(fd)); });
  return {};
}

void MetricsServer::accept_peer(UniqueFd fd) {
  if (peers_.size() >= kMaxPeers) return;
  const int number = fd.get();
  auto peer = std::make_unique<Peer>(loop_, std::move(fd));
  peer->watch.on_readable([this, number] { read_request(number); });
  peer->deadline.start(kPatience, [this, number] { peers_.erase(number); });
  peers_[number] = std::move(peer);
}

void MetricsServer::read_request(int fd) {
  Peer& peer = *peers_.at(fd);
  char buffer[1024];
  const ssize_t n = ::read(fd, buffer, sizeof buffer);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0 || peer.in.size() > kMaxRequest) {
    peers_.erase(fd);
    return;
  }
  peer.in.append(buffer, static_cast<size_t>(n));
  if (peer.in.find("\r\n\r\n") == std::string::npos &&
      peer.in.find("\n\n") == std::string::npos) {
    return;
  }
  const bool known = peer.in.starts_with("GET /metrics ") ||
                     peer.in.starts_with("GET /metrics?");
  peer.out = known ? answer("200 OK", text_())
                   : answer("404 Not Found", "only /metrics is here\n");
  peer.watch.stop_reading();
  peer.watch.on_writable([this, fd] { write_answer(fd); });
}

void MetricsServer::write_answer(int fd) {
  Peer& peer = *peers_.at(fd);
  const ssize_t n = ::send(fd, peer.out.data(), peer.out.size(), MSG_NOSIGNAL);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n > 0) peer.out.erase(0, static_cast<size_t>(n));
  if (n <= 0 || peer.out.empty()) peers_.erase(fd);
}

}  // namespace muster
