// SPDX-License-Identifier: Apache-2.0
#include "launcher/hang/flight_report.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/json_text.h"
#include "logs/line_folder.h"

namespace muster {

namespace {

using wire::FlightCall;
using wire::FlightGroup;
using wire::FlightRecord;
using wire::FlightState;

constexpr int64_t kSameTimeNs = 120'000'000'000;

bool over(const FlightCall& call) {
  return call.state == FlightState::kCompleted;
}

// A group with what each of its ranks recorded of it.
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

std::string at_place(const FlightCall& call) {
  return call.place.empty() ? "" : " at " + call.place;
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

// What ranks must agree in; the first part is the operation.
using Kind = std::tuple<std::string, std::string, int64_t>;

Kind kind_of(const FlightCall& call) {
  if (!same_size_everywhere(call.operation)) return {call.operation, "", -1};
  return {call.operation, call.type, call.elements};
}

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
    // Who waits in another group is a victim there, and no cause here.
    const auto weight = [this](const FlightIssue& issue) {
      if (issue.odd.empty()) return 3;
      const bool free =
          std::none_of(issue.odd.begin(), issue.odd.end(),
                       [this](int rank) { return waiting_.count(rank) > 0; });
      return !issue.waits ? 0 : free ? 1 : 2;
    };
    std::stable_sort(issues_.begin(), issues_.end(),
                     [&weight](const auto& a, const auto& b) {
                       return weight(a) < weight(b);
                     });
    if (!silent_.empty()) {
      issues_.push_back(
          {"PyTorch: no record of " + ranks_text(silent_), {}, false});
    }
    for (const std::string& problem : problems_) {
      issues_.push_back({"PyTorch: " + problem, {}, false});
    }
    return std::move(issues_);
  }

 private:
  void look_at(const Group& group) {
    const FlightCall* stuck = nullptr;  // the first that somebody is in
    for (const auto& [rank, own] : group.ranks) {
      const FlightCall* const open = first_open(*own);
      if (open != nullptr && (stuck == nullptr || open->seq < stuck->seq)) {
        stuck = open;
      }
    }
    if (stuck == nullptr) return;
    for (const int rank : group.members) {
      if (told_.count(rank) == 0) silent_.insert(rank);
    }
    if (differ(group, stuck->seq)) return;
    if (lag(group, *stuck)) return;
    all_in(group, *stuck);
  }

  // The first call up to `last` in which the ranks do not agree.
  bool differ(const Group& group, int64_t last) {
    std::map<int64_t, std::map<Kind, std::set<int>>> seen;
    for (const auto& [rank, own] : group.ranks) {
      for (const FlightCall& call : own->calls) {
        if (call.seq <= last) seen[call.seq][kind_of(call)].insert(rank);
      }
    }
    for (const auto& [seq, kinds] : seen) {
      if (kinds.size() > 1) {
        tell_difference(group, seq, kinds);
        return true;
      }
    }
    return false;
  }

  void tell_difference(const Group& group, int64_t seq,
                       const std::map<Kind, std::set<int>>& kinds) {
    const auto fewer = [](const auto& a, const auto& b) {
      return a.second.size() < b.second.size();
    };
    const auto few = std::min_element(kinds.begin(), kinds.end(), fewer);
    const auto many = std::max_element(kinds.rbegin(), kinds.rend(), fewer);
    const FlightCall& odd =
        *call_at(*group.ranks.at(*few->second.begin()), seq);
    const FlightCall& most =
        *call_at(*group.ranks.at(*many->second.begin()), seq);
    const bool names = odd.operation != most.operation;
    FlightIssue issue;
    issue.text = "PyTorch: " + ranks_text(few->second) +
                 (few->second.size() == 1 ? " calls " : " call ") +
                 numbered(odd) + " of " + group_text(*group.any) +
                 (names ? "" : " with " + odd.type + " " + odd.shape) +
                 at_place(odd) + ", " +
                 (kinds.size() > 2 ? ranks_text(many->second)
                                   : others_text(many->second.size())) +
                 (names ? " " + most.operation
                        : " with " + most.type + " " + most.shape) +
                 at_place(most);
    if (few->second.size() < many->second.size()) issue.odd = few->second;
    issues_.push_back(std::move(issue));
  }

  // Who has not entered the call in which others are.
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
      issue.text +=
          last == nullptr
              ? "; nothing is recorded of what it called there"
              : "; its last call was " + numbered(*last) + at_place(*last);
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
    return at_place(stuck) + "; " + std::to_string(count) +
           (count == 1 ? " other waits in it" : " others wait in it") +
           (since > 0 ? " since " + clock_text(since) : "");
  }

  // Everybody has entered it: what holds it up is below the program.
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
    // Where a GPU's start is recorded at all (TORCH_NCCL_ENABLE_TIMING).
    if (!begun.empty() && !scheduled.empty() &&
        scheduled.size() < begun.size()) {
      issue.text = "PyTorch: " + ranks_text(scheduled) +
                   (scheduled.size() == 1 ? " has" : " have") + " called " +
                   numbered(stuck) + " of " + group_text(*group.any) +
                   at_place(stuck) + ", but not begun it on the GPU, as " +
                   others_text(begun.size()) + " did";
      issue.odd = scheduled;
      issue.waits = true;
    } else {
      const size_t count = begun.size() + scheduled.size();
      issue.text = "PyTorch: " + std::to_string(count) +
                   (count == 1 ? " rank is" : " ranks are") + " in " +
                   numbered(stuck) + " of " + group_text(*group.any) +
                   at_place(stuck) +
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
