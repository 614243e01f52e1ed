// SPDX-License-Identifier: Apache-2.0
// Reads MPI, UCX and libfabric as people write them: "Open MPI 4.1.5", a list
// of providers as one text or by name, the output of `fi_info`. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace muster {

// Brings a pod's `mpi`, `ucx`, `libfabric` and `fi_info` into the schema's
// form.
void settle_software(nlohmann::json& pod);
// The output of `fi_info`, with domains, or of `fi_info -l`, names alone; an
// empty list for other text.
nlohmann::json pasted_providers(std::string_view text);

}  // namespace muster
