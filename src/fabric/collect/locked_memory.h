// SPDX-License-Identifier: Apache-2.0
// Whether the limit on locked memory means anything to this process: who has
// the capability IPC_LOCK locks what it likes, unless it has it in a user
// namespace of its own only (the kernel asks the first one).
#pragma once

#include <string>

namespace muster {

bool may_lock_all(const std::string& root);

}  // namespace muster
