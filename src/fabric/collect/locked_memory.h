// SPDX-License-Identifier: Apache-2.0
// Whether the limit on locked memory binds this process: one with the
// capability IPC_LOCK may lock any amount, unless it has it only in a user
// namespace of its own (the kernel asks the first one).
#pragma once

#include <string>

namespace muster {

bool may_lock_all(const std::string& root);

}  // namespace muster
