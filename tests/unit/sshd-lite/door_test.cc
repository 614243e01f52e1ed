// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/door.h"

#include <sys/socket.h>
#include <unistd.h>

#include "catch.h"

using namespace muster;

namespace {

struct Visitors {
  Loop loop;
  std::vector<std::string> talking;
  Door door;
  explicit Visitors(size_t capacity, int patience_ms = 60000)
      : door(loop, DoorOptions{capacity, Milliseconds(patience_ms)},
             [this](UniqueFd, std::string peer) {
               talking.push_back(std::move(peer));
             }) {}
  UniqueFd visit(const std::string& peer) {
    auto pair = make_socketpair(SOCK_STREAM);
    set_nonblocking(pair->read.get());
    door.admit(std::move(pair->read), peer);
    return std::move(pair->write);
  }
  void run(int milliseconds) {
    Timer end(loop);
    end.start(Milliseconds(milliseconds), [this] { loop.stop(); });
    loop.run();
  }
};

bool is_closed(const UniqueFd& fd) {
  char bytes[64];
  for (;;) {
    const ssize_t n = ::recv(fd.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (n == 0) return true;
    if (n < 0) return false;
  }
}

}  // namespace

TEST_CASE("a visitor is greeted, and passed on once it says something") {
  Visitors visitors(8);
  const UniqueFd silent = visitors.visit("10.0.0.1:1");
  const UniqueFd speaker = visitors.visit("10.0.0.2:1");
  char line[64];
  const ssize_t n = ::read(speaker.get(), line, sizeof line);
  CHECK(std::string(line, static_cast<size_t>(n)) == kServerVersionLine);
  CHECK(::write(speaker.get(), "S", 1) == 1);
  visitors.run(30);
  CHECK(visitors.talking == std::vector<std::string>{"10.0.0.2:1"});
  CHECK(visitors.door.waiting() == 1);
}

TEST_CASE("who leaves without a word is forgotten without a word") {
  Visitors visitors(8);
  visitors.visit("10.0.0.1:1").reset();
  visitors.run(30);
  CHECK(visitors.talking.empty());
  CHECK(visitors.door.waiting() == 0);
}

TEST_CASE("patience ends") {
  Visitors visitors(8, 20);
  const UniqueFd silent = visitors.visit("10.0.0.1:1");
  CHECK_FALSE(is_closed(silent));
  visitors.run(60);
  CHECK(is_closed(silent));
}

TEST_CASE("a full door turns out the busiest address, oldest first") {
  Visitors visitors(3);
  const UniqueFd lone = visitors.visit("10.0.0.1:1");
  const UniqueFd first = visitors.visit("10.0.0.2:1");
  const UniqueFd second = visitors.visit("10.0.0.2:2");
  const UniqueFd third = visitors.visit("10.0.0.2:3");
  CHECK_FALSE(is_closed(lone));
  CHECK(is_closed(first));
  CHECK_FALSE(is_closed(second));
  CHECK(visitors.door.waiting() == 3);
}

TEST_CASE("who is held is not listened to") {
  Visitors visitors(3, 50);
  auto pair = make_socketpair(SOCK_STREAM);
  visitors.door.hold(std::move(pair->read), "10.0.0.1:1");
  CHECK(::write(pair->write.get(), "x", 1) == 1);
  visitors.run(20);
  CHECK(visitors.talking.empty());
  visitors.run(80);
  CHECK(visitors.door.waiting() == 0);
}
