// SPDX-License-Identifier: Apache-2.0
// Asking a mesh's proxy, against a real listener on loopback.
#include "base/mesh.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "base/fd.h"
#include "catch.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

// Answers one connection with `answer` (empty: says nothing until the other
// side is gone) and keeps what was asked.
class Proxy {
 public:
  explicit Proxy(std::string answer) : answer_(std::move(answer)) {
    listener_ = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const name = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    REQUIRE(::bind(listener_.get(), name, size) == 0);
    REQUIRE(::listen(listener_.get(), 4) == 0);
    REQUIRE(::getsockname(listener_.get(), name, &size) == 0);
    port = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }

  ~Proxy() { finish(); }

  std::string finish() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
    return asked_;
  }

  int port = 0;

 private:
  void serve() {
    const UniqueFd fd(::accept(listener_.get(), nullptr, nullptr));
    if (!fd) return;
    char bytes[512];
    const ssize_t count = ::recv(fd.get(), bytes, sizeof bytes, 0);
    if (count > 0) asked_.assign(bytes, static_cast<size_t>(count));
    if (answer_.empty()) {
      while (::recv(fd.get(), bytes, sizeof bytes, 0) > 0) continue;
      return;
    }
    static_cast<void>(
        ::send(fd.get(), answer_.data(), answer_.size(), MSG_NOSIGNAL));
  }

  std::string answer_;
  std::string asked_;
  UniqueFd listener_;
  std::thread thread_;
};

Result<int> ask(const std::string& answer, std::string* asked = nullptr) {
  Proxy proxy(answer);
  MeshCall call = mesh_ready_call(Mesh::kIstio);
  call.port = proxy.port;
  auto status = mesh_ask(call, answer.empty() ? 50ms : 20'000ms);
  const std::string heard = proxy.finish();
  if (asked != nullptr) *asked = heard;
  return status;
}

}  // namespace

TEST_CASE("the status of a mesh's proxy") {
  std::string asked;
  const auto ready = ask("HTTP/1.1 200 OK\r\n\r\n", &asked);
  REQUIRE(ready);
  CHECK(*ready == 200);
  CHECK(asked.starts_with("GET /healthz/ready HTTP/1.1\r\nHost: localhost"));
  const auto busy = ask("HTTP/1.1 503 Service Unavailable\r\n\r\n");
  REQUIRE(busy);
  CHECK(*busy == 503);
}

TEST_CASE("a mesh's proxy that gives no usable answer") {
  for (const char* answer :
       {"", "HTTP", "SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 abc what\r\n\r\n"}) {
    INFO(answer);
    const auto status = ask(answer);
    REQUIRE_FALSE(status);
    CHECK(status.error().code == "mesh");
  }
  MeshCall nobody = mesh_quit_call(Mesh::kIstio);
  nobody.port = 1;  // nothing listens there
  CHECK_FALSE(mesh_ask(nobody, 1'000ms));
}

TEST_CASE("how meshes are called") {
  CHECK(mesh_of("istio") == Mesh::kIstio);
  CHECK(mesh_of("linkerd") == Mesh::kLinkerd);
  CHECK(mesh_of("none") == Mesh::kNone);
  CHECK(mesh_of("") == Mesh::kNone);
  CHECK(mesh_quit_call(Mesh::kIstio).port == 15020);
  CHECK(
      mesh_quit_call(Mesh::kIstio).request.starts_with("POST /quitquitquit "));
  CHECK(mesh_quit_call(Mesh::kLinkerd).request.starts_with("POST /shutdown "));
}
