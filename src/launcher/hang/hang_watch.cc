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
#include "launcher/options/mpirun_words.h"
#include "logs/line_folder.h"

namespace muster {

namespace {

constexpr Milliseconds kTick{500};
constexpr Milliseconds kAnswerDeadline{10'000};
constexpr Milliseconds kFirstLook{1'000};  // at a rank, after its exception
constexpr int kMostLooks = 20;
constexpr Milliseconds kProvoked{3'000};
constexpr Milliseconds kLongestPause{15'000};  // between two looks at a silence
constexpr Milliseconds kRequestPause{1'000};   // … for `muster stack`
constexpr size_t kMaxSentences = 16;           // of NCCL's issues

const char* word_of(Progress progress) {
  switch (progress) {
    case Progress::kWorks:
      return "works";
    case Progress::kHangs:
      return "hangs";
    case Progress::kRests:
      return "rests";
    case Progress::kUnknown:
      break;
  }
  return "unknown";
}

// Sentences of PyTorch's records, or why there are none.
struct Collectives {
  std::vector<std::string> sentences;
  std::string note;
};

int64_t newest_of(const std::vector<wire::FlightRecord>& records) {
  int64_t newest = 0;
  for (const wire::FlightRecord& record : records) {
    newest = std::max(newest, record.written_ns);
  }
  return newest;
}

// Written during this silence, or just before it, so still true. A rank that
// has reported a failure may write no other.
bool of_now(const std::vector<wire::FlightRecord>& records,
            Milliseconds silent) {
  constexpr int64_t kFreshNs = 30'000'000'000;
  const int64_t silent_ns = int64_t{silent.count()} * 1'000'000;
  return newest_of(records) + kFreshNs + silent_ns >= realtime_ns();
}

Collectives collectives_of(const std::vector<wire::FlightRecord>& records,
                           Milliseconds silent) {
  Collectives out;
  for (const FlightIssue& issue : flight_issues(records)) {
    if (out.sentences.size() < kMaxSentences) {
      out.sentences.push_back(issue.text);
    }
  }
  if (!out.sentences.empty() && !of_now(records, silent)) {
    std::string when;
    append_timestamp(when, newest_of(records));
    out.sentences.push_back("PyTorch: these records are of " + when);
  }
  if (!out.sentences.empty()) return out;
  out.note =
      records.empty()
          ? "PyTorch: no rank has written a record of its collectives: one "
            "does when asked if its environment has "
            "TORCH_FR_BUFFER_SIZE=2000 (before PyTorch 2.9 "
            "TORCH_NCCL_TRACE_BUFFER_SIZE) and "
            "TORCH_NCCL_DEBUG_INFO_PIPE_FILE=/tmp/flight_"
          : "PyTorch: no rank waits in a collective";
  return out;
}

nlohmann::json ranks_json(const std::vector<PlacedStack>& stacks) {
  nlohmann::json ranks = nlohmann::json::array();
  for (const PlacedStack& one : stacks) {
    ranks.push_back({{"rank", one.stack.rank},
                     {"host", one.host},
                     {"pid", one.stack.pid},
                     {"program", one.stack.program},
                     {"state", one.stack.state},
                     {"threads", one.stack.threads},
                     {"frames", one.stack.frames},
                     {"problem", one.stack.problem},
                     {"cpu_ms", one.stack.cpu_ms},
                     {"io_bytes", one.stack.io_bytes}});
  }
  return ranks;
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
                     std::function<void(const Error&, int)> hung,
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

// Long enough to show a step of a slow job, if there is time.
Milliseconds HangWatch::pause() const {
  return std::clamp(options_.silence / 4, options_.shortest_pause,
                    kLongestPause);
}

// Lines that answer a question or a signal of ours do not count as output:
// PyTorch, for one, prints that it writes its record.
Milliseconds HangWatch::silent() {
  constexpr Milliseconds kExact{5};  // of the times of output
  const Clock::time_point now = Clock::now();
  const Clock::time_point last = now - output_.silent_for();
  if (last >= provoked_ && last < provoked_until_ + kProvoked) {
    answers_ = last;
  } else if (last > answers_ + kExact) {
    last_output_ = last;
  }
  return std::chrono::duration_cast<Milliseconds>(now - last_output_);
}

void HangWatch::output_again() {
  if (told_.count(Progress::kHangs) + told_.count(Progress::kRests) > 0) {
    log::info("the ranks print again");
  }
  told_.clear();
  first_look_.reset();
  provoke_ = false;
  next_look_ = {};
}

void HangWatch::look_for_silence() {
  if (options_.silence.count() == 0 || !waiting_.empty() || stops_) return;
  if (ranks_.count(RankState::kRunning) == 0) return;
  if (silent() < options_.silence) return output_again();
  // A slow reader of our output holds up ranks, too: they do not hang.
  if (told_.count(Progress::kHangs) > 0 || output_.waiting_bytes() > 0) return;
  const Clock::time_point now = Clock::now();
  if (now < (first_look_ ? first_look_->ended + pause() : next_look_)) return;
  // Some releases of NCCL crash on the question while they create communicators
  // (NVIDIA/nccl issues 1669 and 2346): asks only if the job ends anyway. And
  // PyTorch's recorders take Python's lock to write their records.
  wire::StackRequest request;
  request.nccl = provoke_ ? 1 : 0;
  request.flight = provoke_ ? wire::kFlightAsk : wire::kFlightRead;
  ask(request, [this] {
    if (first_look_) return looked_twice();
    first_look_ = look_;
  });
}

void HangWatch::looked_twice() {
  const Milliseconds between =
      std::chrono::duration_cast<Milliseconds>(look_.at - first_look_->at);
  const bool lines = silent() < between;
  const Judgement judgement =
      judge(first_look_->seen, look_.seen, between.count(), lines);
  first_look_.reset();
  const bool hangs = judgement.progress == Progress::kHangs;
  if (hangs && options_.stop && !std::exchange(provoke_, true)) {
    next_look_ = Clock::now();
    return;
  }
  provoke_ = false;
  next_look_ = Clock::now() + std::max(options_.silence / 2, pause());
  if (lines || !told_.insert(judgement.progress).second) return;
  if (judgement.progress == Progress::kWorks) return tell_work(judgement);
  if (options_.signal == 0) return tell_hang(look_, judgement);
  wire::StackRequest request;
  request.signal = options_.signal;
  ask(request, [this, look = look_, judgement] { tell_hang(look, judgement); });
}

void HangWatch::look_for_request() {
  if (options_.directory.empty() || !waiting_.empty()) return;
  if (request_look_) {
    if (Clock::now() < request_look_->ended + kRequestPause) return;
    return ask(request_, [this] {
      const auto between = std::chrono::duration_cast<Milliseconds>(
          look_.at - request_look_->at);
      const Judgement judgement = judge(request_look_->seen, look_.seen,
                                        between.count(), silent() < between);
      request_look_.reset();
      answer_request(judgement);
    });
  }
  const std::string id = waiting_request(options_.directory);
  if (id.empty()) return;
  const std::string path = options_.directory + "/" + stack_request_file(id);
  const auto text = read_file(path, 1 << 20);
  static_cast<void>(::unlink(path.c_str()));
  if (!text) return;
  const auto request = wire::stack_request_from_json(*text);
  if (!request) return;
  request_id_ = id;
  request_ = *request;
  request_.flight = std::max(request_.flight, wire::kFlightRead);
  // A look at only some ranks cannot show which one holds up the rest.
  if (!request_.ranks.empty()) {
    return ask(request_, [this] { answer_request({}); });
  }
  wire::StackRequest first;
  first.flight = wire::kFlightRead;
  ask(first, [this] { request_look_ = look_; });
}

void HangWatch::answer_request(const Judgement& judgement) {
  const Collectives collectives = collectives_of(look_.seen.records, silent());
  nlohmann::json out = {{"ranks", ranks_json(look_.seen.stacks)},
                        {"nccl", nccl_sentences(look_)},
                        {"collectives", collectives.sentences},
                        {"collectives_note", collectives.note}};
  if (request_.ranks.empty()) {
    const Culprits who = who_holds_up(evidence(look_, judgement));
    out["progress"] = word_of(judgement.progress);
    out["work"] = judgement.why;
    out["holds_up"] = {{"ranks", who.ranks},
                       {"by", by_text(who.by)},
                       {"text", who.text},
                       {"evidence", who.evidence}};
  }
  static_cast<void>(write_file_atomically(
      options_.directory + "/" + stack_answer_file(request_id_),
      out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
      0600));
}

// The program may have caught and printed the exception: only the stack shows
// whether the program is over. The first look serves `muster status` and a stop
// in the meantime.
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
    // To end the job, it must know the others, too.
    all = all || stuck_.count(key) > 0;
    ++suspect.looks;
    suspect.next_look = now + options_.after_exception;
    if (suspect.looks == 1 && quiet < options_.after_exception) {
      suspect.next_look -= quiet;
    }
  }
  if (request.ranks.empty()) return;
  if (all) request.ranks.clear();
  ask(request, [this] { looked_at_suspects(); });
}

void HangWatch::ask(const wire::StackRequest& request,
                    std::function<void()> then) {
  look_ = {};
  look_.at = Clock::now();
  look_.asked_nccl = request.nccl == 1;
  ++question_;
  for (size_t i = 0; i < fleet_.size(); ++i) {
    const auto node = static_cast<uint16_t>(i);
    if (fleet_.alive(node)) waiting_.insert(node);
  }
  if (waiting_.empty()) return;
  if (request.nccl == 1 || request.signal != 0 ||
      request.flight == wire::kFlightAsk) {
    static_cast<void>(silent());  // up to here
    provoked_ = look_.at;
    provoked_until_ = look_.at + kAnswerDeadline;
  }
  then_ = std::move(then);
  const std::set<uint16_t> asked = nodes_for_nccl();
  for (const uint16_t node : waiting_) {
    wire::StackRequest of_node = request;
    if (asked.count(node) == 0) of_node.nccl = 0;
    fleet_.send(node, wire::FrameType::kStackRequest, question_,
                wire::to_json(of_node));
  }
  deadline_.start(kAnswerDeadline, [this] { answered(); });
}

// NCCL answers for the whole job; asks a second node in case the first is the
// faulty one.
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
    look_.addresses[fleet_.dialer(node).host()] = std::move(reply->addresses);
    if (reply->nccl.size() > look_.nccl.size()) {
      look_.nccl = std::move(reply->nccl);
    }
    if (auto records = wire::flight_records_from_json(reply->flight);
        records && !reply->flight.empty()) {
      std::move(records->begin(), records->end(),
                std::back_inserter(look_.seen.records));
    }
    for (wire::RankStack& stack : reply->ranks) {
      look_.seen.stacks.push_back(
          {std::move(stack), fleet_.dialer(node).host()});
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
  look_.ended = Clock::now();
  provoked_until_ = std::min(provoked_until_, look_.ended);
  look_.seen.nccl_answered = !look_.nccl.empty();
  look_.seen.nccl_counts = ras_counts(read_ras_report(look_.nccl));
  std::exchange(then_, nullptr)();
}

void HangWatch::read_records(std::function<void()> done) {
  if (!waiting_.empty()) return done();
  wire::StackRequest request;
  request.flight = wire::kFlightRead;
  ask(request, [this, done] {
    collectives_ = decisive_first(flight_issues(look_.seen.records));
    done();
  });
  if (waiting_.empty()) done();
}

std::vector<std::string> HangWatch::nccl_sentences(const Look& look) const {
  if (!look.asked_nccl) return {};
  if (look.nccl.empty()) {
    return {
        "NCCL does not answer: it does from 2.24 on, where "
        "NCCL_RAS_ENABLE is not 0"};
  }
  auto out =
      ras_sentences(read_ras_report(look.nccl), job_rank(look), kMaxSentences);
  if (out.empty()) out.emplace_back("NCCL: no rank is behind the others");
  return out;
}

HangEvidence HangWatch::evidence(const Look& look, const Judgement& judgement) {
  HangEvidence out;
  out.raised = stuck_text(stuck_ranks());
  if (of_now(look.seen.records, silent())) {
    out.flight = flight_issues(look.seen.records);
  }
  out.nccl = read_ras_report(look.nccl);
  out.job_rank = job_rank(look);
  out.stacks = look.seen.stacks;
  out.doings = judgement.ranks;
  out.works = judgement.progress == Progress::kWorks;
  return out;
}

// Finds the rank by process and address; if NCCL uses another network's
// address, by its number in a communicator of all ranks.
JobRankOf HangWatch::job_rank(const Look& look) const {
  return [this, &look](const RasRank& rank, int size) -> std::optional<int> {
    for (const PlacedStack& one : look.seen.stacks) {
      const auto found = look.addresses.find(one.host);
      if (rank.pid == 0 || one.stack.pid != rank.pid ||
          found == look.addresses.end()) {
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
  for (const PlacedStack& one : look_.seen.stacks) {
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

// Some rank is still in its program, and not about to leave.
bool HangWatch::others_go_on() const {
  return std::any_of(look_.seen.stacks.begin(), look_.seen.stacks.end(),
                     [](const PlacedStack& one) {
                       const LeavingPlace place =
                           leaving_place(one.stack.frames);
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
  for (const PlacedStack& one : look_.seen.stacks) {
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

void HangWatch::tell_work(const Judgement& judgement) {
  const auto& stacks = look_.seen.stacks;
  const std::string where = groups_sentence(group_stacks(stacks), stacks, {});
  log::info("no output for {}, but the ranks are at work: {}{}{}",
            human_duration_ms(silent().count()), judgement.why,
            judgement.why.empty() || where.empty() ? "" : "; ", where);
}

void HangWatch::tell_hang(const Look& look, const Judgement& judgement) {
  if (stops_) return;
  const bool hangs = judgement.progress == Progress::kHangs;
  const bool stop = options_.stop && hangs;
  const HangEvidence known = evidence(look, judgement);
  const Culprits who = who_holds_up(known);
  const auto groups = group_stacks(look.seen.stacks);
  std::vector<std::string> sentences = {who.evidence};
  if (!known.flight.empty()) sentences.push_back(known.flight[0].text);
  for (std::string& one : ras_sentences(known.nccl, known.job_rank, 1)) {
    sentences.push_back(std::move(one));
  }
  sentences.push_back(groups_sentence(groups, look.seen.stacks, who.ranks));
  std::string where;
  for (auto one = sentences.begin(); one != sentences.end(); ++one) {
    if (one->empty() || std::find(sentences.begin(), one, *one) != one)
      continue;
    where += (where.empty() ? "" : "; ") + *one;
  }
  std::string text = who.text;
  if (text.empty()) {
    text = hangs ? "The ranks hang"
           : judgement.progress == Progress::kRests
               ? "No rank is at work or waits for another"
               : "The ranks may hang, but their stacks cannot be read";
  }
  text += ": no rank has printed anything for " +
          human_duration_ms(silent().count());
  finding_ =
      Finding{stop ? Severity::kError : Severity::kWarning, "hang", text, where,
              "look at it closer: `muster stack` in the launcher's pod "
              "(--nccl asks NCCL and PyTorch as well), and the log of "
              "that rank"};
  if (who.ranks.size() == 1) finding_->rank = *who.ranks.begin();
  log::warn("{}; {}{}", text, where, stop ? "" : ". The job goes on");
  if (!stop) return;
  collectives_ = decisive_first(known.flight);
  hung_(Error{"hang", text, where, "", finding_->remedy},
        who.ranks.size() == 1 ? *who.ranks.begin() : -1);
}

}  // namespace muster
