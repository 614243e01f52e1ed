// SPDX-License-Identifier: Apache-2.0
#include "launcher/hang/hang_watch.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/directory.h"
#include "base/fd.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/text.h"
#include "launcher/mpirun_words.h"
#include "logs/line_folder.h"

namespace muster {

namespace {

constexpr Milliseconds kTick{500};
constexpr Milliseconds kAnswerDeadline{10'000};
constexpr Milliseconds kFirstLook{1'000};  // at a rank, after its exception
constexpr int kMostLooks = 20;
constexpr Milliseconds kProvoked{3'000};
constexpr size_t kMaxSentences = 16;  // of NCCL's issues

std::string answer_json(const std::vector<PlacedStack>& stacks,
                        const std::vector<std::string>& nccl,
                        const std::vector<std::string>& collectives) {
  nlohmann::json ranks = nlohmann::json::array();
  for (const PlacedStack& one : stacks) {
    ranks.push_back({{"rank", one.stack.rank},
                     {"host", one.host},
                     {"pid", one.stack.pid},
                     {"program", one.stack.program},
                     {"state", one.stack.state},
                     {"threads", one.stack.threads},
                     {"frames", one.stack.frames},
                     {"problem", one.stack.problem}});
  }
  const nlohmann::json out = {{"ranks", std::move(ranks)},
                              {"nccl", nccl},
                              {"collectives", collectives}};
  return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

constexpr std::string_view kRequestPrefix = "stack-request-";

// The id of one of the requests in the launch's directory; empty: none.
std::string waiting_request(const std::string& directory) {
  for (const std::string& name : names_in(directory)) {
    if (!name.starts_with(kRequestPrefix)) continue;
    std::string id = name.substr(kRequestPrefix.size());
    if (id.find_first_not_of("0123456789abcdef") == std::string::npos) {
      return id;
    }
  }
  return {};
}

// nullptr: it does not run.
const RankRecord* record_of(const RankTable& ranks, ProcessKey key) {
  for (const RankRecord& record : ranks.records()) {
    if (record.key == key && record.state == RankState::kRunning) {
      return &record;
    }
  }
  return nullptr;
}

}  // namespace

std::string stack_request_file(const std::string& id) {
  return std::string(kRequestPrefix) + id;
}

std::string stack_answer_file(const std::string& id) {
  return "stack-" + id + ".json";
}

HangWatch::HangWatch(Loop& loop, Fleet& fleet, RankOutput& output,
                     const RankTable& ranks, HangOptions options,
                     std::function<void(Error)> hung,
                     std::function<void(const StuckRank&)> raised)
    : loop_(loop),
      fleet_(fleet),
      output_(output),
      ranks_(ranks),
      options_(std::move(options)),
      hung_(std::move(hung)),
      raised_(std::move(raised)),
      tick_(loop),
      deadline_(loop) {
  fleet_.on(
      wire::FrameType::kStackReply,
      [this](uint16_t node, const wire::Frame& frame) { reply(node, frame); });
}

void HangWatch::tick() {
  look_for_silence();
  look_for_request();
  look_for_exceptions();
  tick_.start(kTick, [this] { tick(); });
}

void HangWatch::look_for_silence() {
  if (options_.silence.count() == 0 || !waiting_.empty()) return;
  if (ranks_.count(RankState::kRunning) == 0) return;
  const Milliseconds silent = output_.silent_for();
  const bool again = silent < options_.silence;
  if (told_ && again) {
    // What our own signal made them say is no sign of life.
    if (Clock::now() - silent < told_at_ + kProvoked) return;
    told_ = false;
    log::info("the ranks put out something again");
  }
  // Held up by whoever reads us is no hang of theirs.
  if (told_ || again || output_.waiting_bytes() > 0) return;
  told_ = true;
  told_at_ = Clock::now();
  silent_ = silent;
  asker_ = Asker::kHang;
  // Some releases of NCCL crash when they are asked while communicators are
  // made (NVIDIA/nccl issues 1669 and 2346): only where the job ends anyway.
  // And PyTorch's recorders take the lock of Python to write what they have.
  ask({{},
       options_.signal,
       options_.stop ? 1 : 0,
       options_.stop ? wire::kFlightAsk : 0});
}

void HangWatch::look_for_request() {
  if (options_.directory.empty() || !waiting_.empty()) return;
  const std::string id = waiting_request(options_.directory);
  if (id.empty()) return;
  const std::string path = options_.directory + "/" + stack_request_file(id);
  const auto text = read_file(path, 1 << 20);
  static_cast<void>(::unlink(path.c_str()));
  if (!text) return;
  const auto request = wire::stack_request_from_json(*text);
  if (!request) return;
  request_id_ = id;
  asker_ = Asker::kRequest;
  ask(*request);
}

// An exception may well be one that the program has caught and told: only the
// stack says whether the program is over. The first look is for `muster status`
// and for whoever stops the job meanwhile.
void HangWatch::look_for_exceptions() {
  if (stops_) return;
  const Clock::time_point now = Clock::now();
  const Milliseconds quiet = std::min(kFirstLook, options_.after_exception);
  for (const ProcessKey key : output_.quiet_after_traceback(quiet)) {
    suspects_[key] = {now - quiet, now};
  }
  if (!waiting_.empty()) return;
  wire::StackRequest request;
  bool all = false;
  for (auto one = suspects_.begin(); one != suspects_.end();) {
    auto& [key, suspect] = *one;
    const RankRecord* record = record_of(ranks_, key);
    const auto lines = output_.last_lines(key);
    if (record == nullptr || !final_exception(lines) ||
        suspect.looks >= kMostLooks) {
      stuck_.erase(key);
      one = suspects_.erase(one);
      continue;
    }
    ++one;
    if (now < suspect.next_look) continue;
    request.ranks.push_back(record->rank);
    if (const std::string frame = first_frame(lines); !frame.empty()) {
      request.raised.push_back(std::to_string(record->rank) + " " + frame);
    }
    // To end the job, the others must be known, too.
    all = all || stuck_.count(key) > 0;
    ++suspect.looks;
    suspect.next_look = now + options_.after_exception;
    if (suspect.looks == 1 && quiet < options_.after_exception) {
      suspect.next_look -= quiet;
    }
  }
  if (request.ranks.empty()) return;
  if (all) request.ranks.clear();
  asker_ = Asker::kException;
  ask(request);
}

void HangWatch::ask(const wire::StackRequest& request) {
  stacks_.clear();
  addresses_.clear();
  asked_nccl_ = request.nccl == 1;
  nccl_.clear();
  records_.clear();
  asked_flight_ = request.flight > 0;
  ++question_;
  for (size_t i = 0; i < fleet_.size(); ++i) {
    const auto node = static_cast<uint16_t>(i);
    if (fleet_.alive(node)) waiting_.insert(node);
  }
  if (waiting_.empty()) return;
  const std::set<uint16_t> asked = nodes_for_nccl();
  for (const uint16_t node : waiting_) {
    wire::StackRequest of_node = request;
    if (asked.count(node) == 0) of_node.nccl = 0;
    fleet_.send(node, wire::FrameType::kStackRequest, question_,
                wire::to_json(of_node));
  }
  deadline_.start(kAnswerDeadline, [this] { answered(); });
}

// NCCL answers for the whole job; a second node in case the first is what is
// wrong.
std::set<uint16_t> HangWatch::nodes_for_nccl() const {
  std::set<uint16_t> nodes;
  for (const RankRecord& record : ranks_.records()) {
    if (record.state == RankState::kRunning) nodes.insert(record.node);
  }
  if (nodes.empty()) return {};
  return {*nodes.begin(), *nodes.rbegin()};
}

void HangWatch::reply(uint16_t node, const wire::Frame& frame) {
  if (frame.id != question_ || waiting_.erase(node) == 0) return;
  if (auto reply = wire::stack_reply_from_json(frame.payload)) {
    addresses_[fleet_.dialer(node).host()] = std::move(reply->addresses);
    if (reply->nccl.size() > nccl_.size()) nccl_ = std::move(reply->nccl);
    if (auto records = wire::flight_records_from_json(reply->flight);
        records && !reply->flight.empty()) {
      std::move(records->begin(), records->end(), std::back_inserter(records_));
    }
    for (wire::RankStack& stack : reply->ranks) {
      stacks_.push_back({std::move(stack), fleet_.dialer(node).host()});
    }
  }
  if (waiting_.empty()) answered();
}

void HangWatch::answered() {
  deadline_.cancel();
  for (const uint16_t node : waiting_) {
    log::warn("{}: it did not say in time where its ranks are",
              fleet_.dialer(node).host());
  }
  waiting_.clear();
  auto issues = flight_issues(records_);
  if (asker_ == Asker::kHang || asker_ == Asker::kRecords) {
    collectives_ = std::move(issues);
  }
  if (asker_ == Asker::kHang) return tell_hang();
  if (asker_ == Asker::kException) return looked_at_suspects();
  if (asker_ == Asker::kRecords) return std::exchange(records_read_, nullptr)();
  static_cast<void>(write_file_atomically(
      options_.directory + "/" + stack_answer_file(request_id_),
      answer_json(stacks_, nccl_sentences(), flight_sentences(issues)), 0600));
}

void HangWatch::read_records(std::function<void()> done) {
  if (!waiting_.empty()) return done();
  records_read_ = std::move(done);
  asker_ = Asker::kRecords;
  wire::StackRequest request;
  request.flight = wire::kFlightRead;
  ask(request);
  if (waiting_.empty()) std::exchange(records_read_, nullptr)();
}

std::vector<std::string> HangWatch::flight_sentences(
    const std::vector<FlightIssue>& issues) const {
  if (!asked_flight_) return {};
  std::vector<std::string> out;
  for (const FlightIssue& issue : issues) {
    if (out.size() < kMaxSentences) out.push_back(issue.text);
  }
  int64_t newest = 0;
  for (const wire::FlightRecord& record : records_) {
    newest = std::max(newest, record.written_ns);
  }
  constexpr int64_t kFreshNs = 30'000'000'000;
  if (!out.empty() && newest + kFreshNs < realtime_ns()) {
    std::string when;
    append_timestamp(when, newest);
    out.push_back("PyTorch: these records are of " + when);
  }
  if (!out.empty()) return out;
  if (!records_.empty()) return {"PyTorch: no rank waits in a collective"};
  return {
      "PyTorch: no rank has written a record of its collectives: one does when "
      "asked if its environment has TORCH_NCCL_TRACE_BUFFER_SIZE=2000 and "
      "TORCH_NCCL_DEBUG_INFO_PIPE_FILE=/tmp/flight_"};
}

std::vector<std::string> HangWatch::nccl_sentences() const {
  if (!asked_nccl_) return {};
  if (nccl_.empty()) {
    return {
        "NCCL does not answer: it does from 2.24 on, where "
        "NCCL_RAS_ENABLE is not 0"};
  }
  auto out = ras_sentences(read_ras_report(nccl_), job_rank(), kMaxSentences);
  if (out.empty()) out.emplace_back("NCCL: no rank is behind the others");
  return out;
}

// By process and address; where NCCL uses another network's, by its number in
// a communicator of all ranks.
JobRankOf HangWatch::job_rank() const {
  return [this](const RasRank& rank, int size) -> std::optional<int> {
    for (const PlacedStack& one : stacks_) {
      const auto found = addresses_.find(one.host);
      if (rank.pid == 0 || one.stack.pid != rank.pid ||
          found == addresses_.end()) {
        continue;
      }
      const auto& own = found->second;
      if (std::find(own.begin(), own.end(), rank.node) != own.end()) {
        return one.stack.rank;
      }
    }
    const bool all =
        size > 0 && static_cast<size_t>(size) == ranks_.records().size();
    return all && rank.number >= 0 ? std::optional(rank.number) : std::nullopt;
  };
}

const RankRecord* HangWatch::running_rank(const PlacedStack& placed) const {
  for (const RankRecord& record : ranks_.records()) {
    if (record.rank == placed.stack.rank && record.host == placed.host &&
        record.state == RankState::kRunning) {
      return &record;
    }
  }
  return nullptr;
}

std::vector<StuckRank> HangWatch::stuck_ranks() const {
  std::vector<StuckRank> out;
  for (const PlacedStack& one : stacks_) {
    const RankRecord* record = running_rank(one);
    const LeavingPlace place = leaving_place(one.stack.frames);
    if (record == nullptr || (place.known && !place.leaving)) continue;
    const auto lines = output_.last_lines(record->key);
    const auto said = final_exception(lines);
    if (!said) continue;
    StuckRank stuck{record->rank, record->host, *said, place.call, record->key};
    for (const LineEvidence& line : lines) {
      if (line.text.ends_with(*said)) stuck.raised_ns = line.time_ns;
    }
    stuck.sure = one.stack.uncaught == 1 &&
                 to_lower(place.call).find("mpi_finalize") != std::string::npos;
    out.push_back(std::move(stuck));
  }
  return out;
}

// Some rank is in its program still, and not about to leave.
bool HangWatch::others_go_on() const {
  return std::any_of(
      stacks_.begin(), stacks_.end(), [](const PlacedStack& one) {
        const LeavingPlace place = leaving_place(one.stack.frames);
        return place.known && !place.leaving;
      });
}

void HangWatch::looked_at_suspects() {
  if (stops_) return;
  const bool others = others_go_on();
  std::vector<StuckRank> untold;
  std::optional<StuckRank> failed;
  for (const StuckRank& one : stuck_ranks()) {
    const auto suspect = suspects_.find(one.key);
    if (suspect == suspects_.end()) continue;
    stuck_.insert_or_assign(one.key, one);
    if (Clock::now() - suspect->second.since < options_.after_exception) {
      continue;
    }
    const bool first = !failed || one.raised_ns < failed->raised_ns;
    if (one.sure && others && first) failed = one;
    if (!std::exchange(suspect->second.told, true)) untold.push_back(one);
  }
  for (const PlacedStack& one : stacks_) {
    const RankRecord* record = running_rank(one);
    const LeavingPlace place = leaving_place(one.stack.frames);
    if (record == nullptr || !place.known || place.leaving) continue;
    suspects_.erase(record->key);
    stuck_.erase(record->key);
  }
  if (failed && options_.end_after_exception) return raised_(*failed);
  if (!untold.empty()) tell_stuck(untold);
}

void HangWatch::tell_stuck(const std::vector<StuckRank>& ranks) {
  const std::string stuck = stuck_text(ranks);
  finding_ = Finding{
      Severity::kWarning, "hang", stuck, "",
      "stop the job, or let --hang-timeout and --hang-action stop do it; a "
      "program that calls MPI_Abort or os._exit(1) after an exception ends "
      "all ranks at once, as \"python -m mpi4py PROGRAM\" does"};
  log::warn("{}. The job goes on, but may never end. What to do: {}", stuck,
            options_.drop_in ? for_mpirun(finding_->remedy) : finding_->remedy);
}

void HangWatch::tell_hang() {
  const auto groups = group_stacks(stacks_);
  const auto issues = read_ras_report(nccl_);
  std::set<int> odd = ras_odd_ranks(issues, job_rank());
  for (const FlightIssue& issue : collectives_) {
    if (odd.empty()) odd = issue.odd;
  }
  if (odd.empty()) odd = odd_ranks(groups);
  const std::string what =
      "no rank has put out anything for " + human_duration_ms(silent_.count());
  std::string who = stuck_text(stuck_ranks());
  if (!who.empty()) {
    who[0] = 'R';
  } else if (odd.empty()) {
    who = "The ranks seem to hang";
  } else {
    who = (odd.size() == 1 ? "Rank " : "Ranks ") + rank_set_text(odd) +
          (odd.size() == 1 ? " holds up the rest" : " hold up the rest");
  }
  std::string where = groups_sentence(groups, stacks_);
  if (!collectives_.empty()) {
    where = collectives_[0].text + (where.empty() ? "" : "; ") + where;
  }
  for (const std::string& sentence : ras_sentences(issues, job_rank(), 1)) {
    where = sentence + (where.empty() ? "" : "; ") + where;
  }
  finding_ = Finding{options_.stop ? Severity::kError : Severity::kWarning,
                     "hang", who + ": " + what, where,
                     "look at it closer: `muster stack` in the launcher's pod "
                     "(--nccl asks NCCL and PyTorch as well), and the log of "
                     "that rank"};
  log::warn("{}; {}{}", finding_->text, where,
            options_.stop ? "" : ". The job goes on");
  if (options_.stop) {
    hung_(Error{"hang", finding_->text, where, "", finding_->remedy});
  }
}

}  // namespace muster
