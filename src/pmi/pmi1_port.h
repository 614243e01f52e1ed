// SPDX-License-Identifier: Apache-2.0
// The start of a PMI-1 client without PMI_FD: it connects to PMI_PORT, sends
// PMI_ID ("cmd=initack pmiid=7"), and gets its rank in answer; from then on it
// speaks as over PMI_FD (pmodels/mpich src/pmi/src, "PMII_Set_from_port"). An
// id is not a rank. It is a number that only the rank has, since any process on
// the machine can connect. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "pmi/world.h"

namespace muster {

constexpr size_t kLongestPmi1Knock = 256;

class Pmi1Ids {
 public:
  // A new id for `rank`: `random`, made positive and unique.
  int give(int rank, uint32_t random);
  // The rank whose first line this is, without the newline; nullopt: none.
  [[nodiscard]] std::optional<int> rank_of(std::string_view line) const;

 private:
  std::map<int, int> ranks_;  // by id
};

// The answer to the first line.
std::string pmi1_welcome(const World& world, int rank);

}  // namespace muster
