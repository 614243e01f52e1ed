// SPDX-License-Identifier: Apache-2.0
#include "fabric/policy/network/ucx.h"

#include <array>
#include <string_view>

#include "base/text.h"
#include "fabric/facts/effective.h"

namespace muster {

bool ucx_on_tcp(const PodFabric& pod) {
  const auto users = effective(pod, "UCX_TLS");
  if (!users || users->value.starts_with('^')) return false;
  constexpr std::array<std::string_view, 7> kNetworks = {
      "all", "rc", "ud", "dc", "ib", "srd", "gga"};
  bool tcp = false;
  for (const auto part : split(users->value, ',')) {
    const auto word = trim(part);
    tcp = tcp || word == "tcp";
    for (const std::string_view network : kNetworks) {
      if (word == network || word.starts_with(std::string(network) + "_")) {
        return false;
      }
    }
  }
  return tcp;
}

bool shows_hcoll(const PodFabric& pod) {
  const FabricLibrary& mpi = pod.mpi;
  if (!mpi.family.empty() && mpi.family != "openmpi") return false;
  const bool build = mpi.version.find("a1") != std::string::npos ||
                     mpi.version.find("rc") != std::string::npos;
  return build || pod.environment.contains(kHcollSwitch);
}

bool has_ucx(const PodFabric& pod) {
  const FabricLibrary& ucx = pod.ucx;
  return !ucx.version.empty() || ucx.cuda_aware || ucx_on_tcp(pod) ||
         pod.mpi.family == "mpich" || pod.mpi.family == "mvapich";
}

}  // namespace muster
