// SPDX-License-Identifier: Apache-2.0
// Gives a launch that discovery ended its verdict, termination message and
// reports like any other: their readers need not know how far it came.
#pragma once

#include "base/loop.h"
#include "launcher/options/options.h"

namespace muster {

// `error` is discover()'s, except "spare_launcher": another pod's launch has
// the reports then. `stopped_by`: the signal that ended it, or 0. Returns the
// launcher's exit code. launch_signals() are blocked.
int report_failed_discovery(const Error& error, int stopped_by,
                            const LaunchOptions& options,
                            Clock::time_point began);

}  // namespace muster
