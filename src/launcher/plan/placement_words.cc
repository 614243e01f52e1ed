// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/placement_words.h"

#include "base/text.h"
#include "fabric/policy/profile.h"
#include "job/binding.h"
#include "job/hostfile.h"

namespace muster {

Status set_map_by(const std::string& text, JobSpec& spec) {
  if (text.empty() || text == "slot") return {};
  if (text == "node") {
    spec.map_by = MapBy::kNode;
    return {};
  }
  const auto parts = split(text, ':');
  const auto count =
      parts.size() == 3 && parts[0] == "ppr" && parts[2] == "node"
          ? parse_integer(parts[1])
          : std::nullopt;
  if (!count || *count < 1 || *count > kMaxSlots) {
    return fail(Error{"usage",
                      "bad value of --map-by",
                      "'" + text +
                          "' is not slot, node or ppr:N:node (N from 1 to " +
                          std::to_string(kMaxSlots) + ")",
                      {},
                      "Other mappings are mpirun's: write them in a mpirun "
                      "line."});
  }
  spec.map_by = MapBy::kPerNode;
  spec.per_node = static_cast<int>(*count);
  return {};
}

Status check_placement(const LaunchOptions& options) {
  JobSpec unused;
  if (auto map = set_map_by(options.map_by, unused); !map) return map;
  const auto bind = parse_bind_request(options.bind_to, options.gpu_bind);
  if (!bind) return fail(bind.error());
  const auto profile = parse_profile(options.profile);
  if (profile) return {};
  Error error = profile.error();
  error.code = "usage";
  error.where = "--profile";
  return fail(std::move(error));
}

}  // namespace muster
