// SPDX-License-Identifier: Apache-2.0
// Collects the facts of the pod that this process is in, or of a machine
// recorded as a directory. What cannot be read stays unknown; nothing here
// fails, and a library probe is given up when it stands still
// (forked_probe.h), all of them together after 20 s, in a job after 6 s.
// Probes of foreign libraries run in a forked child: call from a process
// without threads that hold locks.
#pragma once

#include <string>

#include "base/known_files.h"
#include "fabric/facts.h"

namespace muster {

// `sysroot` stands before every absolute path; "" is the running system, and
// only there libraries are asked.
PodFabric collect_fabric(const std::string& sysroot);
// The same as a facts file (docs/facts-schema.md). `known` may spare listing
// directories of libraries, and takes up what was seen there.
std::string collect_fabric_json(const std::string& sysroot, KnownFiles& known);
// Fills `known` ahead of that.
void learn_libraries(const std::string& sysroot, KnownFiles& known);

}  // namespace muster
