// SPDX-License-Identifier: Apache-2.0
// Any bytes as a facts file: facts or one sentence; facts survive writing and
// reading, and every plan over them is whole.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "fabric/facts/facts_json.h"
#include "fabric/plan_json.h"
#include "fabric/policy/policy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace muster;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto facts = read_facts(text, "F");
  if (!facts) return 0;
  if (facts->pods.empty()) std::abort();
  if (facts->pods.size() > 64) return 0;
  const std::string written = write_facts(facts->pods);
  if (written.size() > 16 << 20) return 0;  // brackets made it so
  if (!read_facts(written, "G")) std::abort();
  for (const Profile profile :
       {Profile::kAuto, Profile::kTcp, Profile::kRdma, Profile::kRl}) {
    FabricRequest request;
    request.profile = profile;
    const FabricPlan plan = plan_fabric(facts->pods, request);
    if (plan.pods.size() != facts->pods.size()) std::abort();
    if (plan_to_json(plan).empty() || explain_plan(plan).empty()) {
      std::abort();
    }
  }
  return 0;
}
