// SPDX-License-Identifier: Apache-2.0
// The signals that mean nothing to muster itself: a process that runs programs
// for a user forwards them. Open MPI's mpirun forwards USR1, USR2, ABRT, ALRM
// and CONT, and more on request; the others would end it silently. Not among
// them: those that stop a job (TERM, INT, HUP, QUIT), those of a terminal
// (TSTP, TTIN, TTOU, WINCH), CHLD and PIPE, and those that the kernel sends for
// a fault of our own (SEGV, BUS, FPE, ILL, SYS, TRAP). Any thread.
#pragma once

#include <vector>

namespace muster {

bool is_forwarded(int signal);
// Without those that were ignored when the process started.
std::vector<int> forwarded_signals();
// A signal that a program survives unless it asks for it: URG, CONT.
bool is_harmless(int signal);

}  // namespace muster
