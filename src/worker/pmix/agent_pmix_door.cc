// SPDX-License-Identifier: Apache-2.0
#include "worker/pmix/agent_pmix_door.h"

#include <utility>

#include "base/loopback.h"

namespace muster {

Result<std::unique_ptr<PmixDoor>> PmixDoor::open(Loop& loop, Start start) {
  std::unique_ptr<PmixDoor> door(new PmixDoor(loop, std::move(start)));
  auto listener = listen_on_loopback();
  if (!listener) return tl::unexpected(listener.error());
  door->port_ = listener->port;
  door->listener_ = std::move(listener->socket);
  door->watch_ = std::make_unique<AcceptWatch>(
      loop, door->listener_.get(),
      [self = door.get()](UniqueFd guest) { self->pass_on(std::move(guest)); });
  return door;
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
