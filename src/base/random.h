// SPDX-License-Identifier: Apache-2.0
// Random numbers from the kernel. Any thread; waits only where a machine has
// just started and has no entropy yet (getrandom(2)). Ends the program, with a
// sentence, where the kernel refuses, as glibc's own arc4random does.
#pragma once

#include <cstdint>
#include <string>

namespace muster {

std::uint64_t random_bits();

// 16 hexadecimal digits.
std::string random_id();

}  // namespace muster
