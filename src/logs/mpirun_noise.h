// SPDX-License-Identifier: Apache-2.0
// Harmless lines of an mpirun that frighten users. They stay in its file of
// --log-dir, and are not shown. There is one; lines that are only likely to be
// harmless do not belong here. Pure.
#pragma once

#include <string_view>

namespace muster {

bool is_mpirun_noise(std::string_view line);

}  // namespace muster
