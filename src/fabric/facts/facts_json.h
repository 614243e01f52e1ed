// SPDX-License-Identifier: Apache-2.0
// Facts files: JSON from a collector or a person. Accepts: one pod, a list of
// pods, or {"pods": […]}; "mlx5_[0-7]" in a name for eight entries; a port's
// fields at its adapter; numbers as text with a unit. Refuses: text that is not
// JSON, a value of the wrong kind, more than 16 MiB or 4096 entries in a list.
// Reports unknown fields.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fabric/facts/facts.h"

namespace muster {

struct FactsFile {
  std::vector<PodFabric> pods;     // at least one
  std::vector<std::string> notes;  // unknown fields, with the likely ones
};

// `where` names the file in errors. Error code "facts_invalid".
Result<FactsFile> read_facts(std::string_view text, const std::string& where);

// One pod per object; omits unknown fields.
std::string write_facts(const std::vector<PodFabric>& pods);

// A GID as one word list: "[INDEX] [v1|v2|ib] ADDRESS [NETDEV] [unreadable]".
Result<FabricGid> parse_gid_line(std::string_view line);

}  // namespace muster
