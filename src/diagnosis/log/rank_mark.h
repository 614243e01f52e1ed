// SPDX-License-Identifier: Apache-2.0
// The marks by which programs and libraries put a rank in their lines. Pure.
// Refuses: "process 0", "worker 3", "[3/8]"; and a rank in a sentence, which is
// too often a peer.
#pragma once

#include <string_view>

#include "diagnosis/log/writer_mark.h"

namespace muster::marks {

// "Rank 3: ", "[rank 3] ", "(rank 3) ", "<rank 3>", "[3]: " from the front.
bool take_rank_mark(std::string_view& text, WriterMark& mark);
// The marks of MVAPICH, Open MPI's transports and PSM3.
bool take_library_mark(std::string_view& text, WriterMark& mark);
// "[ERROR] [Rank 3] ", "… x.py:3] rank 3: ", " - rank 3 - "; -1: none.
int rank_in_head(std::string_view line);

}  // namespace muster::marks
