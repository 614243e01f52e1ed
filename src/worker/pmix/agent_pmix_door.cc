// SPDX-License-Identifier: Apache-2.0
#include "worker/pmix/agent_pmix_door.h"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <memory>
#include <utility>

#include "base/log.h"
#include "base/loopback.h"
#include "base/text.h"

namespace muster {

namespace {

// libpmix has this long for each connection, twice: its CPUs may be crowded,
// and a connection may have come just before one look.
constexpr Milliseconds kLook{500};
constexpr int kLooks = 2;
constexpr Milliseconds kGuard{1'000};  // that a stranger may hold ranks up

int port_of(int socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) !=
          0 ||
      address.sin_family != AF_INET) {
    return 0;
  }
  return ntohs(address.sin_port);
}

// The descriptor of this process that listens on `port`; -1: none.
int listener_on(int port) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(
      ::opendir("/proc/self/fd"), ::closedir);
  if (!directory) return -1;
  while (const dirent* entry = ::readdir(directory.get())) {
    const auto fd = parse_integer(entry->d_name);
    if (!fd) continue;
    const int socket = static_cast<int>(*fd);
    int listens = 0;
    socklen_t size = sizeof listens;
    if (::getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 &&
        listens != 0 && port_of(socket) == port) {
      return socket;
    }
  }
  return -1;
}

// The kernel hands over a connection with its first bytes (tcp(7)). libpmix
// reads one greeting before it looks at the next connection, so a silent one,
// from any user of this network namespace, would hold up all ranks.
void defer_silent(int listener) {
  constexpr int kSeconds = 600;  // as often as it sends SYN-ACK again
  ::setsockopt(listener, IPPROTO_TCP, TCP_DEFER_ACCEPT, &kSeconds,
               sizeof kSeconds);
}

}  // namespace

Result<std::unique_ptr<PmixDoor>> PmixDoor::open(Loop& loop, Start start) {
  std::unique_ptr<PmixDoor> door(new PmixDoor(loop, std::move(start)));
  auto listener = listen_on_loopback();
  if (!listener) return tl::unexpected(listener.error());
  door->port_ = listener->port;
  door->listener_ = std::move(listener->socket);
  defer_silent(door->listener_.get());
  send_at_once(door->listener_.get());  // accepted sockets inherit that
  door->knock_ = std::make_unique<FdWatch>(loop, door->listener_.get());
  door->knock_->on_readable([self = door.get()] { self->knocked(); });
  return door;
}

void PmixDoor::knocked() {
  const int port = start_();
  if (port > 0 && inside_ < 0) give_to(port);
  if (!next_guard_.pending()) keep_guard();
  knock_->stop_reading();
  looks_ = 0;
  look_later();
}

void PmixDoor::look_later() {
  next_look_.start(kept_ ? kLook : Milliseconds(0), [this] { look(); });
}

// A select() that waits for the old socket looks at the new one once a peer has
// connected to the old, which stays open: its turn may come again.
void PmixDoor::give_to(int port) {
  inside_ = listener_on(port);
  kept_ = UniqueFd(inside_ < 0 ? -1 : ::fcntl(inside_, F_DUPFD_CLOEXEC, 0));
  if (kept_ && ::dup3(listener_.get(), inside_, O_CLOEXEC) < 0) kept_.reset();
  if (kept_) connect_to_loopback(port);
}

void PmixDoor::look() {
  pollfd waiting{listener_.get(), POLLIN, 0};
  if (kept_ && ::poll(&waiting, 1, 0) == 0) {
    return knock_->on_readable([this] { knocked(); });
  }
  if (kept_ && ++looks_ < kLooks) return look_later();
  // libpmix accepts no connection of the door.
  if (kept_) ::dup3(kept_.get(), inside_, O_CLOEXEC);
  kept_.reset();
  knock_.reset();
  watch_ = std::make_unique<AcceptWatch>(
      loop_, listener_.get(),
      [this](UniqueFd guest) { pass_on(std::move(guest)); });
}

void PmixDoor::keep_guard() {
  if (guard_.look(port_) > 0) {
    log::warn(
        "hung up on a process of another user, which came to the ranks' PMIx "
        "server over loopback");
  }
  next_guard_.start(kGuard, [this] { keep_guard(); });
}

void PmixDoor::pass_on(UniqueFd guest) {
  const int port = start_();
  UniqueFd inside = port > 0 ? connect_to_loopback(port) : UniqueFd();
  if (!inside) return;
  send_at_once(guest.get());
  const auto place = relays_.insert(relays_.end(), nullptr);
  *place =
      std::make_unique<SocketRelay>(loop_, std::move(guest), std::move(inside),
                                    [this, place] { relays_.erase(place); });
}

}  // namespace muster
