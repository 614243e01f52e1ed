// SPDX-License-Identifier: Apache-2.0
// A frame that carries an event of a natively started rank (PMIx_Notify_event),
// as libpmix packs it: agent -> launcher -> all other agents of the job. Only
// libpmix reads it. Pure.
#pragma once

#include "wire/frame.h"

namespace muster::wire {

constexpr auto kRankEvent = static_cast<FrameType>(42);

}  // namespace muster::wire
