// SPDX-License-Identifier: Apache-2.0
#include "worker/pmix/agent_pmix_door.h"

#include <utility>

#include "base/loopback.h"
#include "worker/pmix/agent_pmix_guests.h"

namespace muster {

namespace {

// libpmix accepts within microseconds; who waits longer is passed on.
constexpr Milliseconds kTaken{1000};

}  // namespace

Result<std::unique_ptr<PmixDoor>> PmixDoor::open(Loop& loop, Start start) {
  std::unique_ptr<PmixDoor> door(new PmixDoor(loop, std::move(start)));
  auto listener = listen_on_loopback();
  if (!listener) return tl::unexpected(listener.error());
  door->port_ = listener->port;
  door->listener_ = std::move(listener->socket);
  door->watch_ = std::make_unique<AcceptWatch>(
      loop, door->listener_.get(),
      [self = door.get()](UniqueFd guest) { self->let_in(std::move(guest)); });
  return door;
}

PmixDoor::~PmixDoor() { take_back_guests(); }

void PmixDoor::let_in(UniqueFd guest) {
  const int port = start_();
  if (port <= 0) return;
  send_at_once(guest.get());
  if (!knock_for_guest(port, std::move(guest))) return;
  if (impatience_.pending()) return;
  impatience_.start(kTaken, [this] { relay_waiting(); });
}

void PmixDoor::relay_waiting() {
  for (PmixGuest& guest : take_back_guests()) {
    const auto place = relays_.insert(relays_.end(), nullptr);
    *place = std::make_unique<SocketRelay>(
        loop_, std::move(guest.socket), std::move(guest.inside),
        [this, place] { relays_.erase(place); });
  }
}

}  // namespace muster
