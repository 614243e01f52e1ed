// SPDX-License-Identifier: Apache-2.0
// A rank that knocks at the door is libpmix' own guest, and where libpmix does
// not take it by our accept(), its bytes are passed on.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <thread>

#include "base/loopback.h"
#include "catch.h"
#include "worker/pmix/agent_pmix_door.h"
#include "worker/pmix/agent_pmix_guests.h"

using namespace muster;

namespace {

void block(int fd) { set_nonblocking(fd, false); }

int port_of(int socket, decltype(&::getsockname) ask) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (ask(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.sin_port);
}

std::string read_some(int fd) {
  char bytes[64];
  const ssize_t n = ::read(fd, bytes, sizeof bytes);
  return n > 0 ? std::string(bytes, static_cast<size_t>(n)) : std::string();
}

// A rank says "rank", and the server, which accepts in its own way on a thread
// of its own as libpmix does, answers with "server".
struct Visit {
  template <class Accept>
  explicit Visit(Accept accept_one) {
    auto listener = listen_on_loopback();
    REQUIRE(listener);
    block(listener->socket.get());
    auto door = PmixDoor::open(loop, [port = listener->port] { return port; });
    REQUIRE(door);
    UniqueFd rank = connect_to_loopback((*door)->port());
    REQUIRE(rank);
    block(rank.get());
    rank_port = port_of(rank.get(), ::getsockname);
    std::thread server([&] {
      const UniqueFd own(accept_one(listener->socket.get()));
      seen_port = port_of(own.get(), ::getpeername);
      (void)write_all(own.get(), "server");
      heard_by_server = read_some(own.get());
    });
    std::thread client([&] {
      (void)write_all(rank.get(), "rank");
      heard_by_rank = read_some(rank.get());
      server.join();
      loop.post([this] { loop.stop(); });
    });
    guard.start(Milliseconds(20000), [this] { loop.stop(); });
    loop.run();
    rank.reset();
    client.join();
  }

  Loop loop;
  Timer guard{loop};
  int rank_port = 0;
  int seen_port = 0;  // of whoever the server talks to
  std::string heard_by_server;
  std::string heard_by_rank;
};

}  // namespace

TEST_CASE("libpmix talks to the rank itself") {
  const Visit visit(
      [](int listener) { return ::accept(listener, nullptr, nullptr); });
  CHECK(visit.seen_port == visit.rank_port);
  CHECK(visit.heard_by_server == "rank");
  CHECK(visit.heard_by_rank == "server");
}

TEST_CASE("a library that accepts in another way gets a rank's bytes") {
  const Visit visit([](int listener) {
    return ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  });
  CHECK(visit.seen_port != visit.rank_port);
  CHECK(visit.heard_by_server == "rank");
  CHECK(visit.heard_by_rank == "server");
}

TEST_CASE("accept() of whom nobody knocked for is libc's") {
  auto listener = listen_on_loopback();
  REQUIRE(listener);
  CHECK(::accept(listener->socket.get(), nullptr, nullptr) == -1);
  CHECK(errno == EAGAIN);
  const UniqueFd client = connect_to_loopback(listener->port);
  block(listener->socket.get());
  const UniqueFd got(::accept(listener->socket.get(), nullptr, nullptr));
  REQUIRE(got);
  CHECK(port_of(got.get(), ::getpeername) ==
        port_of(client.get(), ::getsockname));
}

TEST_CASE("who was not accepted can be had back") {
  auto listener = listen_on_loopback();
  REQUIRE(listener);
  auto pair = make_socketpair(SOCK_STREAM);
  REQUIRE(pair);
  REQUIRE(knock_for_guest(listener->port, std::move(pair->write)));
  auto guests = take_back_guests();
  REQUIRE(guests.size() == 1);
  (void)write_all(guests[0].socket.get(), "still here");
  CHECK(read_some(pair->read.get()) == "still here");
  CHECK(take_back_guests().empty());
}
