// SPDX-License-Identifier: Apache-2.0
// A line that a program's logger wrote as one JSON object: its writer, its
// time, and the text of an error ("msg", "exc_info", …), which may be a whole
// traceback; or a line that a container's runtime wrapped ("log"). Leaves a
// line that it cannot read as it is, and also one that is not an error, since
// its numbers may show progress. Pure.
#pragma once

#include "logs/line_origin.h"

namespace muster {

// Fills in what `line` lacks. True: its message was taken out of the object,
// and may have tags of its own.
bool read_json_line(ParsedLine& line);

}  // namespace muster
