// SPDX-License-Identifier: Apache-2.0
// Reads the pasted output of tools: ibv_devinfo, ibstat, ibstatus, show_gids,
// `rdma link`, `ip addr`, ifconfig, nvidia-smi, also with `-L` and `topo -m`,
// as one text or as a list of its lines, in the place of a list or in a field
// that is called after the tool. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "fabric/facts/facts_budget.h"

namespace muster {

// Lists of adapters, interfaces and GPUs; empty where `text` is of no such
// tool.
nlohmann::json pasted_hcas(std::string_view text);
nlohmann::json pasted_netdevs(std::string_view text);
nlohmann::json pasted_gpus(std::string_view text);
// What the head of nvidia-smi's table says of driver and CUDA, where the pod
// does not.
void take_driver(std::string_view text, nlohmann::json& pod);

// One text, or a list of lines; nothing where it is neither.
std::optional<std::string> text_of_lines(const nlohmann::json& json);
// The pod's lists that are such output become lists of objects.
void settle_pasted_lists(nlohmann::json& pod);
// A field with NCCL's log, whole: version, variables, adapters, interfaces and
// plugin that it names, where the pod does not say them.
void take_nccl_log(nlohmann::json& pod);
// Fields that are called after a tool go into the lists, which are settled.
Status take_outputs(nlohmann::json& pod, FactsBudget& budget);

}  // namespace muster
