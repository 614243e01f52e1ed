// SPDX-License-Identifier: Apache-2.0
// A glance at text before it is searched for secrets: almost no line of a
// training holds anything that could begin one. False only where
// find_secret_shapes() and the search for private keys find nothing, in each
// of its lines: many lines are glanced at as one text. Pure.
#pragma once

#include <string_view>

namespace muster {

bool may_hold_secret(std::string_view text);

}  // namespace muster
