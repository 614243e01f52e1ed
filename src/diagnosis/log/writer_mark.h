// SPDX-License-Identifier: Apache-2.0
// The writer of a line, as foreign programs and tools mark it: "Rank 3: ",
// "(rank 3) ", "x-worker-3 trainer ", "worker-3  | ", "Nov 21 08:00:00 node-7
// train[77]: ", "… - rank 3 - ERROR - ". parse_line has removed the tags that
// it knows (of launchers, kubectl --prefix, Ray) before. Refuses to guess:
// "process 0" and "worker 3" are too often local numbers, and a rank in the
// middle of a sentence is too often a peer. Pure.
#pragma once

#include <string_view>

namespace muster {

struct WriterMark {
  int rank = -1;          // -1: unknown
  std::string_view host;  // empty: unknown
  std::string_view rest;  // the line without the mark
};

WriterMark read_writer_mark(std::string_view line);

// The text behind a logging library's head: "ERROR:__main__:text", "2026-… - x
// - ERROR - text", "E1121 08:00:00.0 77 x.py:3] text". Empty: there is no head.
std::string_view behind_logger_head(std::string_view line);

}  // namespace muster
