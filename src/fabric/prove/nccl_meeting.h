// SPDX-License-Identifier: Apache-2.0
// Distributes NCCL's id to the ranks of `fabric nccl` without an MPI: each has
// one TCP connection to rank 0 and gets its seat for every step over it. A
// child forked afterwards goes on with the same connections. Every wait has the
// caller's deadline. Error codes "deadline", "peer_lost", "connect", "limits".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "fabric/prove/nccl_rate.h"
#include "fabric/prove/pair_socket.h"

namespace muster {

struct RankAtMeeting {
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;
  std::string host;  // equal on one node
  std::string master_host;
  std::string master_port;
};

struct NcclDeal {
  int nodes = 0;                 // 0: there are no more steps
  std::optional<NcclSeat> seat;  // none: this rank looks on
};

class NcclMeeting {
 public:
  static Result<NcclMeeting> meet(const RankAtMeeting& place,
                                  Deadline deadline);

  // Rank 0: 1, 2, 4, … and all; those with at least two ranks, or the only one.
  [[nodiscard]] std::vector<int> steps() const;
  // Rank 0 deals; its own part comes back. nodes 0 ends it for all.
  Result<NcclDeal> deal(int nodes, const NcclId& id, Deadline deadline);
  // The other ranks.
  Result<NcclDeal> receive(Deadline deadline);

 private:
  [[nodiscard]] std::vector<int> ranks_on(int nodes) const;

  std::vector<UniqueFd> peers_;  // rank 0: by rank; others: [0] is rank 0
  std::vector<int> node_of_;     // rank 0: by rank
};

}  // namespace muster
