// SPDX-License-Identifier: Apache-2.0
// Advice names options of `muster launch`. A person who typed mpirun cannot
// give those, but can set the variables behind them: "--connect-timeout 600s"
// becomes "MUSTER_CONNECT_TIMEOUT=600s". Options that Open MPI knows, too,
// stay, and so do commands between backquotes that are whole. Pure.
#pragma once

#include <string>
#include <string_view>

#include "diagnosis/verdict.h"

namespace muster {

std::string for_mpirun(std::string_view advice);
// In what to do, not in what was seen.
void say_for_mpirun(Verdict& verdict);

}  // namespace muster
