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
// `given`: what a launch adds to the pod's variables.
void collect_software(const std::string& root, const ImageLibraries& libraries,
                      KnownFiles& known, const Environment& given,
                      PodFabric& pod);
// Which of the files that the pod's variables name are not there, as missing
// only where the kernel says so; and network plugins that are named by path.
struct FileSearch {
  std::string library_path;  // LD_LIBRARY_PATH of the ranks
  std::string cwd;           // of relative paths; "": those are not looked for
  std::string nccl;          // the library that opens plugins; "": not known
};
void collect_named_files(const std::string& root,
                         const ImageLibraries& libraries,
                         const FileSearch& search, PodFabric& pod);
// LD_LIBRARY_PATH of this pod, or of the recorded machine.
std::string pod_library_path(const std::string& root);
// Where NCCL may be in this image: the name alone, for the loader, then files.
std::vector<std::string> nccl_libraries();
// By when all probes of one collection have to be over.
using ProbeEnd = std::chrono::steady_clock::time_point;
// Opens every adapter, makes PD, CQ, MR, QP and an address handle per GID, in
// a forked child with a deadline. The running system only.
void probe_verbs(ProbeEnd end, PodFabric& pod);
// What the driver's libraries say of the GPUs, each in a forked child with a
// deadline; what cannot be asked stays as it is. NVML's list is the pod's: of
// the node's other GPUs, which the kernel's files show too, nothing is kept.
struct GpuLibraries {
  std::string nvml = "libnvidia-ml.so.1";
  std::string cuda = "libcuda.so.1";
};
// One field of what the children tell. Ignores what it does not know, and
// numbers that are out of range.
void take_gpu_field(FabricGpu& gpu, std::string_view field,
                    std::string_view value);
void probe_gpus(const GpuLibraries& libraries, ProbeEnd end, PodFabric& pod);
// What the CUDA driver alone says, as lines.
std::string ask_cuda_in_child(const GpuLibraries& libraries, ProbeEnd end);
// Facts of such lines, of NVML or the CUDA driver. `there`: lines of NVML with
// each GPU that is there; the node's other NVIDIA GPUs are dropped, if any is.
void take_gpu_answers(const std::string& lines, const std::string& there,
                      PodFabric& pod);
// Writes into memory of the first GPU through the adapter nearest to it, from
// this process to itself, and reads it back: gdr_verified, and gdr_trouble
// where it fails. By peermem or DMA-BUF, whichever works. Makes a CUDA context,
// so not part of every collection. Unknown without GPU, driver or adapter.
void probe_gdr(const std::string& cuda, ProbeEnd end, PodFabric& pod);
// The version of the image's libfabric and those of its providers that find a
// device. Asks the library in a child, in parallel with other probes: it
// initialises every provider. Ignores the user's FI_PROVIDER. Returns nothing
// if the loader finds no such library: MPI may bring its own.
ForkedProbe ask_libfabric(const std::string& library);
void take_libfabric(ForkedProbe& probe, ProbeEnd end, PodFabric& pod);
// The version of the image's UCX, and whether MPI and UCX were built for GPU
// memory, asked from themselves. Only where there are GPUs: it costs.
struct MpiLibraries {
  std::string open_mpi = "libmpi.so.40";
  std::string ucx = "libucp.so.0";
};
void probe_cuda_aware(const MpiLibraries& libraries, ProbeEnd end,
                      PodFabric& pod);
// Its two halves: what they say, as lines, and facts of it.
std::string ask_cuda_aware(const MpiLibraries& libraries, ProbeEnd end);
void take_cuda_aware(const std::string& lines, PodFabric& pod);

}  // namespace muster
