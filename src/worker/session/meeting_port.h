// SPDX-License-Identifier: Apache-2.0
// The port at which the ranks of a launch may meet on this host (MASTER_PORT):
// no process listens there, the kernel gives it to no outgoing connection, and
// another launch on this host is unlikely to choose the same. It is not
// reserved: rank 0 opens it, later. Any thread.
#pragma once

#include <string>

#include "job/port_range.h"

namespace muster {

// The search range beside the kernel's own ports (ip_local_port_range): 20000
// to 29999, below Kubernetes' node ports, or else the largest room beside them;
// first 0: none. Pure.
PortRange meeting_ports(const PortRange& ephemeral);

// `allowed` is MUSTER_PORT_RANGE, "": any. `root`: of /proc. 0: no free port.
int choose_meeting_port(const std::string& allowed, const std::string& root);

}  // namespace muster
