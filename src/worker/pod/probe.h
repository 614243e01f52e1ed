// SPDX-License-Identifier: Apache-2.0
// `muster worker probe ready|live`: exec probes for the kubelet.
// ready: what a launcher needs, end to end: a handshake with this pod's own
//        listener, the job key on both sides, and muster-agent really started.
// live:  pid 1 accepts and says its SSH version line.
// Refuses to wait longer than 5 s; says on stdout why it failed, one sentence.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sshd-lite/keys.h"

namespace muster {

// `args` without "worker probe". Exit codes 0, 1 (not so), 2 (usage).
int worker_probe_main(const std::vector<std::string>& args);

// Both connect to 127.0.0.1 (or ::1) at `port`.
Status probe_ready(int port, const JobKeys& keys);
Status probe_live(int port);

}  // namespace muster
