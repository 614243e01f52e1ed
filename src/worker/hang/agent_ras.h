// SPDX-License-Identifier: Apache-2.0
// Asks NCCL about a job that stands still. NCCL 2.24 and later listen on the
// loopback of each pod (RAS; NCCL_RAS_ADDR, else localhost:28028) and answer
// for the whole job, also while all ranks wait. The protocol is that of NCCL's
// own client, ncclras: lines, and a text until the end. Cuts reports above 128
// KiB. Blocks, so that it runs in a helper process (`muster-agent nccl-ras`)
// with a deadline.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/loop.h"

namespace muster {

constexpr Milliseconds kRasLimit{7'000};

// NCCL_RAS_ADDR of a rank; "" if it is not set, "off" if NCCL_RAS_ENABLE=0
// keeps NCCL from listening.
std::string ras_address_of(std::string_view environ_text);

// The report, or "" without an answer at `address` (as above) within
// `limit`.
std::string ask_ras(const std::string& address, Milliseconds limit);

// `muster-agent nccl-ras`: the address on stdin, the report on stdout.
int ras_main();

}  // namespace muster
