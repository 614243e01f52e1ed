// SPDX-License-Identifier: Apache-2.0
#include "fabric/collect/collect.h"

#include <algorithm>
#include <optional>

#include "fabric/collect/collect_parts.h"
#include "fabric/collect/sys_files.h"
#include "fabric/facts/facts_json.h"

namespace muster {

namespace {

using std::chrono::milliseconds;

// For a person who waits for nothing else, and for an agent, whose launcher
// wants what is known by then: it gives up all of it after 8 s.
constexpr milliseconds kAloneMs{20'000};
constexpr milliseconds kInJobMs{6000};

std::string without_slash(const std::string& sysroot) {
  return sysroot == "/" ? "" : sysroot;
}

// InfiniBand and RoCE are reached without it, and asking takes some 100 ms:
// the libraries of some providers measure the clock when they are loaded.
bool libfabric_matters(const PodFabric& pod) {
  if (!pod.hcas || pod.hcas->empty()) return false;
  const auto by_name = [&](const char* name) {
    return pod.environment.contains(name);
  };
  return by_name("FI_PROVIDER") || by_name("I_MPI_OFI_PROVIDER") ||
         std::any_of(pod.hcas->begin(), pod.hcas->end(), [](auto& hca) {
           return hca.driver == "efa" || hca.driver == "cxi" ||
                  hca.driver == "hfi1" || hca.name.starts_with("hfi1") ||
                  yes(hca.iwarp);
         });
}

void ask_gpu_drivers(std::optional<DriverAnswers>& known, bool may_start,
                     ProbeEnd end, PodFabric& pod) {
  if (known && take_answers(*known, pod)) return;
  known.reset();
  if (!may_start || !sys_exists("/dev/nvidiactl")) return;
  probe_gpus({}, end, pod);
  probe_cuda_aware({}, end, pod);
}

PodFabric collect(const std::string& root, const ImageLibraries& libraries,
                  KnownFiles& known, std::optional<DriverAnswers>& drivers,
                  const LaunchAdds& adds, ProbeEnd end) {
  PodFabric pod;
  collect_software(root, libraries, known, adds.env, pod);
  if (!adds.nccl.empty()) pod.nccl_version = adds.nccl;
  collect_named_files(root, libraries,
                      {adds.library_path, adds.cwd, adds.nccl_path}, pod);
  collect_netdevs(root, pod);
  const PciBus bus = read_pci_bus(root);
  collect_hcas(root, bus, pod);
  collect_gpus(root, bus, pod);
  if (root.empty()) {
    std::optional<ForkedProbe> libfabric;
    if (libfabric_matters(pod)) {
      libfabric.emplace(ask_libfabric("libfabric.so.1"));
    }
    probe_verbs(end, pod);
    ask_gpu_drivers(drivers, adds.drivers, end, pod);
    if (libfabric) take_libfabric(*libfabric, end, pod);
  }
  return pod;
}

PodFabric collect_until(const std::string& root, ProbeEnd end) {
  KnownFiles nothing;
  std::optional<DriverAnswers> never_asked;
  LaunchAdds adds;
  adds.library_path = pod_library_path(root);
  const auto libraries = find_libraries(root, adds.library_path, nothing);
  return collect(root, libraries, nothing, never_asked, adds, end);
}

ProbeEnd end_in(milliseconds probes) {
  return std::chrono::steady_clock::now() + probes;
}

}  // namespace

PodFabric collect_fabric(const std::string& sysroot) {
  return collect_until(without_slash(sysroot), end_in(kAloneMs));
}

PodFabric collect_fabric_and_gdr(milliseconds probes) {
  const ProbeEnd end = end_in(probes);
  PodFabric pod = collect_until("", end);
  if (sys_exists("/dev/nvidiactl")) probe_gdr("libcuda.so.1", end, pod);
  return pod;
}

std::string collect_fabric_json(const std::string& sysroot,
                                const ImageLibraries& libraries,
                                KnownFiles& known,
                                std::optional<DriverAnswers>& drivers,
                                const LaunchAdds& adds) {
  const std::string root = without_slash(sysroot);
  return write_facts(
      {collect(root, libraries, known, drivers, adds, end_in(kInJobMs))});
}

}  // namespace muster
