// SPDX-License-Identifier: Apache-2.0
#include "worker/agent_lines.h"

#include <utility>

namespace muster {

void LineSplitter::add(std::string_view bytes, const Emit& emit) {
  const size_t newline = bytes.rfind('\n');
  if (newline == std::string_view::npos) {
    held_.append(bytes);
    if (held_.size() >= kMaxPiece) emit(take_rest(), true);
    return;
  }
  const std::string_view whole = bytes.substr(0, newline + 1);
  if (held_.empty()) {
    emit(whole, false);
  } else {
    held_.append(whole);
    emit(take_rest(), false);
  }
  held_.assign(bytes.substr(newline + 1));
}

std::string LineSplitter::take_rest() { return std::exchange(held_, {}); }

}  // namespace muster
