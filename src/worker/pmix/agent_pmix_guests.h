// SPDX-License-Identifier: Apache-2.0
// PmixGuests: connections of ranks that came to our door, on their way into
// libpmix. It takes connections by nothing but accept() on its own port; so we
// knock there for each guest, and our accept(), which the linker gives
// libpmix instead of libc's, answers with the guest's socket. From then on
// rank and libpmix talk to each other, without a hop through our loop.
// Refuses to lose anybody: where accept() is not ours for libpmix, both ends
// can be had back, for somebody who passes bytes on.
// Any thread. One in a process, since accept() has no argument for it.
#pragma once

#include <vector>

#include "base/fd.h"

namespace muster {

struct PmixGuest {
  UniqueFd socket;  // the rank's
  UniqueFd inside;  // ours to libpmix
};

// At `port` of 127.0.0.1. False: it cannot be, and the guest is hung up on.
bool knock_for_guest(int port, UniqueFd socket);
// Those that were not accepted yet.
std::vector<PmixGuest> take_back_guests();

}  // namespace muster
