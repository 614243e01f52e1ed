// SPDX-License-Identifier: Apache-2.0
// The names in a directory. std::filesystem's iterator throws if the kernel
// cannot read a directory to its end, as in sysfs when a device leaves.
#pragma once

#include <string>
#include <vector>

namespace muster {

// Its names, without "." and "..", in no order; the names before a read error;
// none if the directory cannot be opened.
std::vector<std::string> names_in(const std::string& directory);

}  // namespace muster
