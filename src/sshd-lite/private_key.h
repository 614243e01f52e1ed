// SPDX-License-Identifier: Apache-2.0
// The job's private key, which is all that a client reads of a key directory.
// Refused: a file that is not there (error code "key_missing"), and one that
// cannot be read, is not a key or lies open in the image ("key_unusable").
#pragma once

#include <string>

#include "base/result.h"
#include "sshd-lite/ssh_key.h"

namespace muster {

// "": no key directory was found.
Result<SshKey> load_private_key(const std::string& file);

Error no_private_key(const std::string& file);

}  // namespace muster
