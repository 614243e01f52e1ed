// SPDX-License-Identifier: Apache-2.0
// The signals that mean nothing to muster itself: a process that runs programs
// for a user hands them on. Open MPI's mpirun hands on USR1, USR2, ABRT, ALRM
// and CONT, and more on request; the others would end it without a word.
// Not among them: those that stop a job (TERM, INT, HUP, QUIT), those of a
// terminal (TSTP, TTIN, TTOU, WINCH), CHLD and PIPE, and what the kernel sends
// for a fault of our own (SEGV, BUS, FPE, ILL, SYS, TRAP). Any thread.
#pragma once

#include <vector>

namespace muster {

bool is_forwarded(int signal);
// Without those that the process was started with as ignored.
std::vector<int> forwarded_signals();
// A signal that a program survives unless it asks for it: URG, CONT.
bool is_harmless(int signal);

}  // namespace muster
