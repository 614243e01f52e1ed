// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/cause/survived_setup.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"

namespace muster {

namespace {

constexpr size_t kEnough = 2;

std::string_view code_of(const Candidate& end) {
  const auto code = end.values.find("code");
  return code == end.values.end() ? std::string_view() : code->second;
}

}  // namespace

void SurvivedSetup::record(int rank, const LineEvidence& line) {
  if (trim(line.text).empty()) return;
  times_.push_back(line.time_ns);
  ranks_.push_back(rank);
}

void SurvivedSetup::drop(std::vector<Candidate>& candidates) const {
  const auto any = [&candidates](auto&& is) {
    return std::any_of(candidates.begin(), candidates.end(), is);
  };
  if (any([](const Candidate& end) { return code_of(end) == "127"; })) return;
  // Somebody's other code, or another reason: the shell went on.
  const bool went_on = any([](const Candidate& other) {
    return !other.setup && (other.rule->code != "exit_nonzero_silent" ||
                            !code_of(other).empty());
  });
  std::erase_if(candidates, [&](const Candidate& candidate) {
    return candidate.setup && (went_on || lines_behind(candidate) >= kEnough);
  });
}

size_t SurvivedSetup::lines_behind(const Candidate& candidate) const {
  size_t count = 0;
  for (size_t i = 0; i < times_.size(); ++i) {
    const bool own = candidate.rank < 0 || candidate.rank == ranks_[i];
    if (own && times_[i] > candidate.time_ns) ++count;
  }
  return count;
}

}  // namespace muster
