// SPDX-License-Identifier: Apache-2.0
// A fast test of text before the search for secrets: almost no line of a
// training holds anything that could begin one. False only if
// find_secret_shapes() and the search for private keys find nothing, in each of
// its lines: it tests many lines as one text. Pure.
#pragma once

#include <string_view>

#include "logs/byte_marks.h"

namespace muster {

bool may_hold_secret(std::string_view text);
#ifdef MUSTER_BYTE_MARKS
// By the given reader, for tests.
bool may_hold_secret(std::string_view text, const ByteReader& reader);
#endif

}  // namespace muster
