// SPDX-License-Identifier: Apache-2.0
// The rails of a pod for a verbs test: every port that should carry the job's
// traffic, with the address for the test. Lists ports that ought to work and
// cannot (no usable GID), too, so that the test names them. Pure; the JSON form
// travels between the two pods of a test.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fabric/facts/facts.h"

namespace muster {

struct RailEnd {
  std::string hca;
  int port = 1;
  int gid_index = -1;  // for the test; -1: InfiniBand, or none is usable
  // The first usable RoCE v2 address of each kind; -1: none.
  int ipv4_gid = -1;
  int ipv6_gid = -1;
  int link_local_gid = -1;
  bool ethernet = false;
  int mtu = -1;           // active MTU
  double rate_gbps = -1;  // of the port
};

struct RailList {
  std::vector<RailEnd> ends;
  std::vector<std::string> left_out;  // "mlx5_3: port state is DOWN"
};
// NCCL_IB_HCA in the pod's environment counts: the job will use it.
RailList rails_of(const PodFabric& pod);

std::string rails_to_json(const RailList& rails);
Result<RailList> rails_from_json(std::string_view json);

// Pairs our rails with theirs: rail by rail, and one sample across if there are
// several. RoCE ends get a gid_index of a kind that both have; without one, the
// end with the poorer addresses gets -1.
struct RailPair {
  RailEnd mine;
  RailEnd theirs;
  bool across = false;
  [[nodiscard]] std::string name() const;  // "mlx5_0", "mlx5_0 to mlx5_1"
};
std::vector<RailPair> pair_rails(const std::vector<RailEnd>& mine,
                                 const std::vector<RailEnd>& theirs);

}  // namespace muster
