// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/cause/help_host.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "diagnosis/log/line_host.h"

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

// "[node-3:28596] PMIX ERROR: …", "[node-3:2213] [[INVALID],INVALID] …": a
// process that could not join the job wrote it about itself.
bool is_of_failed_start(std::string_view line) {
  return line.find("] PMIX ERROR: ") != std::string_view::npos ||
         line.find("] [[INVALID],INVALID] ") != std::string_view::npos;
}

// mpi-operator's script enters the pods to start MPI's daemons there; a later
// failure does not say in which.
std::string only_pod_entered(const std::vector<LineEvidence>& lines) {
  std::string only;
  for (const LineEvidence& line : lines) {
    const std::string_view pod = pod_entered(line.text);
    if (pod.empty()) continue;
    if (!only.empty() && only != pod) return {};
    only = pod;
  }
  return only;
}

// Open MPI's "Remote daemon: [[1,0],1] on node w-1", of a daemon that it lost.
std::string_view node_of_lost_daemon(std::string_view line) {
  constexpr std::string_view kOnNode = "] on node ";
  const size_t at = line.find(kOnNode);
  const bool of_daemon =
      at != std::string_view::npos &&
      line.substr(0, at).find("Remote daemon:") != std::string_view::npos;
  return of_daemon ? line.substr(at + kOnNode.size()) : std::string_view();
}

}  // namespace

std::string lost_daemon_host(const std::vector<LineEvidence>& lines) {
  for (const LineEvidence& line : lines) {
    const std::string_view node = node_of_lost_daemon(line.text);
    if (!node.empty()) return std::string(node);
  }
  return {};
}

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
  // Ray, about the workers whose end it reported.
  constexpr std::string_view kLogs = "`ray logs raylet.out -ip ";
  if (const size_t at = line.find(kLogs); at != std::string_view::npos) {
    const std::string_view name = line.substr(at + kLogs.size());
    return name.substr(0, name.find('`'));
  }
  if (const auto node = node_of_lost_daemon(line); !node.empty()) return node;
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

std::string_view peer_in_help_line(std::string_view line) {
  constexpr std::string_view kHead = "Peer host:";
  line = trim(line);
  if (!line.starts_with(kHead)) return {};
  const std::string_view name = trim(line.substr(kHead.size()));
  return name.find(' ') == std::string_view::npos ? name : std::string_view();
}

std::string_view pod_entered(std::string_view line) {
  constexpr std::string_view kCommand = "kubectl exec ";
  const size_t at = line.find(kCommand);
  if (at == std::string_view::npos) return {};
  std::string_view rest = line.substr(at + kCommand.size());
  while (rest.starts_with('-')) {  // of its options only flags
    rest.remove_prefix(std::min(rest.find(' '), rest.size()));
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  }
  return rest.substr(0, rest.find(' '));
}

std::string missed_host(const Evidence& evidence, const Candidate& winner) {
  constexpr std::string_view kSentence = "has unexpectedly disconnected";
  if (winner.line.find(kSentence) == std::string::npos) return {};
  std::string missed;
  const auto agree = [&missed](const std::vector<LineEvidence>& lines) {
    return std::all_of(
        lines.begin(), lines.end(), [&missed](const LineEvidence& line) {
          const std::string_view peer = peer_in_help_line(line.text);
          if (missed.empty()) missed = peer;
          return peer.empty() || peer == missed;
        });
  };
  bool one = agree(evidence.job.tool_lines);
  for (const RankEvidence& rank : evidence.ranks) one &= agree(rank.lines);
  return one ? missed : std::string();
}

namespace {

const std::vector<LineEvidence>& lines_around(const Evidence& evidence,
                                              const Candidate& winner) {
  const RankEvidence* const rank = find_rank(evidence, winner.rank);
  return rank != nullptr && !rank->lines.empty() ? rank->lines
                                                 : evidence.job.tool_lines;
}

// Lines that were written at once have one time.
bool is_behind(const std::vector<LineEvidence>& lines, const LineEvidence& line,
               const Candidate& winner) {
  const auto at = static_cast<size_t>(&line - lines.data());
  return line.time_ns > winner.time_ns ||
         (line.time_ns == winner.time_ns && at >= winner.order);
}

}  // namespace

std::string program_behind(const Evidence& evidence, const Candidate& winner) {
  constexpr std::string_view kRow = "Executable:";
  const auto& lines = lines_around(evidence, winner);
  for (const LineEvidence& line : lines) {
    if (!is_behind(lines, line, winner)) continue;
    if (line.time_ns - winner.time_ns > kHelpTextNs) break;
    const std::string_view text = trim(line.text);
    if (text.starts_with(kRow)) {
      return std::string(trim(text.substr(kRow.size())));
    }
  }
  return {};
}

std::string host_behind(const Evidence& evidence, const Candidate& winner) {
  const auto& lines = lines_around(evidence, winner);
  const bool of_table = is_row(winner.line);
  std::string before;
  std::string error_of;
  for (const LineEvidence& line : lines) {
    if (!is_behind(lines, line, winner)) {
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
  if (before.empty()) before = std::move(error_of);
  return before.empty() ? only_pod_entered(lines) : before;
}

}  // namespace muster
