// SPDX-License-Identifier: Apache-2.0
// Connections over loopback: accepted, refused, silent, and races of both.
#include "launcher/connect/tcp_connector.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <optional>

#include "catch.h"
#include "run_loop.h"

namespace muster {
namespace {

using namespace std::chrono_literals;
using test::run_for;
using test::run_until;

Address loopback(const char* text = "127.0.0.1") {
  Address address;
  auto* in = reinterpret_cast<sockaddr_in*>(&address.storage);
  in->sin_family = AF_INET;
  ::inet_pton(AF_INET, text, &in->sin_addr);
  address.length = sizeof *in;
  return address;
}

Address loopback6() {
  Address address;
  auto* in = reinterpret_cast<sockaddr_in6*>(&address.storage);
  in->sin6_family = AF_INET6;
  in->sin6_addr = in6addr_loopback;
  address.length = sizeof *in;
  return address;
}

struct Listener {
  explicit Listener(int backlog = 16) {
    fd.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    Address any = loopback();
    ::bind(fd.get(), any.raw(), any.length);
    if (backlog >= 0) ::listen(fd.get(), backlog);
    sockaddr_in bound{};
    socklen_t size = sizeof bound;
    ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&bound), &size);
    port = ntohs(bound.sin_port);
  }
  UniqueFd fd;
  int port = 0;
};

// A port that is taken, so that nobody else listens at it either.
struct Deaf : Listener {
  Deaf() : Listener(-1) {}
};

struct Outcome {
  int calls = 0;
  std::string code;
  std::string text;
  UniqueFd fd;
};

Outcome connect(std::vector<Address> addresses, int port,
                Milliseconds timeout = 5s) {
  Loop loop;
  Outcome outcome;
  TcpConnector connector(loop, std::move(addresses), port, timeout,
                         [&](Result<UniqueFd> result) {
                           ++outcome.calls;
                           if (result) {
                             outcome.fd = std::move(*result);
                           } else {
                             outcome.code = result.error().code;
                             outcome.text = result.error().text();
                           }
                         });
  run_until(loop, [&] { return outcome.calls > 0; });
  run_for(loop, 20ms);
  return outcome;
}

TEST_CASE("a connection, ready for a loop") {
  const Listener listener;
  const Outcome outcome = connect({loopback()}, listener.port);
  CHECK(outcome.calls == 1);
  REQUIRE(outcome.fd);
  CHECK((::fcntl(outcome.fd.get(), F_GETFL) & O_NONBLOCK) != 0);
  CHECK((::fcntl(outcome.fd.get(), F_GETFD) & FD_CLOEXEC) != 0);
  int on = 0;
  socklen_t size = sizeof on;
  ::getsockopt(outcome.fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, &size);
  CHECK(on != 0);
}

TEST_CASE("refused, with the port and the address in the sentence") {
  const Deaf deaf;
  const int port = deaf.port;
  const Outcome outcome = connect({loopback()}, port);
  CHECK(outcome.calls == 1);
  CHECK(outcome.code == "tcp_refused");
  CHECK(outcome.text.find(std::to_string(port)) != std::string::npos);
  CHECK(outcome.text.find("127.0.0.1") != std::string::npos);
}

// A listener whose queue is full answers no SYN: as silent as a firewall.
struct SilentListener : Listener {
  SilentListener() : Listener(0) {
    for (int i = 0; i < 4; ++i) {
      UniqueFd filler(
          ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      Address to = loopback();
      set_port(to, port);
      static_cast<void>(::connect(filler.get(), to.raw(), to.length));
      fillers.push_back(std::move(filler));
    }
  }
  std::vector<UniqueFd> fillers;
};

TEST_CASE("silence ends at the deadline as filtered") {
  const SilentListener silent;
  const auto before = Clock::now();
  const Outcome outcome = connect({loopback()}, silent.port, 200ms);
  CHECK(outcome.calls == 1);
  CHECK(outcome.code == "tcp_filtered");
  CHECK(outcome.text.find("200 ms") != std::string::npos);
  CHECK(Clock::now() - before < 30s);
}

TEST_CASE("a refused address does not hold up the next") {
  const Listener listener;
  const auto before = Clock::now();
  // Nothing listens on this port of 127.0.0.2 or ::1.
  const Outcome outcome =
      connect({loopback("127.0.0.2"), loopback6(), loopback()}, listener.port);
  CHECK(outcome.fd);
  CHECK(outcome.calls == 1);
  CHECK(Clock::now() - before < 4s);
}

TEST_CASE("a silent address gives the next one its turn") {
  const SilentListener silent;
  // The same port on another loopback address answers.
  Listener other;
  other.fd.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  Address there = loopback("127.0.0.3");
  set_port(there, silent.port);
  REQUIRE(::bind(other.fd.get(), there.raw(), there.length) == 0);
  REQUIRE(::listen(other.fd.get(), 4) == 0);
  const auto before = Clock::now();
  const Outcome outcome =
      connect({loopback(), loopback("127.0.0.3")}, silent.port);
  CHECK(outcome.fd);
  CHECK(Clock::now() - before >= 240ms);  // its head start
}

TEST_CASE("an address of no family that can be had") {
  Address odd;
  odd.storage.ss_family = 200;
  odd.length = sizeof(sockaddr_in);
  const Outcome outcome = connect({odd}, 80);
  CHECK(outcome.calls == 1);
  CHECK(outcome.code == "tcp_unreachable");
}

TEST_CASE("without a file descriptor it says so") {
  Loop loop;
  run_for(loop, 1ms);  // it has made its own by then
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const int next = ::dup(0);
  REQUIRE(next >= 0);
  ::close(next);
  const rlimit none{static_cast<rlim_t>(next), before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  std::string code;
  std::string text;
  const TcpConnector connector(loop, {loopback()}, 1, 5s,
                               [&](const Result<UniqueFd>& result) {
                                 code = result.error().code;
                                 text = result.error().text();
                               });
  const bool told = run_until(loop, [&] { return !code.empty(); });
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(told);
  CHECK(code == "no_descriptors");
  CHECK(text.find("limit of open files: " + std::to_string(next)) !=
        std::string::npos);
}

TEST_CASE("destruction ends it without a word") {
  const SilentListener silent;
  Loop loop;
  int calls = 0;
  {
    const TcpConnector connector(loop, {loopback()}, silent.port, 50ms,
                                 [&](const Result<UniqueFd>&) { ++calls; });
    run_for(loop, 10ms);
  }
  run_for(loop, 100ms);
  CHECK(calls == 0);
}

TEST_CASE("the connector may be destroyed by its own answer") {
  const Listener listener;
  Loop loop;
  std::unique_ptr<TcpConnector> connector;
  bool done = false;
  connector = std::make_unique<TcpConnector>(
      loop, std::vector<Address>{loopback()}, listener.port, 5s,
      [&](const Result<UniqueFd>&) {
        connector.reset();
        done = true;
      });
  CHECK(run_until(loop, [&] { return done; }));
}

}  // namespace
}  // namespace muster
