// SPDX-License-Identifier: Apache-2.0
// A glance at a line before it is searched for secrets: almost no line of a
// training holds anything that could begin one. False only where
// find_secret_shapes() and the search for private keys find nothing. Pure.
#pragma once

#include <string_view>

namespace muster {

bool may_hold_secret(std::string_view line);

}  // namespace muster
