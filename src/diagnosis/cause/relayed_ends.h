// SPDX-License-Identifier: Apache-2.0
// Launchers and exceptions relay ends that other lines report: the end itself
// counts, its echo does not. Pure.
#pragma once

#include <vector>

#include "diagnosis/cause/candidate.h"

namespace muster {

// "ChildFailedError", "CalledProcessError: … exit status 1": an exception that
// relays the end of another process adds nothing to that end. Returns whether
// it found one.
bool drop_exception_about_end(std::vector<LineMatch>& matches);
// The "Traceback" above such an exception.
void drop_traceback(std::vector<Candidate>& found);
// "failed (exitcode: 1) local_rank: 0" of torchrun, and then the traceback of
// torchrun itself, which may be cut off before its last line.
void drop_launchers_traceback(std::vector<Candidate>& found);
// "task 5: Exited with exit code 1", and then "tasks 0-4: Terminated": the
// launcher ends the rest. So does one that kills after a crash.
void drop_teardown(std::vector<Candidate>& candidates);

}  // namespace muster
