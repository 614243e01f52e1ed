// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/cause/unreached_peers.h"

#include <algorithm>

#include "diagnosis/cause/help_host.h"

namespace muster {

namespace {

std::string_view short_name(std::string_view host) {
  return host.substr(0, host.find('.'));
}

// "Local host: node-1" is some lines above the error that it is about.
std::string_view writer_of_help(const Evidence& evidence,
                                const Candidate& error) {
  constexpr size_t kLinesAbove = 4;
  const RankEvidence* const rank = find_rank(evidence, error.rank);
  if (rank != nullptr) return rank->host;
  if (!error.host.empty()) return error.host;
  const std::vector<LineEvidence>& lines = evidence.job.tool_lines;
  const size_t end = std::min(error.order, lines.size());
  for (size_t i = end; i > 0 && end - i < kLinesAbove; --i) {
    const std::string_view host = host_in_help_line(lines[i - 1].text);
    if (!host.empty()) return host;
  }
  return {};
}

// The first rank whose wait status shows a bad end; null: none.
const Candidate* first_bad_end(const std::vector<Candidate>& candidates) {
  const Candidate* first = nullptr;
  for (const Candidate& candidate : candidates) {
    const bool ended = candidate.fact && candidate.rank >= 0;
    if (ended && (first == nullptr || candidate.time_ns < first->time_ns)) {
      first = &candidate;
    }
  }
  return first;
}

// Whether a worker was lost on another host than `writer`.
bool lost_elsewhere(const Evidence& evidence, std::string_view writer) {
  return std::any_of(evidence.nodes.begin(), evidence.nodes.end(),
                     [writer](const NodeEvidence& node) {
                       return node.outcome == NodeOutcome::kLost &&
                              short_name(node.host) != writer;
                     });
}

// The errors of connect() for a peer that does not answer.
bool is_unreached(const Candidate& candidate) {
  return candidate.rule->code == "net_interface_wrong" &&
         (candidate.values.contains("stale") ||
          candidate.line.find("No route to host") != std::string::npos ||
          candidate.line.find("imed out") != std::string::npos ||
          candidate.line.find("nreachable") != std::string::npos);
}

// The fact that a rank left without MPI_Finalize; null: none did.
const Candidate* one_that_left(const std::vector<Candidate>& candidates) {
  const auto left =
      std::find_if(candidates.begin(), candidates.end(), [](auto& candidate) {
        return candidate.fact && candidate.rule->code == "mpi_not_finalized";
      });
  return left == candidates.end() ? nullptr : &*left;
}

// The MPI of another rank misses it. Its lines may be stamped before the end
// that they are about, since an agent hears of an end later.
bool misses(const Candidate& candidate, const Candidate& left) {
  constexpr int64_t kHeardLateNs = 1'000'000'000;
  return candidate.rule->code == "mpi_error" && !candidate.fact &&
         candidate.rank >= 0 && candidate.rank != left.rank &&
         candidate.time_ns >= left.time_ns - kHeardLateNs;
}

}  // namespace

void drop_unreached_peers(const Evidence& evidence,
                          std::vector<Candidate>& candidates) {
  constexpr int64_t kHeardLateNs = 1'000'000'000;
  const Candidate* const first = first_bad_end(candidates);
  const std::string ended = first == nullptr ? "" : first->host;
  const int64_t ended_ns = first == nullptr ? 0 : first->time_ns;
  const Candidate* const found = one_that_left(candidates);
  const bool one_left = found != nullptr;
  const Candidate left = one_left ? *found : Candidate{};
  std::erase_if(candidates, [&](const Candidate& candidate) {
    if (one_left && misses(candidate, left)) return true;
    if (!is_unreached(candidate)) return false;
    if (one_left && candidate.values.contains("stale")) return true;
    const auto writer = short_name(writer_of_help(evidence, candidate));
    if (writer.empty()) return false;
    return lost_elsewhere(evidence, writer) ||
           (candidate.values.contains("stale") && !ended.empty() &&
            short_name(ended) != writer &&
            ended_ns <= candidate.time_ns + kHeardLateNs);
  });
}

}  // namespace muster
