// SPDX-License-Identifier: Apache-2.0
// How a PMI-1 client that has no PMI_FD begins: it connects to PMI_PORT, says
// PMI_ID ("cmd=initack pmiid=7"), and is told who it is; from then on it speaks
// as over PMI_FD (pmodels/mpich src/pmi/src, "PMII_Set_from_port").
// An id is no rank but a number that only the rank was given: everything on
// the machine could knock. Pure.
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
  // The id that `rank` is to use: `random`, made positive and free.
  int give(int rank, uint32_t random);
  // Whose first line this is, without the newline; nullopt: nobody's.
  [[nodiscard]] std::optional<int> rank_of(std::string_view line) const;

 private:
  std::map<int, int> ranks_;  // by id
};

// The answer to the first line.
std::string pmi1_welcome(const World& world, int rank);

}  // namespace muster
