// SPDX-License-Identifier: Apache-2.0
#include "launcher/options/options.h"

#include <algorithm>

namespace muster {

bool is_mpirun_name(const std::string& program) {
  static const std::vector<std::string> kNames = {
      "mpirun",        "mpiexec",        "orterun",         "prterun",
      "mpiexec.hydra", "mpirun.openmpi", "mpiexec.openmpi", "mpirun.mpich",
      "mpiexec.mpich", "mpirun_rsh",     "oshrun"};
  const std::string name = program.substr(program.rfind('/') + 1);
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

}  // namespace muster
