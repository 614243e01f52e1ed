// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/door.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "catch.h"
#include "sshd-lite/door_proof.h"

using namespace muster;

namespace {

// TCP: the door asks the kernel to hold short messages back.
Pipe connected_pair() {
  const UniqueFd listener(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  Pipe out;
  out.write.reset(::socket(AF_INET, SOCK_STREAM, 0));
  REQUIRE(::bind(listener.get(), raw, size) == 0);
  REQUIRE(::listen(listener.get(), 1) == 0);
  REQUIRE(::getsockname(listener.get(), raw, &size) == 0);
  REQUIRE(::connect(out.write.get(), raw, size) == 0);
  out.read.reset(::accept(listener.get(), nullptr, nullptr));
  return out;
}

struct Visitors {
  Loop loop;
  std::vector<std::string> talking;
  std::vector<std::string> proven;
  bool quiet = true;
  Door door;
  explicit Visitors(size_t capacity, int patience_ms = 60000)
      : door(loop,
             DoorOptions{capacity, Milliseconds(patience_ms), Milliseconds(20)},
             DoorEvents{[this](Visitor visitor) {
                          auto& list = visitor.proven ? proven : talking;
                          list.push_back(std::move(visitor.peer));
                        },
                        [] { return std::string("secret"); },
                        [this] { return quiet; }}) {}
  UniqueFd visit(const std::string& peer) {
    auto pair = connected_pair();
    set_nonblocking(pair.read.get());
    door.admit(std::move(pair.read), peer);
    return std::move(pair.write);
  }
  void run(int milliseconds) {
    Timer end(loop);
    end.start(Milliseconds(milliseconds), [this] { loop.stop(); });
    loop.run();
  }
  bool run_until(const std::function<bool()>& done) {
    for (int i = 0; i < 6000 && !done(); ++i) run(10);
    return done();
  }
};

// The version line that a visitor was sent.
std::string greeting_of(const UniqueFd& fd) {
  char line[128];
  const ssize_t n = ::read(fd.get(), line, sizeof line);
  return {line, n > 0 ? static_cast<size_t>(n) : 0};
}

bool say(const UniqueFd& fd, const std::string& text) {
  return write_all(fd.get(), text).has_value();
}

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
  const std::string line = greeting_of(speaker);
  CHECK(line == server_version_line(nonce_of(line).value()));
  CHECK(greeting_of(silent) != line);
  CHECK(say(speaker, std::string(kProofSize, 'S')));
  CHECK(visitors.run_until([&] { return !visitors.talking.empty(); }));
  CHECK(visitors.talking == std::vector<std::string>{"10.0.0.2:1"});
  CHECK(visitors.door.waiting() == 1);
}

TEST_CASE("who says little waits for a quiet time") {
  Visitors visitors(8);
  visitors.quiet = false;
  const UniqueFd terse = visitors.visit("10.0.0.1:1");
  CHECK(say(terse, "SSH-2.0-terse\r\n"));
  visitors.run(80);
  CHECK(visitors.talking.empty());
  visitors.quiet = true;
  CHECK(visitors.run_until([&] { return visitors.talking.size() == 1; }));
  // And who has long been heard is passed on with its first byte.
  const UniqueFd late = visitors.visit("10.0.0.2:1");
  visitors.run(80);
  visitors.quiet = false;
  CHECK(say(late, "S"));
  CHECK(visitors.run_until([&] { return visitors.talking.size() == 2; }));
}

TEST_CASE("a proof is taken, checked, and good for one connection") {
  Visitors visitors(8);
  const UniqueFd one = visitors.visit("10.0.0.1:1");
  const UniqueFd two = visitors.visit("10.0.0.2:1");
  const UniqueFd three = visitors.visit("10.0.0.3:1");
  const std::string nonce = nonce_of(greeting_of(one)).value();
  CHECK(say(one, proof_line("secret", nonce)));
  CHECK(say(two, proof_line("secret", nonce)));
  CHECK(say(three, proof_line("guess", nonce_of(greeting_of(three)).value())));
  CHECK(visitors.run_until([&] { return visitors.talking.size() == 2; }));
  CHECK(visitors.proven == std::vector<std::string>{"10.0.0.1:1"});
}

TEST_CASE("who leaves without a word is forgotten without a word") {
  Visitors visitors(8);
  visitors.visit("10.0.0.1:1").reset();
  CHECK(visitors.run_until([&] { return visitors.door.waiting() == 0; }));
  CHECK(visitors.talking.empty());
}

TEST_CASE("patience ends") {
  Visitors visitors(8, 20);
  const UniqueFd silent = visitors.visit("10.0.0.1:1");
  CHECK_FALSE(is_closed(silent));
  CHECK(visitors.run_until([&] { return is_closed(silent); }));
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
  CHECK(visitors.run_until([&] { return visitors.door.waiting() == 0; }));
  CHECK(visitors.talking.empty());
}
