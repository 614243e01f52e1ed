// SPDX-License-Identifier: Apache-2.0
// Any bytes as NCCL's report of a job that stands still: what is read of it is
// bounded, and can be told.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "launcher/hang/ras_report.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto issues = muster::read_ras_report(text);
  if (issues.size() > 64) std::abort();
  for (const auto& issue : issues) {
    if (issue.groups.empty() || issue.groups.size() > 513) std::abort();
  }
  const auto job_rank = [](const muster::RasRank& rank, int) {
    return rank.number % 2 == 0 ? std::optional(rank.number) : std::nullopt;
  };
  static_cast<void>(muster::ras_odd_ranks(issues, job_rank));
  if (muster::ras_sentences(issues, job_rank, 3).size() > 3) std::abort();
  return 0;
}
