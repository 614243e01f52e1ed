// SPDX-License-Identifier: Apache-2.0
// One rank's part of a measured all-reduce: a communicator, a checked sum, the
// time of a few more. Blocks for as long as NCCL does: the caller has the
// deadline. Error codes "nccl_fails" (the message of NCCL or CUDA),
// "nccl_wrong" (the sum is wrong).
#pragma once

#include "fabric/collect/nccl_library.h"

namespace muster {

struct NcclSeat {
  NcclId id{};
  int rank = 0;
  int ranks = 1;
};

constexpr size_t kNcclBytes = 64 << 20;

// Seconds for one all-reduce of kNcclBytes.
Result<double> time_all_reduce(const NcclCalls& nccl, const CudaCalls& cuda,
                               const NcclSeat& seat);

}  // namespace muster
