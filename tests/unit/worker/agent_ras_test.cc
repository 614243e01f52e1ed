// SPDX-License-Identifier: Apache-2.0
// Against a server that speaks as NCCL's RAS thread does, and others that do
// not.
#include "worker/hang/agent_ras.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "base/fd.h"
#include "base/loopback.h"
#include "catch.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

// Takes one connection: says `replies` in turn, one for each line it reads,
// then ends it; "" is no reply.
class Server {
 public:
  explicit Server(std::vector<std::string> replies, bool ends = true) {
    auto listener = listen_on_loopback();
    REQUIRE(listener);
    listener_ = std::move(*listener);
    thread_ = std::thread([this, replies = std::move(replies), ends] {
      pollfd wait{listener_.socket.get(), POLLIN, 0};
      ::poll(&wait, 1, 60'000);
      const UniqueFd peer(::accept(listener_.socket.get(), nullptr, nullptr));
      for (const std::string& reply : replies) {
        heard_ += line(peer.get());
        static_cast<void>(write_all(peer.get(), reply));
      }
      if (!ends) std::this_thread::sleep_for(500ms);
    });
  }
  ~Server() { thread_.join(); }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] std::string address() const {
    return "127.0.0.1:" + std::to_string(listener_.port);
  }
  std::string heard() {
    thread_.join();
    thread_ = std::thread([] {});
    return heard_;
  }

 private:
  static std::string line(int fd) {
    std::string text;
    char c = 0;
    while (::read(fd, &c, 1) == 1) {
      text += c;
      if (c == '\n') break;
    }
    return text;
  }

  LoopbackListener listener_;
  std::string heard_;
  std::thread thread_;
};

TEST_CASE("NCCL is asked as its own client asks") {
  Server nccl({"SERVER PROTOCOL 2\n", "OK\n", "NCCL version 2.26.2\nErrors\n"});
  CHECK(ask_ras(nccl.address(), 10s) == "NCCL version 2.26.2\nErrors\n");
  CHECK(nccl.heard() == "CLIENT PROTOCOL 2\nTIMEOUT 2\nVERBOSE STATUS\n");
}

TEST_CASE("what has come when time is up counts") {
  Server nccl({"SERVER PROTOCOL 2\n", "OK\n", "NCCL version 2.26.2\n"}, false);
  CHECK(ask_ras(nccl.address(), 300ms) == "NCCL version 2.26.2\n");
}

TEST_CASE("somebody else who listens there is left alone") {
  Server other({"HTTP/1.1 400 Bad Request\n"});
  CHECK(ask_ras(other.address(), 10s).empty());
  CHECK(other.heard() == "CLIENT PROTOCOL 2\n");
}

TEST_CASE("nobody listens, or nobody may be asked") {
  CHECK(ask_ras("127.0.0.1:1", 10s).empty());
  CHECK(ask_ras("no such host:28028", 10s).empty());
  CHECK(ask_ras("off", 10s).empty());
}

TEST_CASE("where a rank's NCCL listens") {
  using namespace std::string_literals;
  CHECK(ras_address_of("A=1\0B=2"s).empty());
  CHECK(ras_address_of("A=1\0NCCL_RAS_ADDR=[::1]:9\0B=2"s) == "[::1]:9");
  CHECK(ras_address_of("NCCL_RAS_ADDR=x:1\0NCCL_RAS_ENABLE=0"s) == "off");
  CHECK(ras_address_of("NCCL_RAS_ENABLE=1"s).empty());
}

}  // namespace
}  // namespace muster
