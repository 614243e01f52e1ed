// SPDX-License-Identifier: Apache-2.0
// One rank of `muster fabric nccl`. Started by muster launch, or alone in any
// pod with a GPU. Measures twice if muster set variables for the job: in a
// child without them, and in one with them, since NCCL reads them once. Ends
// with a sentence: 100 NCCL, the CUDA driver or a GPU is missing, 38 NCCL
// reports an error, 35 no result in time or a wrong sum.
#pragma once

#include <string>
#include <vector>

namespace muster {

struct NcclRankOptions {
  bool json = false;
  int phase_ms = 120'000;
  std::vector<std::string> nccl;  // paths, from choose_nccl()
  std::string cuda = "libcuda.so.1";
};

int nccl_rank_main(const NcclRankOptions& options);

}  // namespace muster
