// SPDX-License-Identifier: Apache-2.0
// Can this pod resolve these names and reach these ports? Blocking work on a
// bounded number of threads under one deadline; run it in a helper process,
// since a thread that hangs in the resolver can only be left behind.
#pragma once

#include "wire/messages.h"

namespace muster {

// Names first, then targets, in the order asked. Within request.timeout_ms;
// what is not known by then is "timeout". Outcomes: "ok", "dns_unresolved",
// "refused", "unreachable", "timeout", "error".
wire::ProbeReply run_probe(const wire::ProbeRequest& request);
// The answer where run_probe() itself could not give one: all "timeout".
wire::ProbeReply failed_probe(const wire::ProbeRequest& request);
// What connect() to `address` came to; `error`: an errno, 0 for success.
wire::ProbeResult connect_result(const std::string& subject,
                                 const std::string& address, int error);

}  // namespace muster
