// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/cause/survived_setup.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace muster {

namespace {

std::string_view code_of(const Candidate& end) {
  const auto code = end.values.find("code");
  return code == end.values.end() ? std::string_view() : code->second;
}

}  // namespace

void SurvivedSetup::record(int rank, const LineEvidence& line) {
  if (trim(line.text).empty()) return;
  all_.add(line.time_ns);
  if (rank >= 0) of_rank_[rank].add(line.time_ns);
}

void SurvivedSetup::LastTwo::add(int64_t time_ns) {
  if (time_ns > last) {
    before = std::exchange(last, time_ns);
  } else {
    before = std::max(before, time_ns);
  }
}

void SurvivedSetup::drop(std::vector<Candidate>& candidates) const {
  const auto any = [&candidates](auto&& is) {
    return std::any_of(candidates.begin(), candidates.end(), is);
  };
  if (any([](const Candidate& end) { return code_of(end) == "127"; })) return;
  // Another process's code, or another reason: the shell went on.
  const bool went_on = any([](const Candidate& other) {
    return !other.setup && (other.rule->code != "exit_nonzero_silent" ||
                            !code_of(other).empty());
  });
  std::erase_if(candidates, [&](const Candidate& candidate) {
    return candidate.setup && (went_on || lines_behind(candidate));
  });
}

bool SurvivedSetup::lines_behind(const Candidate& candidate) const {
  if (candidate.rank < 0) return all_.before > candidate.time_ns;
  const auto own = of_rank_.find(candidate.rank);
  return own != of_rank_.end() && own->second.before > candidate.time_ns;
}

}  // namespace muster
