// SPDX-License-Identifier: Apache-2.0
// Bytes pass both ways, whole and in order; the end of one is the end of both.
#include "worker/rank/socket_relay.h"

#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <thread>

#include "catch.h"

using namespace muster;

namespace {

// rank <-> (left relay right) <-> server
struct Line {
  Line() {
    auto near = make_socketpair(SOCK_STREAM);
    auto far = make_socketpair(SOCK_STREAM);
    REQUIRE(near);
    REQUIRE(far);
    rank = std::move(near->read);
    server = std::move(far->read);
    relay.emplace(loop, std::move(near->write), std::move(far->write), [this] {
      relay.reset();
      loop.stop();
    });
    guard.start(Milliseconds(20000), [this] { loop.stop(); });
  }

  Loop loop;
  Timer guard{loop};
  UniqueFd rank;
  UniqueFd server;
  std::optional<SocketRelay> relay;
};

std::string read_all(int fd) {
  std::string out;
  char bytes[4096];
  for (ssize_t n; (n = ::read(fd, bytes, sizeof bytes)) > 0;) {
    out.append(bytes, static_cast<size_t>(n));
  }
  return out;
}

}  // namespace

TEST_CASE("more than any buffer takes arrives whole at a slow reader") {
  Line line;
  std::string sent;
  for (int i = 0; sent.size() < (4 << 20); ++i) sent += std::to_string(i) + ' ';
  std::string got;
  std::thread writer([&line, &sent] {
    (void)write_all(line.rank.get(), sent);
    line.rank.reset();
  });
  std::thread reader([&line, &got] {
    ::usleep(50'000);
    got = read_all(line.server.get());
  });
  line.loop.run();
  writer.join();
  reader.join();
  CHECK_FALSE(line.relay);
  CHECK(got == sent);
}

TEST_CASE("an answer comes back, and the server's end ends the rank's side") {
  Line line;
  REQUIRE(write_all(line.rank.get(), "question"));
  std::string asked(8, ' ');
  std::thread server([&line, &asked] {
    CHECK(::read(line.server.get(), asked.data(), asked.size()) == 8);
    (void)write_all(line.server.get(), "answer");
    line.server.reset();
  });
  line.loop.run();
  server.join();
  CHECK(asked == "question");
  CHECK(read_all(line.rank.get()) == "answer");
}

TEST_CASE("a rank that dies with bytes on the way ends the relay") {
  Line line;
  REQUIRE(write_all(line.server.get(), "never read"));
  line.rank.reset();
  line.loop.run();
  CHECK_FALSE(line.relay);
}
