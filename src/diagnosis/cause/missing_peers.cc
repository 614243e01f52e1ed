// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/cause/missing_peers.h"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "logs/mark_scan.h"

namespace muster {

namespace {

constexpr size_t kMostRanks = 4096;
constexpr std::string_view kTask = "/task:";
constexpr std::string_view kHorovod = "[missing ranks:";

// After these words names of tasks follow, in the line or in the next ones.
// Looked for by letters that few lines have.
size_t list_begins(std::string_view line) {
  constexpr std::string_view kTimedOut = "imed out tas";
  for (const std::string_view head :
       {"k names:", "(stopped sending heartbeats):", "Missing ranks:"}) {
    const size_t at = line.find(head);
    if (at == std::string_view::npos) continue;
    if (head.front() == 'k' && !line.substr(0, at).ends_with(kTimedOut)) {
      continue;
    }
    return at + head.size();
  }
  return std::string_view::npos;
}

void read_tasks(std::string_view text, std::set<int>& ranks) {
  for (size_t at = text.find(kTask);
       at != std::string_view::npos && ranks.size() < kMostRanks;
       at = text.find(kTask)) {
    text.remove_prefix(at + kTask.size());
    if (const auto rank = marks::take_number(text)) ranks.insert(*rank);
  }
}

// "1, 3".
void read_numbers(std::string_view text, std::set<int>& ranks) {
  for (const std::string_view word : split(text, ',')) {
    const auto rank = parse_integer(trim(word));
    if (rank && *rank >= 0 && ranks.size() < kMostRanks) {
      ranks.insert(static_cast<int>(*rank));
    }
  }
}

bool is_task(std::string_view line) {
  line = trim(line);
  return line.starts_with("/job:") &&
         line.find(kTask) != std::string_view::npos;
}

// "3: [gradient.a, gradient.b]", "3!: [gradient.a]".
std::optional<int> stalled_rank(std::string_view line) {
  const auto rank = marks::take_number(line);
  if (line.starts_with('!')) line.remove_prefix(1);
  return line.starts_with(": [") ? rank : std::nullopt;
}

bool waits(const Rule& rule) {
  return rule.role == CauseRole::kWeak ||
         rule.role == CauseRole::kConsequence ||
         rule.code == "collective_mismatch";
}

// "3, 5" of "[3, 5] joined but didn't finish collective #7".
std::string_view bracket_before(std::string_view line, std::string_view words) {
  const size_t end = line.find(words);
  const size_t open =
      end == std::string_view::npos ? end : line.rfind('[', end);
  if (open == std::string_view::npos) return {};
  return line.substr(open + 1, end - open - 1);
}

// PyTorch's report of the ranks behind: "ranks [3] are the lagging ranks", or
// the above.
std::string_view lagging_ranks(std::string_view line) {
  const std::string_view ranks =
      bracket_before(line, "] are the lagging ranks");
  return ranks.empty()
             ? bracket_before(line, "] joined but didn't finish collective")
             : ranks;
}

// "[3] finished collective #6, but didn't join collective #7": behind, unless
// others have not even finished that.
std::string_view absent_ranks(std::string_view line) {
  return line.find("but didn't join collective") == std::string_view::npos
             ? std::string_view()
             : bracket_before(line, "] finished collective #");
}

// `reader` wrote the lines: if it counts itself among those that are behind,
// all wait alike.
void read_lagging(std::string_view line, int reader, std::set<int>& ranks) {
  std::set<int> lagging;
  read_numbers(lagging_ranks(line), lagging);
  if (ranks.empty()) read_numbers(absent_ranks(line), lagging);
  if (!lagging.contains(reader)) ranks.merge(lagging);
}

void read_lists(const std::vector<LineEvidence>& lines, bool horovod,
                int reader, std::set<int>& ranks) {
  bool inside = false;
  for (const LineEvidence& line : lines) {
    const std::string_view text = line.text;
    const size_t begin = list_begins(text);
    const size_t stall = horovod ? text.find(kHorovod) : std::string_view::npos;
    if (stall != std::string_view::npos) {
      const std::string_view rest = text.substr(stall + kHorovod.size());
      read_numbers(rest.substr(0, rest.find(']')), ranks);
    }
    read_lagging(text, reader, ranks);
    if (begin != std::string_view::npos) {
      read_tasks(text.substr(begin), ranks);
    } else if (inside && is_task(text)) {
      read_tasks(text, ranks);
    } else if (const auto rank = stalled_rank(text); inside && rank) {
      ranks.insert(*rank);
    }
    inside =
        begin != std::string_view::npos || (inside && continues_list(text));
  }
}

// "work sequence id: 2847 PG status: last enqueued work: 2855, …" of a rank
// that waits, "Last enqueued NCCL work: 2846, last completed NCCL work: 2846"
// of a rank that is done with all its work, one short of the others' wait.
struct WorkCount {
  int64_t waits_for = -1;
  int64_t enqueued = -1;
  int64_t completed = -1;
};

int64_t number_behind(std::string_view text, std::string_view words) {
  const size_t at = text.find(words);
  if (at == std::string_view::npos) return -1;
  text.remove_prefix(at + words.size());
  return parse_integer(text.substr(0, text.find_first_not_of("0123456789")))
      .value_or(-1);
}

WorkCount count_work(const std::vector<LineEvidence>& lines) {
  WorkCount count;
  for (const LineEvidence& line : lines) {
    const std::string_view text = line.text;
    if (text.find("work") == std::string_view::npos) continue;
    count.waits_for =
        std::max(count.waits_for, number_behind(text, "work sequence id: "));
    count.enqueued =
        std::max(count.enqueued, number_behind(text, "enqueued NCCL work: "));
    count.completed =
        std::max(count.completed, number_behind(text, "completed NCCL work: "));
  }
  return count;
}

void read_work_counts(const Evidence& evidence, std::set<int>& ranks) {
  std::vector<std::pair<int, WorkCount>> all;
  int64_t waited_for = -1;
  for (const RankEvidence& rank : evidence.ranks) {
    all.emplace_back(rank.rank, count_work(rank.lines));
    waited_for = std::max(waited_for, all.back().second.waits_for);
  }
  for (const auto& [rank, count] : all) {
    const bool idle = count.waits_for < 0 && count.enqueued >= 0 &&
                      count.enqueued == count.completed;
    if (idle && count.enqueued + 1 == waited_for) ranks.insert(rank);
  }
}

// The operation for which each rank of one group of PyTorch waited.
using Waits = std::map<int, int64_t>;

// "[PG ID 0 PG GUID 0(default_pg) Rank 3] Watchdog caught collective operation
// timeout: WorkNCCL(SeqNum=512, …" of `reader`, where the line does not name
// its rank; by the words that name the group.
void read_wait(std::string_view text, int reader,
               std::map<std::string, Waits>& groups) {
  const size_t told = text.find("Watchdog caught collective");
  if (told == std::string_view::npos) return;
  const int64_t sequence = number_behind(text.substr(told), "(SeqNum=");
  const std::string_view mark = bracket_before(text.substr(0, told), "] ");
  const size_t name = std::min(mark.find("Rank "), mark.size());
  const int64_t named = number_behind(mark, "Rank ");
  const int64_t rank = named < 0 ? reader : named;
  if (sequence < 0 || rank < 0 || rank > INT_MAX) return;
  const std::string_view group =
      named < 0 ? std::string_view() : trim(mark.substr(0, name));
  Waits& waits = groups[std::string(group)];
  if (waits.size() >= kMostRanks) return;
  // Later ones are of work that was queued behind the first.
  waits.try_emplace(static_cast<int>(rank), sequence);
}

// The size of the job as its lines tell it; -1: not at all, or several.
int64_t told_world(const Evidence& evidence) {
  std::set<int64_t> told;
  const auto read = [&told](const std::vector<LineEvidence>& lines) {
    for (const LineEvidence& line : lines) {
      for (const std::string_view words :
           {"world_size=", "world_size: ", "world_size ",
            "world size: ", "world size "}) {
        const int64_t size = number_behind(line.text, words);
        if (size > 0) told.insert(size);
      }
    }
  };
  read(evidence.job.tool_lines);
  for (const RankEvidence& rank : evidence.ranks) read(rank.lines);
  if (told.empty() && evidence.job.world_size > 0) {
    return evidence.job.world_size;
  }
  return told.size() == 1 ? *told.begin() : -1;
}

// Few of many: half of the ranks may as well wait for the other half.
bool is_minority(size_t some, size_t all) {
  return some > 0 && some * 2 <= all;
}

// A rank that waits for an earlier operation than the others is behind them.
// Where all reporting ranks wait for the same one, the silent ranks are behind.
void read_sequences(const Evidence& evidence, std::set<int>& ranks) {
  std::map<std::string, Waits> groups;
  for (const LineEvidence& line : evidence.job.tool_lines) {
    read_wait(line.text, -1, groups);
  }
  for (const RankEvidence& rank : evidence.ranks) {
    for (const LineEvidence& line : rank.lines) {
      read_wait(line.text, rank.rank, groups);
    }
  }
  for (const auto& [group, waits] : groups) {
    int64_t first = INT64_MAX;
    for (const auto& [rank, sequence] : waits) {
      first = std::min(first, sequence);
    }
    std::set<int> behind;
    for (const auto& [rank, sequence] : waits) {
      if (sequence == first) behind.insert(rank);
    }
    if (!is_minority(behind.size(), waits.size())) continue;
    ranks = std::move(behind);
    return;
  }
  const int64_t world = told_world(evidence);
  if (groups.size() != 1 || world > static_cast<int64_t>(kMostRanks)) return;
  const Waits& waits = groups.begin()->second;
  std::set<int> silent;
  for (int rank = 0; rank < world; ++rank) {
    if (!waits.contains(rank)) silent.insert(rank);
  }
  for (const RankEvidence& rank : evidence.ranks) {  // it waits, too
    if (count_work(rank.lines).enqueued >= 0) silent.erase(rank.rank);
  }
  if (waits.size() > 1 && is_minority(silent.size(), waits.size())) {
    ranks = std::move(silent);
  }
}

// The finding on the job while it hung, whose evidence no longer exists.
void read_hang(const Evidence& evidence, std::set<int>& ranks) {
  for (const Finding& finding : evidence.findings) {
    if (finding.code == "hang" && finding.rank >= 0) ranks.insert(finding.rank);
  }
}

}  // namespace

bool begins_list(std::string_view line) {
  return list_begins(line) != std::string_view::npos ||
         line.find(kHorovod) != std::string_view::npos ||
         !lagging_ranks(line).empty() || !absent_ranks(line).empty();
}

bool continues_list(std::string_view line) {
  return is_task(line) || stalled_rank(line).has_value();
}

std::vector<int> missing_peers(const Evidence& evidence,
                               const Candidate& winner) {
  std::set<int> ranks;
  const auto told = winner.values.find("missing");
  if (told != winner.values.end()) read_numbers(told->second, ranks);
  if (winner.rule == nullptr || !waits(*winner.rule)) {
    return {ranks.begin(), ranks.end()};
  }
  // The first one decides: behind a call in which the ranks differ they are out
  // of step, and ranks that are missing later are so because of it.
  const auto& collectives = evidence.collectives;
  if (ranks.empty() && !collectives.empty() && collectives.front().waits) {
    ranks.insert(collectives.front().ranks.begin(),
                 collectives.front().ranks.end());
  }
  if (!ranks.empty()) return {ranks.begin(), ranks.end()};
  // Of an operation that the job got over, Horovod warns, too.
  const bool stalled = winner.rule->role != CauseRole::kConsequence;
  read_lists(evidence.job.tool_lines, stalled, -1, ranks);
  for (const RankEvidence& rank : evidence.ranks) {
    read_lists(rank.lines, stalled, rank.rank, ranks);
  }
  if (winner.rule->code == "nccl_timeout") read_work_counts(evidence, ranks);
  if (ranks.empty()) read_hang(evidence, ranks);
  if (ranks.empty() && winner.rule->code == "nccl_timeout") {
    read_sequences(evidence, ranks);
  }
  return {ranks.begin(), ranks.end()};
}

std::string missing_text(const std::vector<int>& ranks) {
  constexpr size_t kMost = 8;
  std::vector<std::string> names;
  for (const int rank : ranks) {
    if (names.size() < kMost) names.push_back(std::to_string(rank));
  }
  return (ranks.size() == 1 ? "Rank " : "Ranks ") + join(names, ", ") +
         (ranks.size() > kMost ? " and more" : "");
}

}  // namespace muster
