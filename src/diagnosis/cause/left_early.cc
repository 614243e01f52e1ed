// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/cause/left_early.h"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>

#include "diagnosis/cause/candidate.h"
#include "logs/mark_scan.h"

namespace muster {

namespace {

bool ended_well(const RankEvidence& rank) {
  return rank.outcome == RankOutcome::kExited && rank.wait_status == 0 &&
         !rank.mpi_finalized && rank.exit_ns > 0;
}

// "… has exited due to process rank 1 with PID 7 on / node a exiting
// improperly": -1 if no launcher says so.
int told_rank(const std::vector<LineEvidence>& lines) {
  constexpr std::string_view kDue = " has exited due to process rank ";
  for (size_t i = 0; i < lines.size(); ++i) {
    const size_t at = lines[i].text.find(kDue);
    if (at == std::string::npos) continue;
    std::string sentence = lines[i].text;
    if (i + 1 < lines.size()) sentence += " " + lines[i + 1].text;
    if (sentence.find("exiting improperly") == std::string::npos &&
        sentence.find("exiting without") == std::string::npos) {
      continue;
    }
    std::string_view rest(lines[i].text);
    rest.remove_prefix(at + kDue.size());
    return marks::take_number(rest).value_or(-1);
  }
  return -1;
}

bool killed_by_launcher(const RankEvidence& rank) {
  if (rank.outcome != RankOutcome::kExited || rank.stopped_by_us ||
      rank.oom_killed || rank.exit_ns <= 0 || !WIFSIGNALED(rank.wait_status)) {
    return false;
  }
  const int signal = WTERMSIG(rank.wait_status);
  return signal == SIGKILL || signal == SIGTERM;
}

bool tells_lost_peer(const std::vector<LineEvidence>& lines) {
  return std::any_of(lines.begin(), lines.end(), [](auto& line) {
    return line.text.find("Connection reset by peer") != std::string::npos ||
           line.text.find("failed to TCP connect") != std::string::npos;
  });
}

bool somebody_lost_peer(const Evidence& evidence) {
  return tells_lost_peer(evidence.job.tool_lines) ||
         std::any_of(evidence.ranks.begin(), evidence.ranks.end(),
                     [](auto& rank) { return tells_lost_peer(rank.lines); });
}

// Hydra kills the other ranks when one closes its socket; which of these ends
// is the first to be seen is chance. Open MPI takes its time, in which others
// miss the one that left; its own word may come too late.
std::optional<LeftEarly> left_beside_kill(const Evidence& evidence) {
  constexpr int64_t kAtOnceNs = 200'000'000;
  const RankEvidence* first = nullptr;
  for (const RankEvidence& rank : evidence.ranks) {
    const bool bad = rank.outcome == RankOutcome::kExited &&
                     rank.wait_status != 0 && rank.exit_ns > 0;
    if (bad && (first == nullptr || rank.exit_ns < first->exit_ns)) {
      first = &rank;
    }
  }
  if (first == nullptr || !killed_by_launcher(*first)) return std::nullopt;
  const bool missed = somebody_lost_peer(evidence);
  for (const RankEvidence& rank : evidence.ranks) {
    if (!ended_well(rank) || !rank.mpi_attached) continue;
    const int64_t killed_after = first->exit_ns - rank.exit_ns;
    const bool at_once = std::abs(killed_after) <= kAtOnceNs;
    if (!at_once && !(missed && killed_after > 0)) continue;
    return LeftEarly{&rank, Confidence::kPossible,
                     std::min(rank.exit_ns, first->exit_ns)};
  }
  return std::nullopt;
}

}  // namespace

std::optional<LeftEarly> left_early(const Evidence& evidence) {
  if (evidence.job.bare_log || evidence.job.backend != "mpirun") {
    return std::nullopt;
  }
  const RankEvidence* const told =
      find_rank(evidence, told_rank(evidence.job.tool_lines));
  if (told != nullptr && ended_well(*told)) {
    return LeftEarly{told, Confidence::kLikely, told->exit_ns};
  }
  return left_beside_kill(evidence);
}

}  // namespace muster
