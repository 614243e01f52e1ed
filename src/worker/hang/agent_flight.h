// SPDX-License-Identifier: Apache-2.0
// Finds the flight records that PyTorch wrote for the ranks of this pod: a file
// per rank, when a collective timed out, or after a write to the named pipe of
// the rank (TORCH_NCCL_DEBUG_INFO_PIPE_FILE), which does not disturb the job.
// Never sets or changes anything of PyTorch. Refuses: files and pipes of
// another user, links, files above 32 MiB or older than the rank. Blocks, so
// that it runs in a helper process (`muster-agent flight-records`) with a
// deadline.
#pragma once

#include <string_view>
#include <vector>

#include "base/loop.h"
#include "wire/flight_messages.h"

namespace muster {

constexpr Milliseconds kFlightLimit{7'000};
// Of the answer: it shares a frame with stacks and NCCL's report.
constexpr size_t kLongestFlight = 512 << 10;

// The place of the record of `rank`, by the text of /proc/PID/environ.
// Variables that a program sets for itself later are not visible there.
wire::FlightPlace flight_place(int rank, std::string_view environ_text);

// One record for each place that has one.
std::vector<wire::FlightRecord> read_flight_records(
    const wire::FlightRequest& request, Milliseconds limit);

// `muster-agent flight-records`: a FlightRequest on stdin, records on stdout.
int flight_main();

}  // namespace muster
