// SPDX-License-Identifier: Apache-2.0
#include "fabric/collect.h"

#include "fabric/collect_parts.h"
#include "fabric/facts_json.h"
#include "fabric/sys_files.h"

namespace muster {

namespace {

using std::chrono::milliseconds;

// For a person who waits for nothing else, and for an agent, whose launcher
// wants what is known by then: it gives up all of it after 8 s.
constexpr milliseconds kAloneMs{20'000};
constexpr milliseconds kInJobMs{6000};

PodFabric collect(const std::string& sysroot, milliseconds probes,
                  KnownFiles& known) {
  const std::string root = sysroot == "/" ? "" : sysroot;
  PodFabric pod;
  collect_software(root, known, pod);
  collect_netdevs(root, pod);
  collect_hcas(root, pod);
  collect_gpus(root, pod);
  if (root.empty()) {
    const ProbeEnd end = std::chrono::steady_clock::now() + probes;
    probe_verbs(end, pod);
    if (sys_exists("/dev/nvidiactl")) {
      probe_gpus({}, end, pod);
      probe_cuda_aware(end, pod);
    }
  }
  return pod;
}

}  // namespace

PodFabric collect_fabric(const std::string& sysroot) {
  KnownFiles nothing;
  return collect(sysroot, kAloneMs, nothing);
}

std::string collect_fabric_json(const std::string& sysroot, KnownFiles& known) {
  return write_facts({collect(sysroot, kInJobMs, known)});
}

}  // namespace muster
