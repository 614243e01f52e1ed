// SPDX-License-Identifier: Apache-2.0
// Open MPI's help texts name the host some lines below the sentence with the
// error: "  Local host: node-1", "Host:      node001"; MPT and Ray do, too.
// Pure.
#pragma once

#include <string>
#include <string_view>

#include "diagnosis/cause/candidate.h"

namespace muster {

// The name in such a line; empty: another line.
std::string_view host_in_help_line(std::string_view line);
// The first one behind the line of `winner`, in the same help text, or in front
// of it, in the same table.
std::string host_behind(const Evidence& evidence, const Candidate& winner);
// Open MPI's row "Executable: ./app" below its sentence; empty: none.
std::string program_behind(const Evidence& evidence, const Candidate& winner);

// The node of the first daemon that mpirun reports lost; empty: none.
std::string lost_daemon_host(const std::vector<LineEvidence>& lines);

// "  Peer host:  node-2"; empty: another line.
std::string_view peer_in_help_line(std::string_view line);
// "+ kubectl exec x-worker-0 -- /bin/sh -c …": the pod; empty: no such line.
std::string_view pod_entered(std::string_view line);
// The host that all ranks miss whose peer "has unexpectedly disconnected";
// empty: no rank reports that, or they miss several.
std::string missed_host(const Evidence& evidence, const Candidate& winner);

}  // namespace muster
