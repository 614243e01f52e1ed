// SPDX-License-Identifier: Apache-2.0
// Any remote command line: what is taken for an MPI daemon's names one and
// changes only variables that may be changed.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sshd-lite/mpi_daemon_line.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto line = muster::parse_mpi_daemon_line(text);
  if (!line) return 0;
  const std::string_view program = line->argv.at(0);
  const std::string_view name = program.substr(program.rfind('/') + 1);
  if (name != "orted" && name != "prted" && name != "hydra_pmi_proxy" &&
      name != "pmi_proxy" && name != "hydra_bstrap_proxy") {
    std::abort();
  }
  for (const auto& change : line->changes) {
    if (change.name.starts_with("LD_PRE") ||
        change.value.find('$') != std::string::npos) {
      std::abort();
    }
  }
  return 0;
}
