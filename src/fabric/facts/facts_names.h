// SPDX-License-Identifier: Apache-2.0
// Fields by their names in other tools and in common use: "env" is
// `environment`, "Link layer" is `link_layer`. The reader notes each. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace muster {

enum class FactsPlace { kPod, kHca, kPort, kGid, kGpu, kNetdev };

// "Link layer" -> "link_layer", "ulimit -l" -> "ulimit_l", "env | grep NCCL" ->
// "env"
std::string plain_field_name(const std::string& key);
// "env", "nics", …, of a pod.
bool is_other_name_in_pod(const std::string& plain);
// "command", "mpirun", …: a launcher's line, whose variables count.
bool is_command_field(const std::string& plain);
// The advice for output of a tool that is not read; "" if `key` does not name
// one.
std::string instead_of_tool(const std::string& key);
// Gives the fields of `object` their names in the schema, unless those exist
// too.
void rename_fields(nlohmann::json& object, FactsPlace place,
                   std::vector<std::string>& notes);

}  // namespace muster
