// SPDX-License-Identifier: Apache-2.0
// Understands the command line that mpirun, Hydra, prterun, pdsh, DeepSpeed and
// horovodrun give to `ssh`. Honours -l -p -i -n -v, -o User, Port,
// IdentityFile, ConnectTimeout, RekeyLimit (bytes), MusterPinHostKey, and the
// Port of the -F file; accepts and drops ssh's other options. Refuses:
// forwarding, tunnels, -N, -f, no command. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster {

struct SshArguments {
  std::string host;  // no user, no brackets, no trailing dot
  std::string user;
  std::string command;  // the words joined by blanks, as ssh does
  std::string config_file;
  std::vector<std::string> identity_files;
  int port = 0;  // 0: not given
  int connect_seconds = 10;
  uint64_t rekey_bytes = 0;  // 0: the library's own limit
  bool no_stdin = false;     // -n
  bool verbose = false;
  bool version = false;  // -V
  bool pin_host_key = true;
};

// `args` without argv[0]. Error code "usage".
Result<SshArguments> parse_ssh_arguments(const std::vector<std::string>& args);

}  // namespace muster
