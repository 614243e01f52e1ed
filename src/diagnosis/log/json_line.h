// SPDX-License-Identifier: Apache-2.0
// A line that a program's logger wrote as one JSON object: who wrote it, when,
// and, of an error, what it says ("msg", "exc_info", …), which may be a whole
// traceback; or that a container's runtime made of a line ("log"). Refuses
// nothing: what cannot be read stays as it is, and so does what is no error,
// since its numbers may show progress. Pure.
#pragma once

#include "logs/line_origin.h"

namespace muster {

// Fills what `line` does not tell yet. True: its message was taken out of the
// object, and may bear tags of its own.
bool read_json_line(ParsedLine& line);

}  // namespace muster
