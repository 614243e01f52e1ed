// SPDX-License-Identifier: Apache-2.0
// muster under the name of an MPI's launcher. Takes the line over where this
// pod launches a job; hands it to the image's real mpirun, untouched, where
// there is nothing to take over (--version, no hosts but this machine, called
// by the mpirun of a launch, as Intel MPI's script calls mpiexec.hydra).
// Refuses: a second mpirun inside a rank.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace muster {

// For a line that starts nothing (`mpirun --version`): the real launcher takes
// the place of this process; an exit code where that fails. nullopt: it is
// none.
std::optional<int> print_information(const std::vector<std::string>& command);

// `name`: argv[0] without its directory. Returns the exit code, or does not
// return (exec).
int drop_in_main(const std::string& name, const std::vector<std::string>& args);

}  // namespace muster
