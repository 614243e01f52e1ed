// SPDX-License-Identifier: Apache-2.0
// One blocking connect for a command-line client: resolves, then tries each
// address in turn within one deadline. The launcher has its own, for many.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/loop.h"

namespace muster {

// A non-blocking, close-on-exec socket. Error codes "dns_unresolved",
// "tcp_failed".
Result<UniqueFd> dial(const std::string& host, int port, Milliseconds timeout);

}  // namespace muster
