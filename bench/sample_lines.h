// SPDX-License-Identifier: Apache-2.0
// Lines as training jobs write them, the same in every run.
#pragma once

#include <string>
#include <vector>

namespace muster::bench {

// 64 lines of 40 to 160 bytes; every 16th has what a masker looks for.
inline std::vector<std::string> sample_lines() {
  std::vector<std::string> lines;
  for (int i = 0; i < 64; ++i) {
    std::string line = "2026-01-31 12:34:56,789 INFO trainer.py:128 step " +
                       std::to_string(1'000 + i) + " loss 2.3417";
    if (i % 2 == 0) line += " lr 3.0e-04 grad_norm 1.27 tokens/s 41231.7";
    if (i % 4 == 0) line += " {\"mem\": \"61.2 GiB\", \"path\": \"C:\\\\x\"}";
    if (i % 16 == 0) line += " password=correct-horse-battery";
    lines.push_back(std::move(line));
  }
  return lines;
}

// One frame's worth of them, with newlines.
inline std::string sample_block(size_t lines) {
  const auto all = sample_lines();
  std::string out;
  for (size_t i = 0; i < lines; ++i) out += all[i % all.size()] + "\n";
  return out;
}

}  // namespace muster::bench
