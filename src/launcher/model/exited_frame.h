// SPDX-License-Identifier: Apache-2.0
// The end of a process in its agent's words. An unreadable frame counts as exit
// code 255. Pure.
#pragma once

#include "wire/frame.h"
#include "wire/messages.h"

namespace muster {

inline wire::Exited exited_of(const wire::Frame& frame) {
  wire::Exited unreadable;
  unreadable.wait_status = 255 << 8;
  return wire::from_json<wire::Exited>(frame.payload).value_or(unreadable);
}

}  // namespace muster
