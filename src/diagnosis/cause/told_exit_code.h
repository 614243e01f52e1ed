// SPDX-License-Identifier: Apache-2.0
// The exit code of a launch that ended as a log tells, where nobody has seen
// its wait status: 128+N for the class of a signal, else the code that the line
// names, else 1. Pure.
#pragma once

#include "diagnosis/cause/candidate.h"

namespace muster {

int told_exit_code(const Candidate& winner);

}  // namespace muster
