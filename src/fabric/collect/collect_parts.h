// SPDX-License-Identifier: Apache-2.0
// The collector's parts, one file each. Internal to collect.cc and the tests.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/known_files.h"
#include "base/spawn.h"
#include "fabric/collect/forked_probe.h"
#include "fabric/collect/image_libraries.h"
#include "fabric/collect/pci_bus.h"
#include "fabric/facts/facts.h"

namespace muster {

void collect_hcas(const std::string& root, const PciBus& bus, PodFabric& pod);
// With prefix length, by interface; of the running system.
using InterfaceAddresses = std::map<std::string, std::vector<std::string>>;
std::optional<InterfaceAddresses> live_addresses();

void collect_netdevs(const std::string& root, PodFabric& pod);
void collect_gpus(const std::string& root, const PciBus& bus, PodFabric& pod);
// `given`: a launch's additions to the pod's variables.
void collect_software(const std::string& root, const ImageLibraries& libraries,
                      KnownFiles& known, const Environment& given,
                      PodFabric& pod);
// Files that the pod's variables name and that do not exist, as missing only if
// the kernel says so; and network plugins that are named by path.
struct FileSearch {
  std::string library_path;  // LD_LIBRARY_PATH of the ranks
  std::string cwd;           // of relative paths; "": skips those
  std::string nccl;          // the library that opens plugins; "": unknown
};
void collect_named_files(const std::string& root,
                         const ImageLibraries& libraries,
                         const FileSearch& search, PodFabric& pod);
// LD_LIBRARY_PATH of this pod, or of the recorded machine.
std::string pod_library_path(const std::string& root);
// NCCL's possible places in this image: the name alone, for the loader, then
// files.
std::vector<std::string> nccl_libraries();
// The deadline of all probes of one collection.
using ProbeEnd = std::chrono::steady_clock::time_point;
// Opens every adapter, makes PD, CQ, MR, QP and an address handle per GID, in
// a forked child with a deadline. The running system only.
void probe_verbs(ProbeEnd end, PodFabric& pod);
// Asks the driver's libraries about the GPUs, each in a forked child with a
// deadline; facts that it cannot ask stay as they are. NVML's list is the
// pod's: drops the node's other GPUs, which the kernel's files show too.
struct GpuLibraries {
  std::string nvml = "libnvidia-ml.so.1";
  std::string cuda = "libcuda.so.1";
};
// One field of the children's output. Ignores unknown fields, and numbers that
// are out of range.
void take_gpu_field(FabricGpu& gpu, std::string_view field,
                    std::string_view value);
void probe_gpus(const GpuLibraries& libraries, ProbeEnd end, PodFabric& pod);
// The CUDA driver's answers, as lines.
std::string ask_cuda_in_child(const GpuLibraries& libraries, ProbeEnd end);
// Facts of such lines, of NVML or the CUDA driver. `there`: NVML's lines with
// each present GPU; drops the node's other NVIDIA GPUs, if there are any.
void take_gpu_answers(const std::string& lines, const std::string& there,
                      PodFabric& pod);
// Writes into memory of the first GPU through the adapter nearest to it, from
// this process to itself, and reads it back: gdr_verified, and gdr_trouble if
// it fails. By peermem or DMA-BUF, whichever works. Makes a CUDA context, so
// not part of every collection. Unknown without GPU, driver or adapter.
void probe_gdr(const std::string& cuda, ProbeEnd end, PodFabric& pod);
// The version of the image's libfabric and those of its providers that find a
// device. Asks the library in a child, in parallel with other probes: it
// initialises every provider. Ignores the user's FI_PROVIDER. Returns nothing
// if the loader finds no such library: MPI may bring its own.
ForkedProbe ask_libfabric(const std::string& library);
void take_libfabric(ForkedProbe& probe, ProbeEnd end, PodFabric& pod);
// The version of the image's UCX, and whether MPI and UCX were built for GPU
// memory, from themselves. Only for pods with GPUs: it costs.
struct MpiLibraries {
  std::string open_mpi = "libmpi.so.40";
  std::string ucx = "libucp.so.0";
};
void probe_cuda_aware(const MpiLibraries& libraries, ProbeEnd end,
                      PodFabric& pod);
// Its two halves: the output as lines, and the facts in it.
std::string ask_cuda_aware(const MpiLibraries& libraries, ProbeEnd end);
void take_cuda_aware(const std::string& lines, PodFabric& pod);

}  // namespace muster
