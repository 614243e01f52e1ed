// SPDX-License-Identifier: Apache-2.0
// Any bytes as a log and as an evidence file: a verdict within its bounds, or
// one sentence; evidence that parses must survive being written.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "diagnosis/log/log_evidence.h"
#include "diagnosis/verdict.h"

namespace {

void check(const muster::Verdict& verdict) {
  if (verdict.code.empty() || verdict.headline.empty()) std::abort();
  if (verdict.remedies.size() > 3) std::abort();
  if (muster::termination_message(verdict, 1024).size() > 1024) std::abort();
  if (muster::verdict_json(verdict).find('\n') != std::string::npos) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace muster;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(diagnose(evidence_from_log(text, RuleBook::built_in())));
  if (const auto evidence = evidence_from_json(text)) {
    check(diagnose(*evidence));
    const std::string once = to_json(*evidence);
    const auto again = evidence_from_json(once);
    if (!again || to_json(*again) != once) std::abort();
  }
  return 0;
}
