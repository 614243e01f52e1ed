// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/log/nccl_ranks.h"

#include <optional>

#include "logs/mark_scan.h"

namespace muster {

namespace {

using marks::take_number;
using marks::take_word;

constexpr size_t kMaxProcesses = 4096;

// "node-3:4711" of "node-3:4711:4722 [2] …", and what stands behind; empty: no
// line of NCCL.
std::string_view take_process(std::string_view& line) {
  std::string_view rest = line;
  const std::string_view host = marks::take_name(rest);
  if (host.empty() || !take_word(rest, ":") || !take_number(rest, 9)) return {};
  const std::string_view process = line.substr(0, line.size() - rest.size());
  if (!take_word(rest, ":") || !take_number(rest, 9) ||
      !take_word(rest, " [")) {
    return {};
  }
  if (rest.find("NCCL ") == std::string_view::npos) return {};
  line = rest;
  return process;
}

std::optional<int> number_behind(std::string_view text, std::string_view word) {
  const size_t at = text.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + word.size());
  return take_number(text);
}

// "Channel 00/0 : 4[0] -> 5[1] [receive] via …": the receiver writes it, else
// the sender.
std::optional<int> end_of_channel(std::string_view text) {
  const size_t at = text.find("NCCL INFO Channel ");
  const size_t colon = text.find(" : ", at);
  if (at == std::string_view::npos || colon == std::string_view::npos) {
    return std::nullopt;
  }
  text.remove_prefix(colon + 3);
  const size_t arrow = text.find(" -> ");
  const bool receives = text.find("[receive]") != std::string_view::npos;
  if (arrow == std::string_view::npos) return std::nullopt;
  if (receives) text.remove_prefix(arrow + 4);
  return take_number(text);
}

}  // namespace

void NcclRanks::learn(std::string_view line) {
  if (line.find("NCCL ") == std::string_view::npos) return;
  const std::string_view process = take_process(line);
  if (process.empty()) return;
  Told told;
  if (line.find(" comm 0x") != std::string_view::npos) {
    told.rank = number_behind(line, " rank ").value_or(-1);
    told.of = number_behind(line, " nranks ").value_or(0);
  } else if (const auto end = end_of_channel(line)) {
    told.rank = *end;
  } else {
    told.rank = number_behind(line, "[Proxy Service ").value_or(-1);
  }
  if (told.rank < 0) return;
  const auto at = processes_.find(process);
  if (at == processes_.end()) {
    if (processes_.size() < kMaxProcesses) processes_.emplace(process, told);
  } else if (told.of > at->second.of) {
    at->second = told;
  }
}

std::map<int, std::string> NcclRanks::hosts() const {
  std::map<int, std::string> hosts;
  for (const auto& [process, told] : processes_) {
    hosts.emplace(told.rank, process.substr(0, process.find(':')));
  }
  return hosts;
}

int NcclRanks::rank_of(std::string_view line) const {
  if (processes_.empty()) return -1;
  const auto at = processes_.find(take_process(line));
  return at == processes_.end() ? -1 : at->second.rank;
}

}  // namespace muster
