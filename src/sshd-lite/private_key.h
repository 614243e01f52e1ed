// SPDX-License-Identifier: Apache-2.0
// The job's private key, which is all that a client reads of a key directory.
// Refuses: a missing file (error code "key_missing"), and one that is
// unreadable, is not a key or lies open in the image ("key_unusable").
#pragma once

#include <string>

#include "base/result.h"
#include "sshd-lite/ssh_key.h"

namespace muster {

// "": there is no key directory.
Result<SshKey> load_private_key(const std::string& file);

Error no_private_key(const std::string& file);

}  // namespace muster
