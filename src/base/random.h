// SPDX-License-Identifier: Apache-2.0
// Random numbers from the kernel. Any thread; waits only if a machine has just
// started and has no entropy yet (getrandom(2)). Ends the program, with a
// sentence, if the kernel refuses, like glibc's own arc4random.
#pragma once

#include <cstdint>
#include <string>

namespace muster {

std::uint64_t random_bits();

// 16 hexadecimal digits.
std::string random_id();

}  // namespace muster
