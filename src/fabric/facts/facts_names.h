// SPDX-License-Identifier: Apache-2.0
// Fields by their names in other tools and in people's heads: "env" is
// `environment`, "Link layer" is `link_layer`. What is read so is said. Pure.
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
// What to write instead of a tool's output that is not read; "" if `key` is the
// name of none.
std::string instead_of_tool(const std::string& key);
// Gives the fields of `object` their names in the schema, where those are not
// there too.
void rename_fields(nlohmann::json& object, FactsPlace place,
                   std::vector<std::string>& notes);

}  // namespace muster
