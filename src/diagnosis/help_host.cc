// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/help_host.h"

#include <cctype>

#include "base/text.h"
#include "diagnosis/line_host.h"

namespace muster {

namespace {

constexpr int64_t kHelpTextNs = 24 * kLogLineNs;
constexpr size_t kLongestLabel = 24;
constexpr int64_t kTableNs = 3 * kLogLineNs;

// "Application name:  ./app": a row of the table below the sentence.
bool is_row(std::string_view line) {
  const size_t colon = line.find(": ");
  return colon != std::string_view::npos && colon <= kLongestLabel &&
         line.substr(colon).starts_with(":  ");
}

// "[node-3:28596] PMIX ERROR: …", "[node-3:2213] [[INVALID],INVALID] …": who
// could not join the job wrote it about itself.
bool is_of_failed_start(std::string_view line) {
  return line.find("] PMIX ERROR: ") != std::string_view::npos ||
         line.find("] [[INVALID],INVALID] ") != std::string_view::npos;
}

}  // namespace

std::string_view host_in_help_line(std::string_view line) {
  line = trim(line);
  if (line.find("] Local abort ") != std::string_view::npos) {
    return host_in_line(line);
  }
  // HPE's MPT, of the rank in the line above.
  constexpr std::string_view kHost = ", Host: ";
  if (const size_t at = line.find(kHost);
      line.starts_with("Process ID: ") && at != std::string_view::npos) {
    const std::string_view name = line.substr(at + kHost.size());
    return name.substr(0, name.find(','));
  }
  // Ray, of the workers whose end it told.
  constexpr std::string_view kLogs = "`ray logs raylet.out -ip ";
  if (const size_t at = line.find(kLogs); at != std::string_view::npos) {
    const std::string_view name = line.substr(at + kLogs.size());
    return name.substr(0, name.find('`'));
  }
  for (const std::string_view head :
       {"Local host:", "Host:", "Hostname:", "hostname:", "Node:",
        "Local Host:", "ip:"}) {
    if (!line.starts_with(head)) continue;
    const std::string_view name = trim(line.substr(head.size()));
    const bool plain =
        !name.empty() && name.find_first_of(" /:,") == std::string_view::npos;
    if (!plain) return {};
    // Ray's, of an actor; it may be blanked out, or be any address.
    const bool address = std::isdigit(static_cast<unsigned char>(name[0])) != 0;
    if (head == "ip:" && (!address || name == "0.0.0.0")) return {};
    return name;
  }
  return {};
}

std::string host_behind(const Evidence& evidence, const Candidate& winner) {
  const RankEvidence* const rank = find_rank(evidence, winner.rank);
  const auto& lines = rank != nullptr && !rank->lines.empty()
                          ? rank->lines
                          : evidence.job.tool_lines;
  const bool of_table = is_row(winner.line);
  std::string before;
  std::string error_of;
  for (const LineEvidence& line : lines) {
    if (line.time_ns <= winner.time_ns) {
      const bool near = winner.time_ns - line.time_ns <= kTableNs;
      if (of_table && near && before.empty()) {
        before = host_in_help_line(line.text);
      }
      continue;
    }
    if (!before.empty()) return before;
    if (line.time_ns - winner.time_ns > kHelpTextNs) break;
    const std::string_view host = host_in_help_line(line.text);
    if (!host.empty()) return std::string(host);
    if (error_of.empty() && is_of_failed_start(line.text)) {
      error_of = host_in_line(line.text);
    }
  }
  return before.empty() ? error_of : before;
}

}  // namespace muster
