// SPDX-License-Identifier: Apache-2.0
// From lines to candidates. Drops failures that the program survived: a
// candidate that the same writer follows up with progress, unless a launcher
// says that a process ended badly later on.
#include <algorithm>
#include <cstdint>
#include <set>

#include "base/text.h"
#include "diagnosis/cause/advice.h"
#include "diagnosis/cause/candidate.h"
#include "diagnosis/cause/outlived.h"
#include "diagnosis/cause/relayed_ends.h"
#include "diagnosis/cause/repeats.h"
#include "diagnosis/cause/survived_setup.h"
#include "diagnosis/cause/unknown_tail.h"
#include "diagnosis/cause/went_on.h"
#include "diagnosis/log/spawned_child.h"
#include "logs/level.h"

namespace muster {

namespace {

constexpr int64_t kLongAgo = INT64_MIN / 2;

struct Owner {
  const std::vector<LineEvidence>* lines = nullptr;
  const RankEvidence* rank = nullptr;  // null: mpirun, a script, an unknown
};

Confidence confidence_of(PatternKind kind) {
  switch (kind) {
    case PatternKind::kProven:
      return Confidence::kProven;
    case PatternKind::kMaybe:
      return Confidence::kPossible;
    case PatternKind::kMatch:
    case PatternKind::kDeath:
    case PatternKind::kScript:
    case PatternKind::kSetup:
      return Confidence::kLikely;
  }
  return Confidence::kPossible;
}

bool is_address(std::string_view host) {
  return host.find_first_not_of("0123456789.") == std::string_view::npos;
}

// "root@node-3", "[node-3.x]:2222": how ssh names a host.
std::string host_of_target(std::string_view target) {
  const size_t user = target.rfind('@');
  if (user != std::string_view::npos) target.remove_prefix(user + 1);
  const size_t close = target.find(']');
  if (target.starts_with('[') && close != std::string_view::npos) {
    target = target.substr(1, close - 1);
  }
  return std::string(target);
}

Candidate make_candidate(const Evidence& evidence, const Owner& owner,
                         const LineEvidence& line, size_t order,
                         LineMatch match) {
  Candidate candidate;
  candidate.rule = match.rule;
  candidate.confidence = confidence_of(match.kind);
  candidate.maybe = match.kind == PatternKind::kMaybe;
  // A bus error may mean a full /dev/shm; it is an end in any case.
  candidate.death = match.kind == PatternKind::kDeath ||
                    (candidate.maybe && match.rule->code == "shm_full");
  candidate.setup = match.kind == PatternKind::kSetup;
  candidate.script = match.kind == PatternKind::kScript || candidate.setup;
  candidate.time_ns = line.time_ns;
  candidate.order = order;
  candidate.line = trim(line.text);
  candidate.values = std::move(match.captures);
  if (owner.rank != nullptr) {
    candidate.rank = owner.rank->rank;
    candidate.node = owner.rank->node;
    candidate.host = owner.rank->host;
  }
  const auto told = candidate.values.find("rank");
  if (candidate.rank < 0 && told != candidate.values.end()) {
    candidate.rank = rank_number(told->second);
    candidate.relayed = candidate.rank >= 0;
    if (const RankEvidence* rank = find_rank(evidence, candidate.rank)) {
      candidate.node = rank->node;
      candidate.host = rank->host;
    }
  }
  const auto host = candidate.values.find("host");
  if (candidate.host.empty() && host != candidate.values.end()) {
    candidate.host = host->second;
  }
  // The unreachable host says more than the host that could not reach it.
  const auto target = candidate.values.find("target");
  if (target != candidate.values.end()) {
    target->second = host_of_target(target->second);
  }
  if (evidence.job.bare_log && candidate.rank < 0 &&
      candidate.rule->phase == "connect" && target != candidate.values.end()) {
    const bool named = !line.host.empty() && is_address(target->second);
    candidate.host = named ? line.host : target->second;
  }
  if (candidate.host.empty()) candidate.host = line.host;
  candidate.values.erase("rank");
  candidate.values.erase("host");
  return candidate;
}

class Scanner {
 public:
  Scanner(const Evidence& evidence, const RuleBook& rules)
      : evidence_(evidence), rules_(rules) {}

  void scan(const Owner& owner) {
    Reading reading{owner};
    for (const LineEvidence& line : *owner.lines) {
      ++reading.order;
      read(line, reading);
    }
    std::vector<Candidate>& found = reading.found;
    if (evidence_.job.bare_log) drop_launchers_traceback(found);
    drop_repeats(found);
    if (reading.last_success > reading.last_failure) said_success_ = true;
    tail_.take(reading.order, reading.went_on.last_for({}), scan_.tails);
    found.shrink_to_fit();
    read_.push_back({owner, started_by(reading.progress),
                     std::move(reading.went_on), std::move(found)});
  }

  LineScan take() {
    size_t count = 0;
    for (const Read& one : read_) count += one.found.size();
    scan_.candidates.reserve(count);
    for (Read& one : read_) {
      drop_survived(one);
      drop_started(one);
      std::move(one.found.begin(), one.found.end(),
                std::back_inserter(scan_.candidates));
      one.found = {};
    }
    read_.clear();
    const bool parted = evidence_.job.bare_log && drop_parting();
    scan_.ended_well = (said_success_ && !scan_.saw_death) || parted ||
                       well_ns_ > trouble_ns_ || worked_on() ||
                       outlived_.ended_well(success_ns_, trouble_ns_);
    if (evidence_.job.bare_log) {
      drop_teardown(scan_.candidates);
      outlived_.drop(scan_.candidates);
    }
    setup_.drop(scan_.candidates);
    blame_lost_directory();
    return std::move(scan_);
  }

 private:
  // The lines of one writer, while they are read.
  struct Reading {
    const Owner& owner;
    size_t order = 0;  // of the line in hand
    size_t last_success = 0;
    size_t last_failure = 0;
    SpawnedChild child = {};
    std::vector<size_t> progress = {};  // orders
    WentOn went_on = {};
    std::vector<Candidate> found = {};
  };
  // The remaining ones, until all are read.
  struct Read {
    Owner owner;
    size_t started = 0;  // the order of the line by which it had
    WentOn went_on;
    std::vector<Candidate> found;
  };

  void read(const LineEvidence& line, Reading& reading) {
    LineMeaning meaning = rules_.read(line.text);
    note_death(meaning);
    outlived_.record(meaning.facts, line);
    if (meaning.facts.contains("goes_on")) {
      Outlived::drop_excused(line.time_ns, reading.found);
    }
    if (meaning.facts.contains("all_done")) {
      done_ns_ = std::max(done_ns_, line.time_ns);
    }
    for (auto& [name, value] : meaning.facts) {
      scan_.facts[name] = value;
      const bool epoch = name == "progress" && (value[0] | 0x20) == 'e';
      if (epoch) scan_.facts["epoch"] = value;
    }
    if (meaning.ignored) return;
    if (meaning.progress && reading.owner.rank != nullptr) {
      outlived_.record_progress(line.time_ns);
    }
    if (names_only(line.text)) {
      std::erase_if(meaning.matches, [](const LineMatch& match) {
        return match.kind != PatternKind::kDeath &&
               match.kind != PatternKind::kProven;
      });
      const bool tells = meaning.progress || meaning.success;
      if (meaning.matches.empty() && !tells) return;
    }
    if (is_news(line.text)) doubt(meaning.matches);
    if (reading.child.lost_parent(line.text)) blame_parent(meaning.matches);
    record_setup(line, meaning, reading.owner);
    if (meaning.matches.empty()) return read_harmless(line, meaning, reading);
    reading.last_failure = reading.order;
    if (drop_exception_about_end(meaning.matches)) {
      drop_traceback(reading.found);
    }
    name_signals(rules_, meaning.matches);
    for (LineMatch& match : meaning.matches) {
      Candidate candidate = make_candidate(evidence_, reading.owner, line,
                                           reading.order, std::move(match));
      scan_.saw_death |= candidate.death;
      if (is_trouble(candidate)) {
        trouble_ns_ = std::max(trouble_ns_, candidate.time_ns);
      }
      reading.found.push_back(std::move(candidate));
    }
  }

  // Progress and success speak twice for a shell that went on.
  void record_setup(const LineEvidence& line, const LineMeaning& meaning,
                    const Owner& owner) {
    const bool ends =
        std::any_of(meaning.matches.begin(), meaning.matches.end(),
                    [](const LineMatch& match) {
                      return match.kind == PatternKind::kDeath ||
                             match.kind == PatternKind::kSetup;
                    });
    if (ends) return;
    const int rank = owner.rank == nullptr ? -1 : owner.rank->rank;
    setup_.record(rank, line);
    if (meaning.progress || meaning.success) setup_.record(rank, line);
  }

  void read_harmless(const LineEvidence& line, const LineMeaning& meaning,
                     Reading& reading) {
    const size_t order = reading.order;
    if (meaning.progress) reading.progress.push_back(order);
    if (meaning.progress || meaning.success) {
      good_ns_.insert(line.time_ns);
      if (good_ns_.size() > kMuchWork) good_ns_.erase(good_ns_.begin());
    }
    if (meaning.success) {
      reading.last_success = order;
      success_ns_ = std::max(success_ns_, line.time_ns);
    }
    if (meaning.well) well_ns_ = std::max(well_ns_, line.time_ns);
    if (meaning.success || meaning.progress) {
      reading.went_on.record(line, order);
    } else {
      keep_tail(reading.owner, line, order);
    }
  }

  // A step of the job's script failed early, and hundreds of good lines and a
  // success came behind all trouble.
  [[nodiscard]] bool worked_on() const {
    return success_ns_ > trouble_ns_ && good_ns_.size() == kMuchWork &&
           *good_ns_.begin() > trouble_ns_;
  }

  // A sidecar, or a deleted pod, gets a SIGTERM when all is done.
  bool drop_parting() {
    const int64_t last = good_ns_.empty() ? kLongAgo : *good_ns_.rbegin();
    if (scan_.saw_death || done_ns_ == kLongAgo || done_ns_ < last)
      return false;
    const size_t dropped =
        std::erase_if(scan_.candidates, [this](const Candidate& one) {
          return one.rule->code == "terminated_external" &&
                 one.time_ns > done_ns_;
        });
    return dropped > 0 && trouble_ns_ < done_ns_;
  }

  // Slurm could not enter the job's directory and went to /tmp instead: a file
  // without a directory that is missing then lies where the job was to be.
  void blame_lost_directory() {
    const auto lost = scan_.facts.find("lost_directory");
    const Rule* const rule = rules_.find("workdir_missing");
    if (lost == scan_.facts.end() || rule == nullptr) return;
    for (Candidate& candidate : scan_.candidates) {
      if (candidate.rule->code != "data_missing" ||
          candidate.line.find('/') != std::string::npos) {
        continue;
      }
      candidate.rule = rule;
      candidate.confidence = Confidence::kPossible;
      candidate.values["directory"] = lost->second;
    }
  }

  // A lost peer behind a good end is how processes part.
  static bool is_trouble(const Candidate& candidate) {
    return candidate.death ||
           (!candidate.maybe && (candidate.rule->role == CauseRole::kCause ||
                                 candidate.rule->role == CauseRole::kGeneric ||
                                 candidate.rule->role == CauseRole::kControl));
  }

  // It names failures, but reports none.
  static bool names_only(std::string_view text) {
    return is_advice(text) || is_setting(text);
  }

  // The writer took it for information.
  static bool is_news(std::string_view text) {
    const auto level = detect_level(text);
    return level && *level < LogLevel::kWarn;
  }

  static void doubt(std::vector<LineMatch>& matches) {
    for (LineMatch& match : matches) {
      const bool end_if_doubted = match.rule->code == "shm_full";
      if (match.kind == PatternKind::kMatch && !end_if_doubted) {
        match.kind = PatternKind::kMaybe;
      }
    }
  }

  void blame_parent(std::vector<LineMatch>& matches) const {
    const Rule* const rule = rules_.find("peer_disconnect_only");
    if (rule != nullptr) matches = {{rule, PatternKind::kMatch, {}}};
  }

  void keep_tail(const Owner& owner, const LineEvidence& line, size_t order) {
    const Rule* const unknown = rules_.find("unknown");
    if (unknown == nullptr || !tail_.may_count(line)) return;
    tail_.add(make_candidate(evidence_, owner, line, order,
                             {unknown, PatternKind::kMaybe, {}}));
  }

  // Whether a launcher says that a process ended badly.
  void note_death(const LineMeaning& meaning) {
    if (!evidence_.job.bare_log) return;
    for (const LineMatch& match : meaning.matches) {
      death_somewhere_ |= match.kind == PatternKind::kDeath ||
                          (match.rule->code == "mpi_abort_by_user" &&
                           match.kind == PatternKind::kMatch);
    }
  }

  [[nodiscard]] bool ended_badly(const Owner& owner) const {
    if (owner.rank != nullptr && owner.rank->outcome == RankOutcome::kExited) {
      return owner.rank->wait_status != 0;
    }
    return death_somewhere_;
  }

  // After a bad end only retries, and commands of a script that went on, count
  // as over: stdout and stderr may be out of order, so that progress seems to
  // follow the last output.
  void drop_survived(Read& read) const {
    const bool bad_end = ended_badly(read.owner);
    const std::vector<LineEvidence>& lines = *read.owner.lines;
    std::erase_if(read.found, [&](const Candidate& candidate) {
      const size_t went_on =
          read.went_on.last_for(lines[candidate.order - 1].host);
      const bool retried = candidate.script ||
                           candidate.rule->phase == "connect" ||
                           candidate.rule->role == CauseRole::kConsequence;
      return candidate.order < went_on && !candidate.death &&
             candidate.confidence != Confidence::kProven &&
             (retried || !bad_end);
    });
  }

  static size_t started_by(const std::vector<size_t>& progress) {
    constexpr size_t kEnough = 3;  // not the one line that a script adds
    return progress.size() < kEnough ? 0 : progress[progress.size() - kEnough];
  }

  // A rank that makes progress has started, and can do without the modules that
  // it could not load ("No module named 'apex'").
  static void drop_started(Read& read) {
    std::vector<Candidate>& found = read.found;
    const size_t started = read.started;
    std::set<size_t> survived;  // a line may fit several classes
    for (const Candidate& candidate : found) {
      const bool loads = candidate.rule->phase == "spawn" ||
                         candidate.rule->code == "python_import_error";
      if (loads && candidate.order < started && !candidate.death) {
        survived.insert(candidate.order);
      }
    }
    std::erase_if(found, [&survived](const Candidate& candidate) {
      return survived.contains(candidate.order);
    });
  }

  const Evidence& evidence_;
  const RuleBook& rules_;
  LineScan scan_;
  std::vector<Read> read_;
  SurvivedSetup setup_;
  Outlived outlived_;
  UnknownTail tail_;
  static constexpr size_t kMuchWork = 100;
  std::multiset<int64_t> good_ns_;  // the last times that work went on
  int64_t well_ns_ = kLongAgo;      // the last time that all was well
  int64_t trouble_ns_ = kLongAgo;   // the last time that it was not
  int64_t done_ns_ = kLongAgo;      // the last time that all was over
  int64_t success_ns_ = kLongAgo;   // the last time that a process ended well
  bool said_success_ = false;
  bool death_somewhere_ = false;
};

}  // namespace

LineScan scan_lines(const Evidence& evidence, const RuleBook& rules,
                    bool stopped) {
  Scanner scanner(evidence, rules);
  for (const RankEvidence& rank : evidence.ranks) {
    if (rank.stopped_by_us && !stopped) continue;
    scanner.scan({&rank.lines, &rank});
  }
  scanner.scan({&evidence.job.tool_lines, nullptr});
  return scanner.take();
}

}  // namespace muster
