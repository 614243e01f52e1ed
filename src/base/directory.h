// SPDX-License-Identifier: Apache-2.0
// What lies in a directory. std::filesystem's iterator throws where a directory
// cannot be read on, as one of sysfs whose device leaves.
#pragma once

#include <string>
#include <vector>

namespace muster {

// Its names, without "." and "..", in no order; those that came before where
// reading fails, none where it cannot be opened.
std::vector<std::string> names_in(const std::string& directory);

}  // namespace muster
