// SPDX-License-Identifier: Apache-2.0
// The GPUDirect RDMA probe: two queue pairs of one adapter, one with memory of
// the host and one with memory of the GPU; a write from the first into the
// second, and the GPU's own copy tells what arrived. In a forked child, which
// may crash or hang; everything it made goes with it.
// Lines: "begin STEP", "works", "fails SENTENCE".
#include <unistd.h>

#include <cstring>
#include <vector>

#include "base/text.h"
#include "fabric/collect/collect_parts.h"
#include "fabric/collect/forked_probe.h"
#include "fabric/collect/nccl_library.h"
#include "fabric/facts/pci_distance.h"
#include "fabric/policy/network/ports.h"
#include "fabric/prove/pair_rails.h"
#include "fabric/prove/rc_queue.h"

namespace muster {

namespace {

#ifdef MUSTER_HAS_VERBS

constexpr size_t kBytes = 64 << 10;
constexpr int kDmaBufHandle = 1;  // CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD

// Nearest to the first GPU, which is also CUDA's. Adapters that fail without a
// GPU prove nothing about GPUDirect.
const RailEnd* nearest_end(const PodFabric& pod, const RailList& rails) {
  const RailEnd* best = nullptr;
  int best_rank = 0;
  for (const RailEnd& end : rails.ends) {
    const FabricHca* hca = find_hca(pod, end.hca);
    if (hca == nullptr || no(hca->usable)) continue;
    int rank = path_rank(gpu_distance(pod.gpus->front(), *hca));
    if (rank < 0) rank = 100;
    if (best != nullptr && rank >= best_rank) continue;
    best = &end;
    best_rank = rank;
  }
  return best;
}

// By its address (peermem) or, where that is refused, as DMA-BUF.
Status open_on_gpu(RcQueue& queue, const RailEnd& end, const CudaCalls& cuda,
                   uint64_t address) {
  Status status = queue.open(end, {address, -1});
  if (status || cuda.export_range == nullptr) return status;
  int dmabuf = -1;
  if (cuda.export_range(&dmabuf, address, kRcMemory, kDmaBufHandle, 0) != 0) {
    return status;
  }
  queue.close();
  return queue.open(end, {address, dmabuf});
}

Status write_into(const RailEnd& end, const CudaCalls& cuda, int out) {
  probe_says(out, "begin memory of the GPU");
  uint64_t address = 0;
  if (cuda.allocate(&address, kRcMemory) != 0) {
    return fail({"gpu", "the GPU has not 4 MiB to spare", "", {}, {}});
  }
  std::vector<char> seen(kBytes, 0);
  if (cuda.to_device(address, seen.data(), kBytes) != 0) {
    return fail({"gpu", "nothing can be copied to the GPU", "", {}, {}});
  }
  probe_says(out, "begin registration");
  RcQueue host;
  RcQueue gpu;
  if (Status status = host.open(end); !status) return status;
  if (Status status = open_on_gpu(gpu, end, cuda, address); !status) {
    return status;
  }
  probe_says(out, "begin write");
  const int mtu = static_cast<int>(host.address().mtu);
  if (Status status = host.connect(gpu.address(), mtu); !status) return status;
  if (Status status = gpu.connect(host.address(), mtu); !status) return status;
  std::memset(host.memory(), 0x5a, kBytes);
  const auto deadline = deadline_in(2000);
  if (Status s = host.transfer(true, kBytes, 1, deadline); !s) return s;
  // A read of the same bytes pushes the write through to the GPU.
  if (Status s = host.transfer(false, kBytes, 1, deadline); !s) return s;
  if (cuda.to_host(seen.data(), address, kBytes) != 0) {
    return fail({"gpu", "nothing can be copied from the GPU", "", {}, {}});
  }
  for (const char byte : seen) {
    if (byte == 0x5a) continue;
    return fail({"gpu",
                 "the adapter reports success, and other bytes are in "
                 "the GPU's memory",
                 "",
                 {},
                 {}});
  }
  return {};
}

void child(const std::string& library, const RailEnd& end, int out) {
  probe_says(out, "begin CUDA");
  const auto cuda = open_cuda(library, 0);
  if (!cuda) return;  // no GPU: nothing is known
  const Status status = write_into(end, *cuda, out);
  std::string text = status ? "works" : "fails " + status.error().text();
  for (char& c : text) c = c == '\n' ? ' ' : c;
  probe_says(out, text);
}

#endif

}  // namespace

#ifdef MUSTER_HAS_VERBS

void probe_gdr(const std::string& cuda, ProbeEnd end, PodFabric& pod) {
  if (!pod.hcas || pod.hcas->empty() || !pod.gpus || pod.gpus->empty()) return;
  const RailList rails = rails_of(pod);
  const RailEnd* rail = nearest_end(pod, rails);
  if (rail == nullptr) return;
  // With itself as the peer, for a RoCE address that both have.
  const auto pairs = pair_rails({*rail}, {*rail});
  if (pairs.empty()) return;
  const RailEnd& self = pairs.front().mine;
  const auto result = probe_in_child(patience_until(end),
                                     [&](int out) { child(cuda, self, out); });
  std::string begun;
  for (const auto line : split(result.text, '\n')) {
    if (line.starts_with("begin ")) begun = line.substr(6);
    if (line == "works") pod.gdr_verified = true;
    if (line.starts_with("fails ")) {
      pod.gdr_verified = false;
      pod.gdr_trouble = line.substr(6);
    }
  }
  // CUDA itself may hang; that proves nothing about GPUDirect.
  const bool ours = begun == "registration" || begun == "write";
  if (pod.gdr_verified || !ours) return;
  if (result.end == ForkedResult::End::kFinished) return;
  pod.gdr_verified = false;
  pod.gdr_trouble = begun + ": " + probe_failure_text(result);
}

#else

void probe_gdr(const std::string&, ProbeEnd, PodFabric&) {}

#endif

}  // namespace muster
