// SPDX-License-Identifier: Apache-2.0
// Who waits with select(), as libpmix does, is given the ranks themselves; who
// waits in another way gets their bytes passed on. Nobody who knocks is lost.
#include "worker/pmix/agent_pmix_door.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <csignal>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/loopback.h"
#include "catch.h"

using namespace muster;

namespace {

constexpr int kPatienceMs = 20'000;

int port_of(int socket, decltype(&::getsockname) ask) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (ask(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.sin_port);
}

std::string read_some(int fd) {
  pollfd waiting{fd, POLLIN, 0};
  char bytes[64];
  if (::poll(&waiting, 1, kPatienceMs) != 1) return "nothing came";
  const ssize_t n = ::read(fd, bytes, sizeof bytes);
  return n > 0 ? std::string(bytes, static_cast<size_t>(n)) : std::string();
}

int accept_by_select(int listener) {
  for (;;) {
    fd_set waiting;
    FD_ZERO(&waiting);
    FD_SET(listener, &waiting);
    if (::select(listener + 1, &waiting, nullptr, nullptr, nullptr) < 0) {
      return -1;
    }
    const int got = ::accept(listener, nullptr, nullptr);
    if (got >= 0 || errno != EAGAIN) return got;
  }
}

int accept_by_epoll(int listener) {
  const UniqueFd poll(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{EPOLLIN, {.fd = listener}};
  ::epoll_ctl(poll.get(), EPOLL_CTL_ADD, listener, &event);
  ::epoll_wait(poll.get(), &event, 1, kPatienceMs);
  return ::accept(listener, nullptr, nullptr);
}

struct Visit {
  bool itself = false;  // the server talks to the rank's own socket
  std::string server_heard;
  std::string rank_heard;
};

// Ranks knock one after another; the server accepts `how`, on a thread of its
// own as libpmix does.
std::vector<Visit> visits(size_t count, int (*how)(int)) {
  Loop loop;
  Timer guard(loop);
  auto listener = listen_on_loopback();
  REQUIRE(listener);
  auto door = PmixDoor::open(loop, [port = listener->port] { return port; });
  REQUIRE(door);
  std::vector<Visit> out(count);
  std::vector<int> guests(count);
  std::vector<int> ranks(count);
  std::thread server([&out, &guests, how, own = listener->socket.get()] {
    for (size_t i = 0; i < out.size(); ++i) {
      const UniqueFd guest(how(own));
      guests[i] = port_of(guest.get(), ::getpeername);
      (void)write_all(guest.get(), "server");
      out[i].server_heard = read_some(guest.get());
    }
  });
  std::thread client([&] {
    for (size_t i = 0; i < out.size(); ++i) {
      const UniqueFd rank = connect_to_loopback((*door)->port());
      ranks[i] = port_of(rank.get(), ::getsockname);
      // As libpmix' client: it speaks first.
      (void)write_all(rank.get(), "rank");
      out[i].rank_heard = read_some(rank.get());
    }
    server.join();
    loop.post([&loop] { loop.stop(); });
  });
  guard.start(Milliseconds(kPatienceMs), [&loop] { loop.stop(); });
  loop.run();
  client.join();
  for (size_t i = 0; i < count; ++i) out[i].itself = guests[i] == ranks[i];
  return out;
}

}  // namespace

TEST_CASE("ranks and libpmix talk without a hop") {
  for (const Visit& visit : visits(3, accept_by_select)) {
    CHECK(visit.itself);
    CHECK(visit.server_heard == "rank");
    CHECK(visit.rank_heard == "server");
  }
}

TEST_CASE("who knocks late has as long as who knocked first") {
  Loop loop;
  Timer guard(loop);
  auto listener = listen_on_loopback();
  REQUIRE(listener);
  auto door = PmixDoor::open(loop, [port = listener->port] { return port; });
  REQUIRE(door);
  std::vector<int> guests;
  std::vector<int> ranks;
  std::thread server([&guests, own = listener->socket.get()] {
    for (int i = 0; i < 2; ++i) {
      const UniqueFd guest(accept_by_select(own));
      guests.push_back(port_of(guest.get(), ::getpeername));
      ::usleep(1'300'000);  // busy
    }
  });
  std::thread client([&] {
    const UniqueFd first = connect_to_loopback((*door)->port());
    (void)write_all(first.get(), "rank");
    ::usleep(900'000);
    const UniqueFd second = connect_to_loopback((*door)->port());
    (void)write_all(second.get(), "rank");
    for (const UniqueFd* rank : {&first, &second}) {
      ranks.push_back(port_of(rank->get(), ::getsockname));
    }
    server.join();
    loop.post([&loop] { loop.stop(); });
  });
  guard.start(Milliseconds(kPatienceMs), [&loop] { loop.stop(); });
  loop.run();
  client.join();
  CHECK(guests == ranks);
}

TEST_CASE("a library that waits in another way gets all ranks as well") {
  for (const Visit& visit : visits(3, accept_by_epoll)) {
    CHECK(visit.server_heard == "rank");
    CHECK(visit.rank_heard == "server");
  }
}

TEST_CASE("a stranger who says nothing starts nothing and stalls nobody") {
  Loop loop;
  Timer guard(loop);
  auto listener = listen_on_loopback();
  REQUIRE(listener);
  int starts = 0;
  auto door = PmixDoor::open(loop, [&starts, port = listener->port] {
    ++starts;
    return port;
  });
  REQUIRE(door);
  const UniqueFd stranger = connect_to_loopback((*door)->port());
  REQUIRE(stranger);
  guard.start(Milliseconds(300), [&loop] { loop.stop(); });
  loop.run();
  CHECK(starts == 0);
  // Accepts and reads one after the other, so a silent one would hold it up.
  std::string heard;
  std::thread server([&heard, own = listener->socket.get()] {
    const UniqueFd guest(accept_by_select(own));
    heard = read_some(guest.get());
  });
  std::thread client([&] {
    const UniqueFd late = connect_to_loopback((*door)->port());
    const UniqueFd rank = connect_to_loopback((*door)->port());
    (void)write_all(rank.get(), "rank");
    server.join();
    loop.post([&loop] { loop.stop(); });
  });
  guard.start(Milliseconds(kPatienceMs), [&loop] { loop.stop(); });
  loop.run();
  client.join();
  CHECK(starts > 0);
  CHECK(heard == "rank");
}

TEST_CASE("of a table of connections those of other users count") {
  // As /proc/net/tcp on a machine with little-endian words.
  constexpr std::string_view kTable =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when "
      "retrnsmt   uid  timeout inode\n"
      "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 "
      "00000000  1000        0 41 1 0000000000000000 100 0 0 10 0\n"
      "   1: 0100007F:C001 0100007F:1F90 01 00000000:00000000 00:00000000 "
      "00000000  1000        0 42 1 0000000000000000 20 4 30 10 -1\n"
      "   2: 0100007F:C002 0100007F:1F90 01 00000000:00000000 00:00000000 "
      "00000000  1337        0 43 1 0000000000000000 20 4 30 10 -1\n"
      "   3: 0100007F:C003 0100007F:1F90 01 00000000:00000000 00:00000000 "
      "00000000     0        0 44 1 0000000000000000 20 4 30 10 -1\n"
      "   4: 0100007F:1F90 0100007F:C002 01 00000000:00000000 00:00000000 "
      "00000000  1000        0 45 1 0000000000000000 20 4 30 10 -1\n"
      "   5: 0100007F:C004 0100007F:1F91 01 00000000:00000000 00:00000000 "
      "00000000  1337        0 46 1 0000000000000000 20 4 30 10 -1\n"
      "   6: 0200A8C0:C005 0100007F:1F90 01 00000000:00000000 00:00000000 "
      "00000000  1337        0 47 1 0000000000000000 20 4 30 10 -1\n";
  if constexpr (std::endian::native != std::endian::little) return;
  CHECK(strangers_at(kTable, 0x1F90, 1000) == std::set<int>{0xC002});
  CHECK(strangers_at(kTable, 0x1F91, 1000) == std::set<int>{0xC004});
  CHECK(strangers_at("", 0x1F90, 1000).empty());
}

TEST_CASE("half a greeting of another user's holds no rank up for long") {
  if (::geteuid() != 0) return;  // only root can be another user
  Loop loop;
  Timer guard(loop);
  auto listener = listen_on_loopback();
  REQUIRE(listener);
  auto door = PmixDoor::open(loop, [port = listener->port] { return port; });
  REQUIRE(door);
  const int port = (*door)->port();
  const pid_t stranger = ::fork();
  REQUIRE(stranger >= 0);
  if (stranger == 0) {
    if (::setresuid(1337, 1337, 1337) != 0) ::_exit(1);
    const UniqueFd half = connect_to_loopback(port);
    (void)write_all(half.get(), "ra");
    ::sleep(60);
    ::_exit(0);
  }
  // Reads each greeting to its end before it accepts again.
  std::string heard;
  std::thread server([&heard, own = listener->socket.get()] {
    while (heard.size() < 4) {
      const UniqueFd guest(accept_by_select(own));
      heard.clear();
      std::string more = "?";
      while (heard.size() < 4 && !more.empty()) {
        heard += more = read_some(guest.get());  // "": it was hung up on
      }
    }
  });
  std::thread client([&] {
    ::usleep(300'000);  // the stranger is the first
    const UniqueFd rank = connect_to_loopback(port);
    (void)write_all(rank.get(), "rank");
    server.join();
    loop.post([&loop] { loop.stop(); });
  });
  guard.start(Milliseconds(3 * kPatienceMs), [&loop] { loop.stop(); });
  loop.run();
  client.join();
  ::kill(stranger, SIGKILL);
  ::waitpid(stranger, nullptr, 0);
  CHECK(heard == "rank");
}
