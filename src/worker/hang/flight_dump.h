// SPDX-License-Identifier: Apache-2.0
// Reads a dump of PyTorch's flight recorder: a rank's calls on each of its
// process groups, in order, and which of them are over. Reads the forms that
// PyTorch 2.2 to 2.9 write (c10d's NCCLTraceBuffer, later FlightRecorder: a
// pickle of lists and dicts, of version 1 to 2.10, first a list without a
// version). Skips sends and receives, which have no number that both sides
// count. Pure.
#pragma once

#include <string_view>

#include "base/result.h"
#include "wire/flight_messages.h"

namespace muster {

// Rank and time of the record are the caller's to fill. At most 256 groups with
// 8 calls each, and the kinds of all its calls.
Result<wire::FlightRecord> read_flight_dump(std::string_view bytes);

}  // namespace muster
