// SPDX-License-Identifier: Apache-2.0
#include "worker/hang/stack_text.h"

#include <charconv>

#include "base/text.h"
#include "job/base64.h"

namespace muster {

namespace {

void append_hex(std::string& out, uint64_t value) {
  char text[17];
  const auto end = std::to_chars(text, text + sizeof text, value, 16).ptr;
  out.append(text, end);
  out += ' ';
}

bool read_hex(std::string_view text, uint64_t& value) {
  const auto end =
      std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return end.ec == std::errc() && end.ptr == text.data() + text.size();
}

}  // namespace

std::string to_text(const std::vector<StackSnapshot>& snapshots) {
  std::string out;
  for (const StackSnapshot& one : snapshots) {
    append_hex(out, static_cast<uint64_t>(one.pid));
    append_hex(out, one.registers.pc);
    append_hex(out, one.stack_begin);
    for (const uint64_t value : one.registers.values) append_hex(out, value);
    out += base64_encode(one.stack) + "\n";
  }
  return out;
}

std::vector<StackSnapshot> snapshots_from_text(std::string_view text) {
  std::vector<StackSnapshot> out;
  for (const std::string_view line : split(text, '\n')) {
    const auto words = split_words(line);
    constexpr size_t kBefore = 3 + CallRegisters::kCount;
    if (words.size() < kBefore || words.size() > kBefore + 1) continue;
    StackSnapshot one;
    uint64_t pid = 0;
    bool good = read_hex(words[0], pid) &&
                read_hex(words[1], one.registers.pc) &&
                read_hex(words[2], one.stack_begin);
    one.pid = static_cast<int>(pid);
    for (size_t i = 0; i < CallRegisters::kCount; ++i) {
      good = good && read_hex(words[3 + i], one.registers.values[i]);
    }
    if (words.size() > kBefore) {
      auto stack = base64_decode(words[kBefore]);
      good = good && stack;
      if (stack) one.stack = std::move(*stack);
    }
    if (good) out.push_back(std::move(one));
  }
  return out;
}

}  // namespace muster
