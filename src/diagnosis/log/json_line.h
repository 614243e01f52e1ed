// SPDX-License-Identifier: Apache-2.0
// A line that a program's logger wrote as one JSON object: its writer, its
// time, and the text of an error ("msg", "exc_info", …), which may be a whole
// traceback; or a line that a container's runtime wrapped ("log"). Refuses
// nothing: a line that it cannot read stays as it is, and so does one that is
// not an error, since its numbers may show progress. Pure.
#pragma once

#include "logs/line_origin.h"

namespace muster {

// Fills what `line` does not tell yet. True: its message was taken out of the
// object, and may bear tags of its own.
bool read_json_line(ParsedLine& line);

}  // namespace muster
