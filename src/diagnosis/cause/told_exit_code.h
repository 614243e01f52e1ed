// SPDX-License-Identifier: Apache-2.0
// The exit status of a job with a bare log only, by the class of its first
// cause. Pure.
#pragma once

#include "diagnosis/cause/candidate.h"
#include "diagnosis/exit_status.h"

namespace muster {

// The rule's exit class; else the code or signal in the log; else 1.
ExitStatus told_exit_status(const Candidate& winner);

}  // namespace muster
