// SPDX-License-Identifier: Apache-2.0
// A glance at text before it is searched for secrets: almost no line of a
// training holds anything that could begin one. False only where
// find_secret_shapes() and the search for private keys find nothing, in each
// of its lines: many lines are glanced at as one text. Pure.
#pragma once

#include <string_view>

#include "logs/byte_marks.h"

namespace muster {

bool may_hold_secret(std::string_view text);
#ifdef MUSTER_BYTE_MARKS
// By that reader, for tests.
bool may_hold_secret(std::string_view text, const ByteReader& reader);
#endif

}  // namespace muster
