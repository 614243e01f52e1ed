// SPDX-License-Identifier: Apache-2.0
// `muster keygen`: one key pair for a job without an operator's keys, as a
// Kubernetes Secret on stdout or as files in a directory. Refuses: overwriting
// files, a passphrase.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sshd-lite/ssh_key.h"

namespace muster {

// `args` without "keygen". Exit codes 0, 1 (could not), 2 (usage).
int keygen_main(const std::vector<std::string>& args);

// A Secret with ssh-privatekey and ssh-publickey, the names that mpi-operator
// and Trainer mount as id_rsa and id_rsa.pub / authorized_keys.
Result<std::string> secret_yaml(const SshKey& key, std::string_view name,
                                std::string_view name_space);
// id_rsa, id_rsa.pub, authorized_keys with mode 0600, none of which may exist.
Status write_key_files(const SshKey& key, const std::string& directory);

}  // namespace muster
