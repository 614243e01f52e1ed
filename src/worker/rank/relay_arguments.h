// SPDX-License-Identifier: Apache-2.0
// Reads an ssh command line as mpirun, Hydra, prterun and pdsh write it.
// Options that cannot matter here (port, identity, ciphers) are taken and
// dropped: the launcher's channel to the host is already up. Refuses:
// forwarding, -N, -f, no host, no command. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace muster {

struct RelayArguments {
  std::string host;       // without "user@"
  std::string command;    // the words joined by blanks, as ssh does
  bool no_stdin = false;  // -n
};

// Error code "usage".
Result<RelayArguments> parse_relay_arguments(
    const std::vector<std::string>& args);

}  // namespace muster
