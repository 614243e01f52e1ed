// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/bootstrap_choice.h"

#include "job/native_line.h"

namespace muster {

namespace {

BootstrapChoice native(std::string reason) {
  return {Bootstrap::kPmix, std::move(reason)};
}

BootstrapChoice through_mpirun(std::string reason) {
  return {Bootstrap::kMpirun, std::move(reason)};
}

BootstrapChoice for_line(const BootstrapInput& in) {
  const std::string name = in.line->words[0];
  if (in.asked == Bootstrap::kAuto) {
    return through_mpirun("a " + name + " line was given");
  }
  const NativeLine read = native_line(*in.line);
  if (read.blocker.empty()) return native("--bootstrap says so");
  return through_mpirun(
      "not native, although --bootstrap says so: muster "
      "leaves " +
      read.blocker + " to " + name);
}

}  // namespace

bool is_proven_native(const MpiFacts& mpi, bool has_pmix) {
  if (mpi.family == "openmpi") {
    return has_pmix &&
           (mpi.version.starts_with("4.1.") || mpi.version.starts_with("5.0."));
  }
  return mpi.family == "mpich" && mpi.version.starts_with("4.");
}

bool needs_mpirun_for_sessions(const MpiFacts& mpi) {
  return mpi.family == "openmpi" && !mpi.version.starts_with("4.");
}

BootstrapChoice choose_bootstrap(const BootstrapInput& in) {
  if (in.asked == Bootstrap::kMpirun) {
    return through_mpirun("--bootstrap says so");
  }
  if (in.line != nullptr) return for_line(in);
  if (in.asked == Bootstrap::kPmix) return native("--bootstrap says so");
  if (in.mpirun.empty() || in.mpi.family.empty()) {
    return native("the launcher's image has no mpirun");
  }
  const std::string mpi = in.mpi.family + " " + in.mpi.version;
  if (in.uses_sessions && needs_mpirun_for_sessions(in.mpi)) {
    return through_mpirun("the program uses MPI Sessions, which " + mpi +
                          " builds with its own mpirun only");
  }
  if (in.spawns) {
    return through_mpirun(
        "the program names MPI_Comm_spawn, which only mpirun can serve");
  }
  if (is_proven_native(in.mpi, in.has_pmix)) {
    return native(mpi + " needs no mpirun");
  }
  return through_mpirun("the image has " + in.mpirun + ", and " + mpi +
                        " has not been tried without it");
}

}  // namespace muster
