// SPDX-License-Identifier: Apache-2.0
#include "launcher/hang/flight_report.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "base/json_text.h"
#include "logs/line_folder.h"

namespace muster {

namespace {

using wire::FlightCall;
using wire::FlightGroup;
using wire::FlightKind;
using wire::FlightRecord;
using wire::FlightState;

constexpr int64_t kSameTimeNs = 120'000'000'000;

bool over(const FlightCall& call) {
  return call.state == FlightState::kCompleted;
}

// A group with the records of its ranks.
struct Group {
  const FlightGroup* any = nullptr;
  std::set<int> members;  // empty: not known
  std::map<int, const FlightGroup*> ranks;
};

const FlightCall* call_at(const FlightGroup& group, int64_t seq) {
  for (const FlightCall& call : group.calls) {
    if (call.seq == seq) return &call;
  }
  return nullptr;
}

const FlightCall* first_open(const FlightGroup& group) {
  for (const FlightCall& call : group.calls) {
    if (!over(call)) return &call;
  }
  return nullptr;
}

std::string ranks_text(const std::set<int>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + rank_set_text(ranks);
}

std::string others_text(size_t count) {
  return count == 1 ? "the other one"
                    : "the " + std::to_string(count) + " others";
}

std::string group_text(const FlightGroup& group) {
  const bool named =
      !group.description.empty() && group.description != "undefined";
  if (group.description == "default_pg" || (!named && group.name == "0")) {
    return "the default group";
  }
  return "group " + (named ? group.description : group.name);
}

std::string numbered(const FlightCall& call) {
  return call.operation + " #" + std::to_string(call.seq);
}

std::string at_place(const std::string& place) {
  return place.empty() ? "" : " at " + place;
}

// "10:31:02 UTC"
std::string clock_text(int64_t realtime) {
  constexpr size_t kBegin = 11;  // of "2026-01-31T12:34:56.…"
  constexpr size_t kLength = 8;
  std::string text;
  append_timestamp(text, realtime);
  return text.substr(kBegin, kLength) + " UTC";
}

// The numbers of elements have to be the same on all ranks.
bool same_size_everywhere(const std::string& operation) {
  static const std::set<std::string> kNames = {"all_reduce",
                                               "allreduce_coalesced",
                                               "broadcast",
                                               "_broadcast_oop",
                                               "reduce",
                                               "_reduce_oop",
                                               "all_gather_into_tensor",
                                               "reduce_scatter_tensor"};
  return kNames.count(operation) > 0;
}

// The attributes of a call that ranks must agree in; the first one is the
// operation.
using Kind = std::tuple<std::string, std::string, int64_t>;

Kind agreed(const FlightKind& kind) {
  if (!same_size_everywhere(kind.operation)) return {kind.operation, "", -1};
  return {kind.operation, kind.type, kind.elements};
}

// One rank's records of a group.
struct Sequence {
  int64_t from = 0;
  std::vector<int> kinds;              // numbers of Kind in the group; -1: none
  const FlightGroup* group = nullptr;  // with kinds and sequence

  [[nodiscard]] int at(int64_t seq) const {
    const int64_t index = seq - from;
    const bool there = index >= 0 && index < std::ssize(kinds);
    return there ? kinds[static_cast<size_t>(index)] : -1;
  }
  [[nodiscard]] const FlightKind& told(int64_t seq) const {
    const int kind = group->sequence[static_cast<size_t>(seq - from)];
    return group->kinds[static_cast<size_t>(kind)];
  }
};

// The sequences of the ranks of a group.
class Sequences {
 public:
  explicit Sequences(const Group& group) {
    for (const auto& [rank, own] : group.ranks) {
      const FlightGroup* whole = own;
      if (own->sequence.empty()) {
        noted_.push_back(*own);
        wire::note_sequence(noted_.back());
        whole = &noted_.back();
      }
      constexpr int64_t kHighest = int64_t{1} << 60;
      if (whole->from < 0 || whole->from > kHighest) continue;
      Sequence& one = ranks_[rank];
      one.from = whole->from;
      one.group = whole;
      std::vector<int> numbers;
      for (const FlightKind& kind : whole->kinds) {
        numbers.push_back(
            known_.emplace(agreed(kind), static_cast<int>(known_.size()))
                .first->second);
      }
      for (const int kind : whole->sequence) {
        const bool there = kind >= 0 && kind < std::ssize(numbers);
        one.kinds.push_back(there ? numbers[static_cast<size_t>(kind)] : -1);
      }
    }
  }

  [[nodiscard]] const Sequence& of(int rank) const { return ranks_.at(rank); }

  // The first call in which ranks do not agree; nullopt: there is none.
  [[nodiscard]] std::optional<int64_t> first_difference() const {
    std::optional<int64_t> found;
    std::unordered_map<int64_t, int> seen;
    for (const auto& [rank, one] : ranks_) {
      for (size_t i = 0; i < one.kinds.size(); ++i) {
        const int64_t seq = one.from + static_cast<int64_t>(i);
        if (found && seq >= *found) break;
        if (one.kinds[i] < 0) continue;
        if (seen.emplace(seq, one.kinds[i]).first->second != one.kinds[i]) {
          found = seq;
          break;
        }
      }
    }
    return found;
  }

  // The ranks by their call with number `seq`.
  [[nodiscard]] std::map<Kind, std::set<int>> at(int64_t seq) const {
    std::map<Kind, std::set<int>> out;
    for (const auto& [kind, number] : known_) {
      for (const auto& [rank, one] : ranks_) {
        if (one.at(seq) == number) out[kind].insert(rank);
      }
    }
    return out;
  }

  // From number `seq` on, the calls of `rank`, moved by one, equal those of
  // `other`: it has made one more.
  [[nodiscard]] bool one_ahead(int rank, int other, int64_t seq) const {
    const Sequence& own = ranks_.at(rank);
    const Sequence& theirs = ranks_.at(other);
    bool some = false;
    for (; own.at(seq + 1) >= 0 && theirs.at(seq) >= 0; ++seq) {
      if (own.at(seq + 1) != theirs.at(seq)) return false;
      some = true;
    }
    return some;
  }

 private:
  std::map<Kind, int> known_;
  std::map<int, Sequence> ranks_;
  std::deque<FlightGroup> noted_;  // of ranks that sent calls only
};

class Report {
 public:
  explicit Report(const std::vector<FlightRecord>& records) {
    int64_t newest = 0;
    for (const FlightRecord& record : records) {
      newest = std::max(newest, record.written_ns);
    }
    std::map<std::pair<std::string, std::string>, Group> groups;
    for (const FlightRecord& record : records) {
      if (!record.problem.empty()) {
        problems_.push_back(record.problem);
        continue;
      }
      if (newest - record.written_ns > kSameTimeNs) {
        problems_.push_back(
            "the record of rank " + std::to_string(record.rank) + " is of " +
            clock_text(record.written_ns) + ", older than the others");
        continue;
      }
      told_[record.rank] = &record;
      for (const FlightGroup& group : record.groups) {
        Group& into = groups[{group.name, group.members}];
        into.any = &group;
        into.ranks[record.rank] = &group;
        into.members.insert(group.ranks.begin(), group.ranks.end());
        if (first_open(group) != nullptr) waiting_.insert(record.rank);
      }
    }
    for (const auto& [name, group] : groups) look_at(group);
  }

  std::vector<FlightIssue> issues() && {
    // A rank that waits in another group is a victim there, not a cause here.
    const auto weight = [this](const FlightIssue& issue) {
      if (issue.differs) return issue.over ? 3 : 0;
      if (issue.odd.empty()) return 4;
      const bool free =
          std::none_of(issue.odd.begin(), issue.odd.end(),
                       [this](int rank) { return waiting_.count(rank) > 0; });
      return free ? 1 : 2;
    };
    std::stable_sort(issues_.begin(), issues_.end(),
                     [&weight](const auto& a, const auto& b) {
                       return weight(a) < weight(b);
                     });
    if (!silent_.empty()) {
      issues_.push_back({"PyTorch: no record of " + ranks_text(silent_), {}});
    }
    for (const std::string& problem : problems_) {
      issues_.push_back({"PyTorch: " + problem, {}});
    }
    return std::move(issues_);
  }

 private:
  void look_at(const Group& group) {
    const FlightCall* stuck = nullptr;  // the first that a rank is in
    for (const auto& [rank, own] : group.ranks) {
      const FlightCall* const open = first_open(*own);
      if (open != nullptr && (stuck == nullptr || open->seq < stuck->seq)) {
        stuck = open;
      }
    }
    if (stuck == nullptr) {
      differ(group, false);
      return;
    }
    for (const int rank : group.members) {
      if (told_.count(rank) == 0) silent_.insert(rank);
    }
    if (differ(group, true)) return;
    if (lag(group, *stuck)) return;
    all_in(group, *stuck);
  }

  // The first call in which the ranks do not agree, over or not: behind it they
  // are out of step.
  bool differ(const Group& group, bool stuck) {
    const Sequences sequences(group);
    const auto seq = sequences.first_difference();
    if (!seq) return false;
    tell_difference(group, sequences, *seq, stuck);
    return true;
  }

  void tell_difference(const Group& group, const Sequences& sequences,
                       int64_t seq, bool stuck) {
    const auto kinds = sequences.at(seq);
    const auto fewer = [](const auto& a, const auto& b) {
      return a.second.size() < b.second.size();
    };
    const std::set<int>* few =
        &std::min_element(kinds.begin(), kinds.end(), fewer)->second;
    const std::set<int>* many =
        &std::max_element(kinds.rbegin(), kinds.rend(), fewer)->second;
    const auto ahead = [&](const std::set<int>& one, const std::set<int>& of) {
      return sequences.one_ahead(*one.begin(), *of.begin(), seq) &&
             !sequences.one_ahead(*of.begin(), *one.begin(), seq);
    };
    const bool tie = few->size() == many->size();
    if (tie && ahead(*many, *few)) std::swap(few, many);
    const bool one_more = kinds.size() == 2 && ahead(*few, *many);
    const FlightKind& odd = sequences.of(*few->begin()).told(seq);
    const FlightKind& most = sequences.of(*many->begin()).told(seq);
    const bool names = odd.operation != most.operation;
    FlightIssue issue;
    issue.text =
        "PyTorch: " + ranks_text(*few) +
        (few->size() == 1 ? " calls " : " call ") + odd.operation + " #" +
        std::to_string(seq) + " of " + group_text(*group.any) +
        (names ? "" : " with " + odd.type + " " + odd.shape) +
        at_place(odd.place) + ", " +
        (kinds.size() > 2 ? ranks_text(*many) : others_text(many->size())) +
        (names ? " " + most.operation
               : " with " + most.type + " " + most.shape) +
        at_place(most.place);
    if (one_more) {
      issue.text += "; from there on " + ranks_text(*few) +
                    (few->size() == 1 ? " is" : " are") + " one call ahead";
    }
    issue.differs = true;
    if (!tie || one_more) issue.odd = *few;
    issue.over = !stuck;
    issues_.push_back(std::move(issue));
  }

  // The ranks that have not entered the call in which others are.
  bool lag(const Group& group, const FlightCall& stuck) {
    std::set<int> behind;
    const FlightCall* last = nullptr;
    for (const auto& [rank, own] : group.ranks) {
      if (own->last >= stuck.seq) continue;
      // Its calls may have left the ring, or it made none.
      if (own->calls.empty() && !told_.at(rank)->whole) continue;
      behind.insert(rank);
      if (!own->calls.empty()) last = &own->calls.back();
    }
    for (const int rank : group.members) {
      const auto record = told_.find(rank);
      if (record != told_.end() && record->second->whole &&
          group.ranks.count(rank) == 0) {
        behind.insert(rank);
        last = nullptr;
      }
    }
    if (behind.empty()) return false;
    FlightIssue issue;
    issue.text = "PyTorch: " + ranks_text(behind) +
                 (behind.size() == 1 ? " has" : " have") + " not entered " +
                 numbered(stuck) + " of " + group_text(*group.any) +
                 waiters(group, stuck);
    if (behind.size() == 1) {
      issue.text += last == nullptr
                        ? "; nothing is recorded of what it called there"
                        : "; its last call was " + numbered(*last) +
                              at_place(last->place);
    }
    issue.odd = behind;
    issue.waits = true;
    issues_.push_back(std::move(issue));
    return true;
  }

  // " at train.py:88 (step); 63 others wait in it since 10:31:02 UTC"
  static std::string waiters(const Group& group, const FlightCall& stuck) {
    size_t count = 0;
    int64_t since = 0;
    for (const auto& [rank, own] : group.ranks) {
      const FlightCall* const call = call_at(*own, stuck.seq);
      if (call == nullptr || over(*call)) continue;
      ++count;
      since = std::max(since, call->called_ns);
    }
    return at_place(stuck.place) + "; " + std::to_string(count) +
           (count == 1 ? " other waits in it" : " others wait in it") +
           (since > 0 ? " since " + clock_text(since) : "");
  }

  // All ranks have entered it: the cause is below the program.
  void all_in(const Group& group, const FlightCall& stuck) {
    std::set<int> begun;
    std::set<int> scheduled;
    int64_t since = 0;
    for (const auto& [rank, own] : group.ranks) {
      const FlightCall* const call = call_at(*own, stuck.seq);
      if (call == nullptr || over(*call)) continue;
      (call->state == FlightState::kStarted ? begun : scheduled).insert(rank);
      since = std::max(since, call->called_ns);
    }
    FlightIssue issue;
    // Only if PyTorch records a GPU's start (TORCH_NCCL_ENABLE_TIMING).
    if (!begun.empty() && !scheduled.empty() &&
        scheduled.size() < begun.size()) {
      issue.text = "PyTorch: " + ranks_text(scheduled) +
                   (scheduled.size() == 1 ? " has" : " have") + " called " +
                   numbered(stuck) + " of " + group_text(*group.any) +
                   at_place(stuck.place) +
                   ", but not begun it on the GPU, as " +
                   others_text(begun.size()) + " did";
      issue.odd = scheduled;
      issue.waits = true;
    } else {
      const size_t count = begun.size() + scheduled.size();
      issue.text = "PyTorch: " + std::to_string(count) +
                   (count == 1 ? " rank is" : " ranks are") + " in " +
                   numbered(stuck) + " of " + group_text(*group.any) +
                   at_place(stuck.place) +
                   (since > 0 ? " since " + clock_text(since) : "") +
                   (silent_.empty() ? ", and none is behind" : "");
    }
    issues_.push_back(std::move(issue));
  }

  std::map<int, const FlightRecord*> told_;
  std::set<int> waiting_;  // in any group
  std::set<int> silent_;   // members of a stuck group without a record
  std::vector<std::string> problems_;
  std::vector<FlightIssue> issues_;
};

}  // namespace

std::vector<FlightIssue> flight_issues(
    const std::vector<FlightRecord>& records) {
  return Report(records).issues();
}

}  // namespace muster
