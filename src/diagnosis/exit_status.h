// SPDX-License-Identifier: Apache-2.0
// The exit code of a launch, by facts alone: wait statuses, signals, our own
// stops, counters, states of workers, codes of muster's own findings, and
// mpirun's own status. Reads no program's line, and no rule: the diagnosis
// explains the answer and cannot change it (docs/exit-codes.md). Pure.
#pragma once

#include <optional>
#include <string_view>

#include "diagnosis/evidence.h"
#include "job/exit_codes.h"

namespace muster {

struct ExitStatus {
  // None: `code` is that of a rank, or of mpirun.
  std::optional<ExitClass> exit_class;
  int code = 0;   // 0 to 255
  int rank = -1;  // the rank that ended; -1: not a single one
  // mpirun ended by itself, with ranks that it had not started: `code` is its
  // own, and its own message may say more (usage, a missing program).
  bool start_refused = false;

  [[nodiscard]] bool success() const {
    return exit_class == ExitClass::kSuccess;
  }
};

ExitStatus exit_status_of(ExitClass exit_class);

// For a launch that is over. The first cause in time decides: a rank that
// failed by itself before anything else, else the launcher's reason to stop the
// job, else a lost worker, else a kill from outside. A SIGKILL or SIGTERM with
// which mpirun cleans up after another rank never counts. `evidence` must not
// be of a bare log: that has no facts.
ExitStatus exit_status(const Evidence& evidence);

// Workers took the launcher for lost and ended their ranks; only an earlier
// crash explains more.
bool launcher_stalled(const Evidence& evidence);

// The class of an error or a finding that stopped a launch, by its code:
// "ssh_auth" is kConfiguration. nullopt for a code outside the table.
std::optional<ExitClass> exit_class_of_fact(std::string_view code);

}  // namespace muster
