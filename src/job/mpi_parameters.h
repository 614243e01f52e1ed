// SPDX-License-Identifier: Apache-2.0
// Open MPI's parameters (MCA) for the place of ranks and the labels of their
// lines: from variables, from parameter files and from the line's own --mca.
// mpirun reads them by itself; muster needs them for its plan. Names:
// `ompi_info --all --level 9` of 4.1, PRRTE's prte_info of Open MPI 5. Pure;
// the caller reads files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/spawn.h"
#include "job/mpirun_line.h"

namespace muster {

// The parameters among the variables: OMPI_MCA_*, PRTE_MCA_*.
std::vector<MpiParameter> parameters_of(const Environment& env);

// "name = value" lines; '#' begins a comment. Skips other lines, as Open MPI
// does. `path` is for messages.
std::vector<MpiParameter> parse_parameter_file(std::string_view text,
                                               const std::string& path);

// Fills in what the line's options leave open. Later parameters of `ambient`
// win over earlier ones, and the line's --mca over all. Keeps those of
// `ambient` that map ranks in line.parameters.
void apply_parameters(const std::vector<MpiParameter>& ambient,
                      MpirunLine& line);

// MPIEXEC_TIMEOUT, of Open MPI and Hydra: a line's own limit wins.
void apply_time_limit(const Environment& env, MpirunLine& line);

// Whether more ranks than slots are allowed by them.
bool allow_oversubscription(const std::vector<MpiParameter>& parameters);

}  // namespace muster
