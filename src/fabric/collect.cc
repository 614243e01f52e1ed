// SPDX-License-Identifier: Apache-2.0
#include "fabric/collect.h"

#include "fabric/collect_parts.h"
#include "fabric/facts_json.h"
#include "fabric/sys_files.h"

namespace muster {

namespace {

PodFabric collect(const std::string& sysroot, KnownFiles& known) {
  const std::string root = sysroot == "/" ? "" : sysroot;
  PodFabric pod;
  collect_software(root, known, pod);
  collect_netdevs(root, pod);
  collect_hcas(root, pod);
  collect_gpus(root, pod);
  if (root.empty()) {
    probe_verbs(pod);
    if (sys_exists("/dev/nvidiactl")) {
      probe_gpus({}, pod);
      probe_cuda_aware(pod);
    }
  }
  return pod;
}

}  // namespace

PodFabric collect_fabric(const std::string& sysroot) {
  KnownFiles nothing;
  return collect(sysroot, nothing);
}

std::string collect_fabric_json(const std::string& sysroot, KnownFiles& known) {
  return write_facts({collect(sysroot, known)});
}

}  // namespace muster
