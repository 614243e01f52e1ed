// SPDX-License-Identifier: Apache-2.0
// Lines of an mpirun that frighten and mean nothing. They are kept in its file
// of --log-dir, and not shown. One is known; what is only likely to be harmless
// does not belong here. Pure.
#pragma once

#include <string_view>

namespace muster {

bool is_mpirun_noise(std::string_view line);

}  // namespace muster
