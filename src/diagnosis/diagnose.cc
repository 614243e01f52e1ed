// SPDX-License-Identifier: Apache-2.0
// From the first cause to the verdict: exit code, sentences, evidence,
// remedies, and the other failures.
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <csignal>
#include <map>

#include "base/text.h"
#include "diagnosis/book/text_template.h"
#include "diagnosis/book/xid_book.h"
#include "diagnosis/cause/before_stop.h"
#include "diagnosis/cause/candidate.h"
#include "diagnosis/cause/missing_peers.h"
#include "diagnosis/cause/repeats.h"
#include "diagnosis/cause/told_exit_code.h"
#include "diagnosis/cause/xid_facts.h"
#include "diagnosis/exit_status.h"
#include "diagnosis/strain.h"
#include "diagnosis/who.h"
#include "job/exit_codes.h"
#include "job/kubectl.h"

namespace muster {

namespace {

constexpr size_t kMaxEvidence = 6;
constexpr size_t kMaxRemedies = 3;
constexpr size_t kMaxAlso = 4;
constexpr size_t kMaxText = 400;

std::string cut(std::string_view text) {
  if (text.size() <= kMaxText) return std::string(text);
  return std::string(utf8_prefix(text, kMaxText - 3)) + "…";
}

// Advice that only helps where Kubernetes runs the job.
bool speaks_of_kubernetes(std::string_view text) {
  constexpr std::array<std::string_view, 9> kWords = {
      "kube", "Kubernetes", "NetworkPolicy", "PriorityClass", " pod",
      "Pod",  "resources.", "runAsUser",     "emptyDir"};
  return std::any_of(kWords.begin(), kWords.end(), [text](auto word) {
    return text.find(word) != text.npos;
  });
}

// "pi-worker-0", as operators name a job's pods.
bool is_pod_of_job(std::string_view host) {
  host = host.substr(0, host.find('.'));
  constexpr std::array<std::string_view, 3> kRoles = {"-worker-", "-launcher",
                                                      "-master-"};
  return std::any_of(kRoles.begin(), kRoles.end(), [host](auto role) {
    return host.find(role) != host.npos;
  });
}

class Judge {
 public:
  Judge(const Evidence& evidence, const RuleBook& rules)
      : evidence_(evidence), rules_(rules) {}

  Verdict judge() {
    if (!evidence_.job.bare_log) status_ = exit_status(evidence_);
    std::vector<Candidate> candidates = fact_candidates(evidence_, rules_);
    // No line counts against it. Most jobs end so: reading lines would first
    // mean to compile every pattern, a tenth of a second.
    if (!evidence_.job.bare_log && status_.success()) {
      return simple("no_failure", Confidence::kProven);
    }
    if (status_.exit_class == ExitClass::kWorkerLost &&
        launcher_stalled(evidence_)) {
      return stalled(std::move(candidates));
    }
    if (!evidence_.job.no_log.empty()) {
      return simple("unknown", Confidence::kPossible);
    }
    LineScan scan = this->scan(false);
    facts_ = std::move(scan.facts);
    if (evidence_.job.bare_log && scan.ended_well) {
      return simple("no_failure", Confidence::kProven);
    }
    const std::vector<Candidate> known = candidates;
    append(candidates, std::move(scan.candidates));
    add_guesses(evidence_, rules_, std::move(scan.tails), candidates);
    auto winner = first_cause(evidence_, std::move(candidates), others_);
    if (winner && winner->rule->role == CauseRole::kConsequence) {
      look_among_stopped(known, *winner);
    }
    if (!winner) {
      values_["ends_at"] = unfinished_work(facts_);
      const bool shows_none =
          evidence_.job.bare_log && values_["ends_at"].empty();
      return simple(shows_none ? "no_failure" : "unknown",
                    Confidence::kPossible);
    }
    Verdict verdict = about(*winner);
    if (winner->rule->role == CauseRole::kControl) {
      const size_t room = kMaxAlso - std::min(kMaxAlso, verdict.also.size());
      for (AlsoSeen& one : words_before_stop(evidence_, rules_, room)) {
        verdict.also.push_back(std::move(one));
      }
    }
    return verdict;
  }

 private:
  // In a launch of ours, facts say who ended the job; the output of ranks and
  // mpirun does not.
  LineScan scan(bool stopped) const {
    LineScan scan = scan_lines(evidence_, rules_, stopped);
    if (!evidence_.job.bare_log) {
      std::erase_if(scan.candidates, [](const Candidate& candidate) {
        return candidate.rule->role == CauseRole::kControl;
      });
    }
    return scan;
  }

  // The output and exits of ranks whose worker ends them are not a cause.
  Verdict stalled(std::vector<Candidate> candidates) {
    const Rule* const rule = rules_.find("launcher_stalled");
    std::erase_if(candidates, [rule](const Candidate& candidate) {
      return candidate.rule != rule;
    });
    auto winner = first_cause(evidence_, std::move(candidates), others_);
    return winner ? about(*winner)
                  : simple("launcher_stalled", Confidence::kLikely);
  }

  // All ranks that left by themselves missed a peer. It may have failed first
  // and yet not have left when the job was stopped: in Horovod's shutdown the
  // rank that raised waits for those that miss it.
  void look_among_stopped(std::vector<Candidate> candidates,
                          Candidate& winner) {
    if (evidence_.job.stop_ns <= 0) return;
    LineScan scan = this->scan(true);
    append(candidates, std::move(scan.candidates));
    std::vector<Candidate> others;
    auto found = first_cause(evidence_, std::move(candidates), others);
    if (!found || found->maybe || found->death ||
        (found->rule->role != CauseRole::kCause &&
         found->rule->role != CauseRole::kGeneric)) {
      return;
    }
    winner = std::move(*found);
    others_ = std::move(others);
  }

  Verdict simple(std::string_view code, Confidence confidence) {
    Candidate candidate;
    candidate.rule = rules_.find(code);
    candidate.confidence = evidence_.job.bare_log
                               ? std::min(confidence, Confidence::kLikely)
                               : confidence;
    if (candidate.rule == nullptr) return {};
    return about(candidate);
  }

  Verdict about(const Candidate& winner) {
    winner_ = &winner;
    verdict_.code = winner.rule->code;
    verdict_.confidence = winner.confidence;
    verdict_.first_rank = winner.rank;
    verdict_.host = winner.host;
    count_equals();
    name_missing();
    fill_values();
    choose_exit_code();
    write_sentences();
    write_evidence();
    write_also();
    return std::move(verdict_);
  }

  // The missing ranks need attention, not those that waited.
  void name_missing() {
    const std::vector<int> missing = missing_peers(evidence_, *winner_);
    if (missing.empty()) return;
    everyone_ = false;
    values_["absent"] = missing_text(missing);
    verdict_.first_rank = missing.size() == 1 ? missing.front() : -1;
    const RankEvidence* const rank = find_rank(evidence_, verdict_.first_rank);
    verdict_.host = rank == nullptr ? std::string() : rank->host;
    if (rank != nullptr) values_["absent_line"] = cut(last_words(rank->lines));
  }

  // The last line before the cause that tells neither it nor an end.
  std::string last_words(const std::vector<LineEvidence>& lines) const {
    for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
      if (line->time_ns >= winner_->time_ns) continue;
      const std::string_view text = trim(line->text);
      const LineMeaning meaning = rules_.read(text);
      const bool tells = std::any_of(
          meaning.matches.begin(), meaning.matches.end(), [&](const auto& one) {
            return one.kind == PatternKind::kDeath || one.rule == winner_->rule;
          });
      const bool empty = text.find_first_not_of("-=* ") == text.npos;
      if (!tells && !meaning.ignored && !empty) return std::string(text);
    }
    return {};
  }

  // Where the job of a log ran, for advice that fits there.
  void set_scene() {
    const JobEvidence& job = evidence_.job;
    if (!job.bare_log) return;
    if (!job.no_log.empty()) values_["not_log"] = "yes";
    const bool pods =
        facts_.contains("kubernetes") ||
        winner_->rule->code == "pod_not_started" ||
        is_pod_of_job(winner_->host) ||
        std::any_of(evidence_.ranks.begin(), evidence_.ranks.end(),
                    [](const auto& rank) { return is_pod_of_job(rank.host); });
    if (pods) {
      values_.erase("slurm");
    } else {
      values_["bare"] = "yes";
    }
    const RankEvidence* const rank = find_rank(evidence_, winner_->rank);
    const bool tagged = rank != nullptr && !rank->lines.empty();
    values_["last_line"] =
        cut(last_words(tagged ? rank->lines : job.tool_lines));
  }

  void count_equals() {
    int equals = 0;
    bool one_host = true;
    for (const Candidate& other : others_) {
      // The job as a whole, and mpirun, are not a further rank.
      const bool counts =
          winner_->rank < 0 || (other.rank >= 0 && other.rank != winner_->rank);
      if (other.rule != winner_->rule || !counts) continue;
      ++equals;
      one_host &= other.host == winner_->host;
    }
    verdict_.equal_failures = verdict_.failed() ? equals + 1 : 0;
    const int world = evidence_.job.world_size;
    everyone_ = winner_->rank >= 0 && equals > 0 && equals + 1 == world;
    if (everyone_) {  // image, configuration or data: no single culprit
      verdict_.first_rank = -1;
      if (!one_host) verdict_.host.clear();
    }
  }

  void fill_values() {
    const JobEvidence& job = evidence_.job;
    values_.merge(
        node_values(find_node(evidence_, winner_->node, winner_->host)));
    for (const auto& [name, value] : facts_) values_[name] = value;
    set_scene();
    if (!job.bare_log) values_["all_seen"] = "yes";
    if (!job.no_log.empty()) values_["no_log"] = job.no_log;
    if (!job.progress.empty()) values_["progress"] = job.progress;
    const std::string batch = batch_of(job.argv);
    if (!batch.empty()) values_["batch"] = batch;
    if (const auto number = parse_integer(values_["batch"]);
        number && *number > 1) {
      values_["batch_half"] = std::to_string(*number / 2);
    }
    if (job.world_size > 0) {
      values_["world_size"] = std::to_string(job.world_size);
    }
    duration("time_limit", job.time_limit_ms);
    duration("start_deadline", job.start_deadline_ms);
    duration("connect_deadline", job.connect_deadline_ms);
    values_["who"] = everyone_
                         ? "All " + std::to_string(job.world_size) + " ranks"
                         : who(winner_->rank, winner_->host);
    values_["worker"] =
        everyone_ ? values_["who"] : worker_of(winner_->rank, winner_->host);
    if (everyone_) values_[kMany] = "yes";
    if (winner_->rank >= 0) values_["rank"] = std::to_string(winner_->rank);
    if (!winner_->host.empty()) {
      values_["host"] = winner_->host;
      values_["target"] = winner_->host;
    }
    fill_commands();
    values_["line"] = cut(winner_->line);
    values_["file_line"] = place_of_exception(evidence_, *winner_);
    if (winner_->rule->code == "permission_denied" &&
        opens_to_read(evidence_, *winner_)) {
      values_["reads"] = "yes";
    }
    waiting_ranks();
    told_by_driver();
    for (const auto& [name, value] : winner_->values) {
      if (!value.empty()) values_[name] = cut(value);
    }
    explain_xid();
  }

  // The driver's errors for the rank's GPU near its end; the worst of them, if
  // the rank's own lines are the cause.
  void told_by_driver() {
    const RankEvidence* const rank = find_rank(evidence_, winner_->rank);
    if (rank == nullptr) return;
    const NodeEvidence* const node =
        find_node(evidence_, rank->node, rank->host);
    if (node == nullptr) return;
    for (const XidEvidence* xid : xids_of(evidence_, *rank)) {
      driver_says_.push_back(xid_sentence(evidence_, *node, *xid, rank));
      if (driver_says_.size() > 1) continue;
      if (!winner_->fact) values_["driver"] = driver_says_.front();
      values_["xid"] = std::to_string(xid->xid);
    }
  }

  // The meaning of an Xid and the remedy, from its number alone.
  void explain_xid() {
    const auto number = parse_integer(values_["xid"]);
    if (!number) return;
    const XidMeaning* const xid = find_xid(static_cast<int>(*number));
    if (xid == nullptr) return;
    values_["xid_means"] = xid_text(xid->number);
    if (xid->fault == XidFault::kEither) values_["xid_of_either"] = "yes";
    if (!xid->leave_out) values_["gpu_works_on"] = "yes";
  }

  // Lines of kubectl that run where they are pasted.
  void fill_commands() {
    const std::string& own = evidence_.job.name_space;
    const std::string& host = winner_->host;
    values_["namespace"] = namespace_of(host, own);
    if (!host.empty()) {
      values_["describe_pod"] = describe_pod(host, own);
      values_["logs_of_pod"] = logs_of_pod(host, own);
      values_["node_of_pod"] = node_of_pod(host, own);
      values_["exec_in_pod"] = exec_in_pod(host, own);
    }
    const NodeEvidence* const launcher = find_node(evidence_, 0, {});
    if (!own.empty() && launcher != nullptr && !launcher->host.empty()) {
      values_["launcher_logs"] = logs_of_pod(launcher->host, own);
    }
  }

  void duration(const std::string& name, int64_t milliseconds) {
    if (milliseconds <= 0) return;
    values_[name] = human_duration_ms(milliseconds);
    values_[name + "_doubled"] =
        std::to_string((2 * milliseconds + 999) / 1000) + "s";
  }

  void waiting_ranks() {
    std::vector<std::string> ranks;
    for (const RankEvidence& rank : evidence_.ranks) {
      if (rank.mpi_attached || rank.outcome == RankOutcome::kExited) continue;
      ranks.push_back(std::to_string(rank.rank));
    }
    if (ranks.empty()) return;
    const size_t count = ranks.size();
    ranks.resize(std::min<size_t>(count, 8));
    values_["waiting"] = (count == 1 ? "rank " : "ranks ") + join(ranks, ", ") +
                         (count > 8 ? " and more" : "");
  }

  // If mpirun refused to start ranks, its own message may say that the line is
  // wrong or the program missing. That is never worth a retry.
  ExitStatus of_launch() const {
    const bool tools_own =
        !winner_->fact && (winner_->rank < 0 || winner_->relayed);
    const auto told = exit_class_by_name(winner_->rule->exit_class);
    const bool permanent =
        told == ExitClass::kUsage || told == ExitClass::kConfiguration ||
        told == ExitClass::kNotFound || told == ExitClass::kNotExecutable;
    if (!status_.start_refused || !tools_own || !permanent) return status_;
    return told == ExitClass::kNotFound && evidence_.job.not_executable
               ? exit_status_of(ExitClass::kNotExecutable)
               : exit_status_of(*told);
  }

  // Facts decide. A bare log has only its lines.
  void choose_exit_code() {
    const ExitStatus status =
        !verdict_.failed()       ? exit_status_of(ExitClass::kSuccess)
        : evidence_.job.bare_log ? told_exit_status(*winner_)
                                 : of_launch();
    verdict_.exit_class =
        status.exit_class ? exit_class_name(*status.exit_class) : "rank_failed";
    verdict_.exit_code = status.code;
    verdict_.retryable = status.exit_class && is_retryable(*status.exit_class);
  }

  static bool failed_by_itself(const RankEvidence* rank) {
    return rank != nullptr && rank->outcome == RankOutcome::kExited &&
           rank->wait_status != 0 && !rank->stopped_by_us;
  }

  void write_sentences() {
    const Rule& rule = *winner_->rule;
    auto headline = fill_template(rule.headline, values_);
    if (!headline) headline = values_["who"] + ": " + rule.title;
    if (winner_->guess) {
      headline = values_["who"] + " wrote an error that may mean that " +
                 rule.title + ": " + values_["line"];
    }
    verdict_.headline = cut(*headline);
    if (!everyone_ && verdict_.headline.starts_with("Worker-")) {
      verdict_.headline += who_exactly(winner_->rank, winner_->host);
    }
    auto cause = fill_template(rule.cause, values_);
    if (cause && !cause->empty()) verdict_.cause = cut(*cause);
    if (verdict_.cause == verdict_.headline) verdict_.cause.clear();
    for (const std::string& remedy : rule.remedies) {
      if (verdict_.remedies.size() == kMaxRemedies) break;
      auto filled = fill_template(remedy, values_);
      const bool fits =
          filled && !filled->empty() &&
          !(values_.contains("bare") && speaks_of_kubernetes(*filled));
      if (fits) verdict_.remedies.push_back(cut(*filled));
    }
  }

  void add_evidence(std::string text) {
    if (text.empty() || verdict_.evidence.size() == kMaxEvidence) return;
    text = cut(text);
    const auto says_it = [&text](const std::string& said) {
      return said.starts_with(text) &&
             (said.size() == text.size() ||
              std::isalnum(static_cast<unsigned char>(said[text.size()])) == 0);
    };
    if (std::none_of(verdict_.evidence.begin(), verdict_.evidence.end(),
                     says_it)) {
      verdict_.evidence.push_back(std::move(text));
    }
  }

  // A fact that the sentence above may have stated.
  void add_state(const std::string& text) {
    if (text != verdict_.cause) add_evidence(text);
  }

  // "The mapping request contains an unrecognized modifier:", and which.
  std::string line_behind(const RankEvidence* rank) const {
    const auto& lines = rank != nullptr && !rank->lines.empty()
                            ? rank->lines
                            : evidence_.job.tool_lines;
    for (const LineEvidence& line : lines) {
      if (line.time_ns > winner_->time_ns) return std::string(trim(line.text));
    }
    return {};
  }

  // "cannot open the file", and which in the line below.
  bool path_follows(const RankEvidence* rank) {
    const std::string& code = verdict_.code;
    const bool of_file = code == "permission_denied" ||
                         code == "data_missing" || code == "fs_unwritable" ||
                         code == "checkpoint_corrupt";
    if (!of_file || winner_->fact || !values_["path"].empty() ||
        winner_->line.find('/') != std::string::npos) {
      return false;
    }
    return holds_path(line_behind(rank));
  }

  void write_evidence() {
    const RankEvidence* const rank = find_rank(evidence_, winner_->rank);
    if (!winner_->line.empty()) {
      add_evidence(winner_->fact || winner_->relayed || rank == nullptr
                       ? winner_->line
                       : "rank " + std::to_string(winner_->rank) +
                             " wrote: " + winner_->line);
    }
    if (winner_->line.ends_with(":") || path_follows(rank)) {
      add_evidence(line_behind(rank));
    }
    write_collectives();
    for (const std::string& said : driver_says_) add_state(cut(said));
    if (failed_by_itself(rank)) {
      add_evidence("rank " + std::to_string(rank->rank) +
                   (rank->host.empty() ? "" : " on " + rank->host) + " " +
                   (WIFSIGNALED(rank->wait_status) ? "was " : "") +
                   describe_wait_status(rank->wait_status));
    }
    if (verdict_.failed() && winner_->fact && rank != nullptr &&
        !rank->lines.empty()) {
      add_evidence("its last line: " +
                   std::string(trim(rank->lines.back().text)));
    }
    if (verdict_.failed()) write_state_of_node();
    for (const StrainKind kind : winner_->rule->shows) {
      add_evidence(strain_text(evidence_.nodes, kind));
    }
  }

  void write_state_of_node() {
    const std::string& code = verdict_.code;
    if (code == "host_oom_kill" || code == "sigkill_unexplained" ||
        code == "daemon_lost") {
      add_state(values_["memory_state"]);
    }
    if (code == "shm_full") add_state(values_["shm_state"]);
    add_state(values_["disk_state"]);
  }

  void write_collectives() {
    constexpr size_t kMost = 2;
    if (verdict_.code != "nccl_timeout" &&
        verdict_.code != "collective_mismatch") {
      return;
    }
    size_t told = 0;
    for (const CollectiveEvidence& one : evidence_.collectives) {
      if (told++ < kMost) add_evidence(one.text);
    }
  }

  void write_also() {
    std::map<std::string, std::pair<const Candidate*, int>> counted;
    for (const Candidate& other : others_) {
      // The end of the job as a whole adds nothing to its reason, nor does the
      // end of a rank where no rank could start, nor mpirun's repetition.
      const bool whole = other.rank < 0 || other.rank == winner_->rank ||
                         (winner_->rule->phase == "spawn" &&
                          other.rule->code == "exit_nonzero_silent");
      const bool again = other.rule == winner_->rule && other.rank < 0 &&
                         winner_->relayed && !evidence_.job.bare_log;
      if ((other.death && whole) || again) continue;
      auto& entry = counted[other.rule->code];
      if (entry.first == nullptr) entry.first = &other;
      ++entry.second;
    }
    for (const auto& [code, entry] : counted) {
      if (verdict_.also.size() == kMaxAlso) break;
      const auto& [candidate, count] = entry;
      if (code == verdict_.code) {
        if (!everyone_) {
          verdict_.also.push_back(
              {code, "the same on " + std::to_string(count) + " more"});
        }
        continue;
      }
      std::string text = candidate->rule->title;
      if (candidate->rank >= 0 || !candidate->host.empty()) {
        text += ": " + who(candidate->rank, candidate->host);
      }
      if (count > 1) text += " and " + std::to_string(count - 1) + " more";
      verdict_.also.push_back({code, text});
    }
  }

  const Evidence& evidence_;
  const RuleBook& rules_;
  Captures facts_;
  Captures values_;
  std::vector<std::string> driver_says_;
  std::vector<Candidate> others_;
  ExitStatus status_;  // of a launch; a bare log tells its own
  const Candidate* winner_ = nullptr;
  bool everyone_ = false;
  Verdict verdict_;
};

}  // namespace

Verdict diagnose(const Evidence& evidence, const RuleBook& rules) {
  return Judge(evidence, rules).judge();
}

Verdict diagnose(const Evidence& evidence) {
  return diagnose(evidence, RuleBook::built_in());
}

}  // namespace muster
