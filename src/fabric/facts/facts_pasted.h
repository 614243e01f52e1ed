// SPDX-License-Identifier: Apache-2.0
// Reads the pasted output of tools: ibv_devinfo, ibstat, ibstatus, show_gids,
// `rdma link`, `ip addr`, ifconfig, nvidia-smi, also with `-L` and `topo -m`,
// as one text or as a list of its lines, in the place of a list or in a field
// with the tool's name. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "fabric/facts/facts_budget.h"

namespace muster {

// Lists of adapters, interfaces and GPUs; empty if `text` is not from such a
// tool.
nlohmann::json pasted_hcas(std::string_view text);
nlohmann::json pasted_netdevs(std::string_view text);
nlohmann::json pasted_gpus(std::string_view text);
// Driver and CUDA from the head of nvidia-smi's table, if the pod lacks them.
void take_driver(std::string_view text, nlohmann::json& pod);

// One text, or a list of lines; else nothing.
std::optional<std::string> text_of_lines(const nlohmann::json& json);
// Turns the pod's lists that are such output into lists of objects.
void settle_pasted_lists(nlohmann::json& pod);
// A field with NCCL's whole log: version, variables, adapters, interfaces and
// plugin, if the pod lacks them.
void take_nccl_log(nlohmann::json& pod);
// Moves fields with a tool's name into the lists, which are settled.
Status take_outputs(nlohmann::json& pod, FactsBudget& budget);

}  // namespace muster
