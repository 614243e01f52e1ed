// SPDX-License-Identifier: Apache-2.0
// Finds muster's own files relative to this executable, so that a copy of the
// tree works anywhere in an image. Reads /proc/self/exe only.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace muster {

// Absolute path of this executable, links resolved; "" without /proc.
std::string self_path();

// Absolute path of muster-agent for an executable at `self`: the same
// directory, ../libexec/muster, then the build tree. Error "agent_missing".
Result<std::string> agent_path_for(const std::string& self);
Result<std::string> agent_path();

// The way back, for muster-agent; "muster" if there is none.
std::string muster_path();

// Where an installation keeps its links named mpirun, ssh, …; "" if this
// executable is not installed with them.
std::string drop_in_directory();

// The first of `names` on `search_path` that is not muster under that name
// (drop-ins are links to it); "" if there is none. Follows a link out of an
// MPI's own directory.
std::string find_foreign_program(const std::vector<std::string>& names,
                                 const std::string& search_path);

// The target of /usr/sbin/sshd, if that is not muster; else empty. Operators
// start workers by that name, and a package (openssh-server) silently replaces
// the link.
std::string foreign_sshd(const std::string& root = "");

}  // namespace muster
