// SPDX-License-Identifier: Apache-2.0
// The place of each rank's file in an mpirun line: Open MPI's
// `--output-filename NAME[:nocopy]` and `--output-directory`, and `--output
// dir=NAME` of Open MPI 5. Each release appends something of its own to NAME
// (4: NAME/1/rank.0/stdout, 5: NAME.JOB.0.out or NAME/JOB/rank.0/stdout);
// muster takes NAME as a directory. It leaves horovodrun's to horovodrun: with
// Gloo the ranks' output is its own to write. Pure.
#pragma once

#include <string>

#include "job/mpirun_line.h"

namespace muster {

struct OutputFiles {
  std::string directory;  // empty: the line asks for no files
  bool only = false;      // "nocopy": the lines are not shown as well
  bool more = false;      // the option asks for something else, too
};

// The request of one option of the line.
OutputFiles output_files(const MpirunLine& line, const LineOption& option);
// The request of the line; the last option counts.
OutputFiles output_files(const MpirunLine& line);

}  // namespace muster
