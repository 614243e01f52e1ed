// SPDX-License-Identifier: Apache-2.0
#include "launcher/hang/ras_report.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "logs/line_folder.h"

namespace muster {

namespace {

constexpr size_t kMaxIssues = 64;
constexpr size_t kMaxRanks = 512;
constexpr size_t kMaxNamed = 8;  // in one sentence

// Takes the number from the front of `text`.
std::optional<uint64_t> take_number(std::string_view& text) {
  size_t length = 0;
  while (length < text.size() && text[length] >= '0' && text[length] <= '9') {
    ++length;
  }
  const auto value = length > 0 && length < 19
                         ? parse_integer(text.substr(0, length))
                         : std::nullopt;
  if (!value) return std::nullopt;
  text.remove_prefix(length);
  return static_cast<uint64_t>(*value);
}

bool take(std::string_view& text, std::string_view start) {
  if (!text.starts_with(start)) return false;
  text.remove_prefix(start.size());
  return true;
}

std::string_view up_to(std::string_view text, std::string_view end) {
  return text.substr(0, std::min(text.find(end), text.size()));
}

// "… managed by process 77 on node 10.1.2.3" or "Process 77 on node 10.1.2.3".
void read_process(std::string_view text, RasRank& rank) {
  constexpr std::string_view kBefore = " managed by process ";
  const size_t at = text.find(kBefore);
  if (at != std::string_view::npos) {
    text.remove_prefix(at + kBefore.size());
  } else if (!take(text, "Process ")) {
    return;
  }
  const auto pid = take_number(text);
  if (!pid || *pid > INT32_MAX || !take(text, " on node ")) return;
  rank.pid = static_cast<int>(*pid);
  rank.node = std::string(up_to(text, " "));
}

class Reader {
 public:
  void line(std::string_view text);
  std::vector<RasIssue> issues() && { return std::move(issues_); }

 private:
  void row(std::string_view text);
  void header(std::string_view text);
  void begin(RasIssue::Kind kind, std::string operation = {});
  bool count(std::string_view text);
  bool rank(std::string_view text);
  bool missing_numbers(std::string_view text);
  RasGroup& group(size_t count, std::string_view state);
  void name(RasGroup& group, RasRank rank);

  std::map<std::string, int> sizes_;  // of the communicators of a group
  bool in_table_ = false;
  int size_ = 0;  // of the current communicator
  std::vector<RasIssue> issues_;
  bool open_ = false;  // lines belong to the last issue
};

// "    0         1         4         8        32        32   RUNNING  MISMATCH"
void Reader::row(std::string_view text) {
  const auto words = split_words(text);
  const auto size = words.size() >= 7 ? parse_integer(words[4]) : std::nullopt;
  if (!size || *size < 1 || *size > INT32_MAX || sizes_.size() > kMaxIssues) {
    return;
  }
  sizes_[std::string(words[0])] = static_cast<int>(*size);
}

// "#0-0 (fa93daea854b060b) MISMATCH"
void Reader::header(std::string_view text) {
  open_ = false;
  text.remove_prefix(1);
  const auto size = sizes_.find(std::string(up_to(text, "-")));
  size_ = size == sizes_.end() ? 0 : size->second;
  if (text.ends_with(") INCOMPLETE")) begin(RasIssue::Kind::kSilent);
}

void Reader::begin(RasIssue::Kind kind, std::string operation) {
  open_ = issues_.size() < kMaxIssues;
  if (!open_) return;
  issues_.push_back({kind, std::move(operation), size_, {}});
}

// The state of `count` ranks: "launched up to operation 41", "not launched any
// operations", "status INIT".
RasGroup& Reader::group(size_t count, std::string_view state) {
  RasGroup group;
  group.count = count;
  if (take(state, "launched up to operation ")) {
    group.operations = take_number(state);
  } else if (state.starts_with("not launched any operations")) {
    group.operations = 0;
  } else if (take(state, "status ") || take(state, "reported ")) {
    group.status = std::string(up_to(state, " -- "));
  }
  issues_.back().groups.push_back(std::move(group));
  return issues_.back().groups.back();
}

void Reader::name(RasGroup& group, RasRank rank) {
  if (group.ranks.size() < kMaxRanks) group.ranks.push_back(std::move(rank));
}

// "30 ranks have launched up to operation 640"
bool Reader::count(std::string_view text) {
  const auto ranks = take_number(text);
  if (!ranks || !(take(text, " ranks have ") || take(text, " ranks ") ||
                  take(text, " rank "))) {
    return false;
  }
  if (issues_.back().groups.size() < kMaxRanks) group(*ranks, text);
  return true;
}

// "Rank 5 has launched up to operation 41 -- GPU 4 managed by …", and for one
// in a group that was printed before: "Rank 5 -- GPU 4 managed by …".
bool Reader::rank(std::string_view text) {
  RasRank found;
  if (take(text, "Rank ")) {
    const auto number = take_number(text);
    if (!number || *number > INT32_MAX) return false;
    found.number = static_cast<int>(*number);
  } else if (!text.starts_with("Process ")) {
    return false;
  }
  read_process(text, found);
  RasIssue& issue = issues_.back();
  const bool alone = take(text, " has ") || text.starts_with(" reported ");
  if (alone) {
    if (text.starts_with(' ')) text.remove_prefix(1);
    if (issue.groups.size() < kMaxRanks) name(group(1, text), found);
  } else {
    if (issue.groups.empty()) issue.groups.emplace_back();
    RasGroup& last = issue.groups.back();
    name(last, std::move(found));
    last.count = std::max(last.count, last.ranks.size());
  }
  return true;
}

// NCCL 2.24 and 2.25 only: "The missing ranks: 3,5"
bool Reader::missing_numbers(std::string_view text) {
  if (!take(text, "The missing rank")) return false;
  take(text, "s");
  if (!take(text, ": ")) return false;
  RasIssue& issue = issues_.back();
  if (issue.groups.empty()) issue.groups.emplace_back();
  while (const auto number = take_number(text)) {
    if (*number > INT32_MAX) break;
    name(issue.groups.back(), {static_cast<int>(*number), 0, {}});
    if (!take(text, ",")) break;
  }
  issue.groups.back().count = issue.groups.back().ranks.size();
  return true;
}

void Reader::line(std::string_view text) {
  if (text.starts_with("Group ")) in_table_ = true;
  if (text.starts_with("Errors")) in_table_ = false;
  if (in_table_) return row(text);
  if (text.starts_with('#')) return header(text);
  if (!text.starts_with(' ')) {
    size_ = 0;
    open_ = false;
    // Of the job, not of a communicator.
    if (text == "INCOMPLETE" || text == "DEAD") begin(RasIssue::Kind::kSilent);
    return;
  }
  text = trim(text);
  if (take(text, "Communicator ranks have different ")) {
    const bool status = text == "status";
    std::string operation(up_to(text, " operation counts"));
    if (operation == "collective") operation.clear();
    return begin(status ? RasIssue::Kind::kStatus : RasIssue::Kind::kCounts,
                 status ? std::string() : std::move(operation));
  }
  if (text.starts_with("Initialization error") ||
      text.starts_with("Asynchronous error")) {
    return begin(RasIssue::Kind::kError);
  }
  if (!open_) return;
  if (missing_numbers(text) || rank(text)) return;
  static_cast<void>(count(text));
}

uint64_t order(RasIssue::Kind kind) {
  switch (kind) {
    case RasIssue::Kind::kSilent:
      return 0;
    case RasIssue::Kind::kCounts:
      return 1;
    case RasIssue::Kind::kStatus:
      return 2;
    case RasIssue::Kind::kError:
      break;
  }
  return 3;
}

// NCCL's own order within a kind.
std::vector<const RasIssue*> by_weight(const std::vector<RasIssue>& issues) {
  std::vector<const RasIssue*> out;
  for (const RasIssue& issue : issues) out.push_back(&issue);
  std::stable_sort(out.begin(), out.end(), [](const auto* a, const auto* b) {
    return order(a->kind) < order(b->kind);
  });
  return out;
}

// A group that the rest of its communicator waits for.
bool holds_up(const RasIssue& issue, const RasGroup& group) {
  if (issue.kind == RasIssue::Kind::kSilent ||
      issue.kind == RasIssue::Kind::kError) {
    return true;
  }
  // The ranks without the communicator, or without an operation that most have
  // begun.
  const bool early = group.status == "NOCOMM" || group.status == "INIT";
  return std::any_of(
      issue.groups.begin(), issue.groups.end(), [&](const auto& other) {
        if (early) {
          return other.count > group.count && other.status != group.status;
        }
        // A few ranks that are ahead hold up none.
        return other.count >= group.count && group.operations &&
               other.operations > group.operations;
      });
}

std::string state_text(const RasIssue& issue, const RasGroup& group,
                       bool first) {
  const bool one = group.count == 1;
  if (issue.kind == RasIssue::Kind::kSilent) {
    return one ? " does not answer" : " do not answer";
  }
  if (!group.status.empty()) {
    return std::string(one ? " has " : " have ") +
           (issue.kind == RasIssue::Kind::kError ? "" : "status ") +
           group.status;
  }
  if (!group.operations) return one ? " has an error" : " have errors";
  if (*group.operations == 0) {
    return one ? " has begun none" : " have begun none";
  }
  return (first ? (one ? " is at number " : " are at number ") : " at ") +
         std::to_string(*group.operations);
}

std::string who_text(const RasIssue& issue, const RasGroup& group,
                     const JobRankOf& job_rank) {
  std::set<int> known;
  std::vector<std::string> others;
  for (const RasRank& rank : group.ranks) {
    if (const auto found = job_rank(rank, issue.size)) {
      known.insert(*found);
      continue;
    }
    std::string text = rank.number >= 0
                           ? "NCCL's rank " + std::to_string(rank.number)
                           : "the process";
    if (rank.pid > 0) {
      text += rank.number >= 0 ? " (process " : " ";
      text += std::to_string(rank.pid) + " on " + rank.node;
      if (rank.number >= 0) text += ")";
    }
    if (others.size() < kMaxNamed) others.push_back(std::move(text));
  }
  std::string text;
  if (!known.empty()) {
    text = (known.size() == 1 ? "rank " : "ranks ") + rank_set_text(known);
  }
  for (const std::string& other : others) {
    text += (text.empty() ? "" : ", ") + other;
  }
  const size_t told = known.size() + others.size();
  if (told == 0) {
    return std::to_string(group.count) +
           (group.count == 1 ? " rank" : " ranks");
  }
  if (told < group.count) {
    text += " and " + std::to_string(group.count - told) + " more";
  }
  return text;
}

std::string sentence(const RasIssue& issue, const JobRankOf& job_rank) {
  std::vector<const RasGroup*> groups;
  for (const RasGroup& group : issue.groups) groups.push_back(&group);
  std::stable_sort(
      groups.begin(), groups.end(),
      [](const auto* a, const auto* b) { return a->count < b->count; });
  std::string text = "NCCL: ";
  if (issue.kind == RasIssue::Kind::kCounts) {
    text += "of " +
            (issue.operation.empty() ? "collectives" : issue.operation) + " ";
  }
  for (size_t i = 0; i < groups.size() && i < kMaxNamed; ++i) {
    if (i > 0) text += ", ";
    text += who_text(issue, *groups[i], job_rank);
    text += state_text(issue, *groups[i], i == 0);
  }
  return text;
}

}  // namespace

std::vector<RasIssue> read_ras_report(std::string_view text) {
  Reader reader;
  for (std::string_view line : split(text, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) reader.line(line);
  }
  std::vector<RasIssue> issues = std::move(reader).issues();
  std::erase_if(issues, [](const auto& issue) { return issue.groups.empty(); });
  return issues;
}

RasOdd ras_odd_ranks(const std::vector<RasIssue>& issues,
                     const JobRankOf& job_rank) {
  for (const RasIssue* issue : by_weight(issues)) {
    std::set<int> odd;
    for (const RasGroup& group : issue->groups) {
      if (!holds_up(*issue, group)) continue;
      for (const RasRank& rank : group.ranks) {
        if (const auto found = job_rank(rank, issue->size)) odd.insert(*found);
      }
    }
    if (!odd.empty()) return {std::move(odd), issue->kind};
  }
  return {};
}

std::vector<uint64_t> ras_counts(const std::vector<RasIssue>& issues) {
  std::vector<uint64_t> counts;
  for (const RasIssue& issue : issues) {
    for (const RasGroup& group : issue.groups) {
      if (!group.operations) continue;
      counts.push_back(group.count);
      counts.push_back(*group.operations);
    }
  }
  return counts;
}

std::vector<std::string> ras_sentences(const std::vector<RasIssue>& issues,
                                       const JobRankOf& job_rank, size_t most) {
  std::vector<std::string> out;
  for (const RasIssue* issue : by_weight(issues)) {
    if (out.size() == most) break;
    std::string text = sentence(*issue, job_rank);
    if (std::find(out.begin(), out.end(), text) == out.end()) {
      out.push_back(std::move(text));
    }
  }
  return out;
}

}  // namespace muster
