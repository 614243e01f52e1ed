// SPDX-License-Identifier: Apache-2.0
// Collects the facts of the pod that this process is in, or of a machine
// recorded as a directory. A fact that cannot be read stays unknown; nothing
// here fails. Gives up on a library probe that stands still (forked_probe.h),
// and on all of them after 20 s, in a job after 6 s.
// Probes of foreign libraries run in a forked child: call from a process
// without threads that hold locks.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/known_files.h"
#include "base/spawn.h"
#include "fabric/collect/driver_answers.h"
#include "fabric/collect/image_libraries.h"
#include "fabric/facts/facts.h"

namespace muster {

// `sysroot` stands before every absolute path; "" is the running system; only
// there it asks libraries.
PodFabric collect_fabric(const std::string& sysroot);
// With a GPUDirect write as well, which takes a CUDA context, hence a second;
// `probes` is the end of all probes together.
PodFabric collect_fabric_and_gdr(std::chrono::milliseconds probes);
// A launch's additions to the facts of a pod.
struct LaunchAdds {
  std::string nccl;          // the version that counts; "": the image's
  std::string nccl_path;     // path of that library; "": unknown
  Environment env;           // on top of the pod's
  std::string library_path;  // LD_LIBRARY_PATH of the ranks
  std::string cwd;           // of the ranks; "": unknown
  bool drivers = true;  // may start the GPUs' if they have not answered yet
};
// The same as a facts file (docs/facts-schema.md), for a caller that already
// knows the image's libraries. `drivers`: earlier answers of the GPUs' drivers;
// while a GPU answers, they are not started for this. Reset if it did not help.
std::string collect_fabric_json(const std::string& sysroot,
                                const ImageLibraries& libraries,
                                KnownFiles& known,
                                std::optional<DriverAnswers>& drivers,
                                const LaunchAdds& adds = {});

}  // namespace muster
