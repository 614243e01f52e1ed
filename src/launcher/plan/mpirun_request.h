// SPDX-License-Identifier: Apache-2.0
// The effect of muster's own options where mpirun starts the ranks: the line
// for a program by itself, the options that a user's line lacks, and whether
// the MPI or muster's rank wrapper binds. The line wins; a sentence tells which
// options then have no effect.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "job/binding.h"
#include "job/finding.h"
#include "job/mpirun_line.h"
#include "job/plan.h"
#include "launcher/connect/discovery.h"
#include "launcher/options/options.h"

namespace muster {

// The part of binding that muster does and the part that mpirun does.
struct MpirunBinding {
  BindRequest request;     // what is left for muster to do
  bool mpi_binds = false;  // false: the MPI is told to leave ranks unbound
  std::vector<Finding> findings;
};

// `quota`: some pod has less CPU time than its CPUs could give.
MpirunBinding mpirun_binding(const LaunchOptions& options,
                             const Discovery& discovery,
                             const BindRequest& asked, bool quota);

// The line that a user would have written, for a program given by itself.
Result<MpirunLine> line_for_program(const LaunchOptions& options,
                                    const Discovery& discovery,
                                    const JobSpec& spec, LauncherSet launcher);

struct LineAdditions {
  std::vector<std::string> options;
  std::vector<Finding> findings;
};

// -n, --map-by and --wdir of muster, for the line of a user.
LineAdditions additions_to(const MpirunLine& line, const LaunchOptions& options,
                           const JobSpec& spec, LauncherSet launcher);

// --stdin all of muster, for a line that does not say who reads stdin.
LineAdditions stdin_additions(const MpirunLine& line,
                              const LaunchOptions& options,
                              LauncherSet launcher);

// mpirun's argv[0]. Open MPI takes an absolute one as --prefix, puts
// directories before each rank's PATH and LD_LIBRARY_PATH, and names itself by
// it: so it is the user's `word`. It is `program`, the file that runs, where a
// pod's PATH, one of `search_paths`, lacks its directory, where its daemons
// are, and for Hydra, which looks for its proxy beside the first file on PATH
// that has its name: muster's own.
std::string mpirun_called(const std::string& word, const std::string& program,
                          LauncherSet launcher,
                          const std::vector<std::string>& search_paths);

// Options that are in no table: behind them the program may be taken for a
// value, or a value for the program.
std::vector<Finding> unknown_findings(const MpirunLine& line);

// Options of the line by which mpirun would write the ranks' output elsewhere,
// or label it: it comes to muster before mpirun sees it. The files of each rank
// are those of --log-dir, and the finding says where.
std::vector<Finding> output_findings(const MpirunLine& line,
                                     const LaunchOptions& options);

}  // namespace muster
