// SPDX-License-Identifier: Apache-2.0
// The receiving end of events: see agent_pmix_events.cc. Loop thread.
#pragma once

#include <string_view>

#include "pmi/world.h"
#include "wire/modex_messages.h"
#include "worker/pmix/agent_pmix_library.h"

namespace muster {

// Passes an event of another node to the ranks of this one. False: it is
// unreadable, or libpmix refuses it.
bool deliver_pmix_event(const PmixLibrary& library, std::string_view text);

// Passes it to those ranks of this node that registered. See
// agent_pmix_ended.cc.
void tell_pmix_ended(const PmixLibrary& library, const World& world,
                     const wire::RankEnd& end);

}  // namespace muster
