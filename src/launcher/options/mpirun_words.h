// SPDX-License-Identifier: Apache-2.0
// Advice names options of `muster launch`. A user who typed mpirun cannot give
// those, but can set the variables behind them: "--connect-timeout 600s"
// becomes "MUSTER_CONNECT_TIMEOUT=600s". Options that Open MPI has too stay,
// and so do whole commands between backquotes. Pure.
#pragma once

#include <string>
#include <string_view>

#include "diagnosis/verdict.h"

namespace muster {

std::string for_mpirun(std::string_view advice);
// Changes the remedy, not the evidence.
void say_for_mpirun(Verdict& verdict);

}  // namespace muster
