// SPDX-License-Identifier: Apache-2.0
// `mpirun --app FILE` of Open MPI and `mpiexec -configfile FILE` of Hydra: a
// line of the file is a program with its options, as between two colons of a
// command line. Puts them there, so that the rest of muster handles one form.
// Refuses: a file without a program, and a program on the line beside it. Pure:
// the caller reads the file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "job/mpirun_line.h"

namespace muster {

// The words of `line`, which names an app file, with the words of `text`, its
// content, in place of the name. As in both MPIs, there is no quoting, and '#'
// begins a comment. Error code "usage".
Result<std::vector<std::string>> words_with_app_file(const MpirunLine& line,
                                                     std::string_view text);

}  // namespace muster
