// SPDX-License-Identifier: Apache-2.0
// Ranks that end, fail, or never start, told by a scripted backend over fake
// agents: when the job is stopped, why, and that it always ends. And the same
// as evidence.
#include "launcher/run/job_run.h"

#include <signal.h>

#include "base/log.h"
#include "captured_stdio.h"
#include "catch.h"
#include "diagnosis/verdict.h"
#include "fake_fleet.h"
#include "launcher/run/launch_evidence.h"
#include "run_loop.h"

namespace muster {
namespace {

using namespace std::chrono_literals;
using test::FakeFleet;
using test::run_for;
using test::run_until;

class ScriptedBackend : public Backend {
 public:
  explicit ScriptedBackend(std::vector<uint16_t>& lost) : lost_(lost) {}
  void start() override {}
  void node_lost(uint16_t node) override { lost_.push_back(node); }

 private:
  std::vector<uint16_t>& lost_;
};

constexpr int kExit3 = 3 << 8;
constexpr int kKilled = 9;

struct Bed {
  explicit Bed(RunOptions options = {}) {
    fleet.on_lost = [this](uint16_t node, const Error& error) {
      run->node_lost(node, error);
    };
    connected = fleet.connect();
    options.timeouts.grace_ms = 100;
    run = std::make_unique<JobRun>(loop, *fleet.fleet, output,
                                   std::move(options), [this] { ++done; });
    run->start(
        [this](BackendEvents given) {
          events = std::move(given);
          return std::make_unique<ScriptedBackend>(backend_lost);
        },
        nullptr);
  }
  ProcessKey add_rank(int rank, uint16_t node, int world_size = -1) {
    RankRecord record;
    record.rank = rank;
    record.node = node;
    record.host = fleet.fleet->dialer(node).host();
    record.key = {node, static_cast<uint32_t>(rank + 1)};
    record.world_size = world_size;
    events.on_rank_starting(record);
    return record.key;
  }
  ProcessKey run_rank(int rank, uint16_t node, int world_size = -1) {
    const ProcessKey key = add_rank(rank, node, world_size);
    events.on_rank_running(key, 100 + rank);
    return key;
  }
  void exit(ProcessKey key, int status) {
    wire::Exited exited;
    exited.wait_status = status;
    events.on_rank_exited(key, exited);
  }
  // mpirun, or the script; `ms_ago` as its agent counts.
  void finished(int status, int64_t ms_ago = 0) {
    wire::Exited exited;
    exited.wait_status = status;
    exited.ended_ms_ago = ms_ago;
    events.on_finished(exited);
  }
  void all_stopped() {
    for (auto& peer : fleet.peers) peer->say(wire::FrameType::kStopped);
  }
  bool ends(Milliseconds limit = 60s) {
    return run_until(
        loop, [this] { return done > 0; }, limit);
  }
  [[nodiscard]] size_t stops(size_t node = 1) const {
    return fleet.peers[node]->count(wire::FrameType::kStop);
  }

  // What muster itself says is not what these tests are about.
  Loop loop;
  FakeFleet fleet{loop, {"l", "w-0", "w-1"}};
  RankOutput output{loop, {}, [](ProcessKey, uint8_t, uint32_t) {}};
  BackendEvents events;
  std::vector<uint16_t> backend_lost;
  int done = 0;
  bool connected = false;
  std::unique_ptr<JobRun> run;
};

RunOptions expecting(int ranks) {
  RunOptions options;
  options.expected_ranks = ranks;
  return options;
}

TEST_CASE("all ranks end well") {
  Bed bed(expecting(2));
  REQUIRE(bed.connected);
  const ProcessKey a = bed.run_rank(0, 1);
  const ProcessKey b = bed.run_rank(1, 2);
  REQUIRE(bed.run->first_rank_at());
  REQUIRE(bed.run->all_ranks_at());
  CHECK(*bed.run->all_ranks_at() >= *bed.run->first_rank_at());
  bed.exit(a, 0);
  bed.exit(b, 0);
  CHECK(bed.done == 0);
  bed.finished(0);
  REQUIRE(bed.ends());
  CHECK(bed.run->stop_cause() == StopCause::kNone);
  CHECK(bed.stops() == 0);
  run_for(bed.loop, 50ms);
  CHECK(bed.done == 1);
}

// Of a script all that is known of such a rank goes; else the report names it.
TEST_CASE("of very many ranks that ended well the last ones' words are kept") {
  constexpr int kRanks = 5000;
  const int expected = GENERATE(-1, 5000);
  Bed bed(expecting(expected));
  ProcessKey first;
  ProcessKey last;
  for (int rank = 0; rank < kRanks; ++rank) {
    last = bed.run_rank(rank, 1);
    if (rank == 0) first = last;
    wire::Frame line;
    line.flags = wire::kStdout | wire::kEnd;
    line.payload = wire::output_payload(1, "a line\n");
    bed.output.frame(last, line);
    bed.exit(last, 0);
  }
  CHECK(bed.output.last_lines(first).empty());
  CHECK(bed.output.last_lines(last).size() == 1);
  CHECK(bed.output.lines() == kRanks);
  const size_t kept = expected < 0 ? 4096 : kRanks;
  CHECK(bed.run->ranks().records().size() == kept);
  CHECK(bed.run->ranks().forgotten() == kRanks - kept);
  bed.finished(0);
  REQUIRE(bed.ends());
  CHECK(bed.run->stop_cause() == StopCause::kNone);
}

TEST_CASE("the first failing rank stops everything, once, and is the reason") {
  Bed bed(expecting(2));
  const ProcessKey a = bed.run_rank(0, 1);
  const ProcessKey b = bed.run_rank(1, 2);
  bed.exit(b, kExit3);
  CHECK(bed.run->stop_cause() == StopCause::kRankFailed);
  CHECK(bed.run->stop_reason() == "rank 1 on w-1 exited with code 3");
  CHECK(bed.stops(1) == 1);
  CHECK(bed.stops(2) == 1);
  bed.exit(a, kKilled);
  CHECK(bed.run->stop_reason() == "rank 1 on w-1 exited with code 3");
  CHECK(bed.stops(1) == 1);
  bed.all_stopped();
  REQUIRE(bed.ends());
  const auto& records = bed.run->ranks().records();
  CHECK(records.front().after_stop);
  CHECK_FALSE(records.back().after_stop);
}

// A data loader's workers hold the output of a rank that crashed, and others
// miss it meanwhile.
TEST_CASE("a rank that ended before the stop was not stopped by us") {
  Bed bed(expecting(3));
  const ProcessKey crashed = bed.run_rank(0, 1);
  const ProcessKey missed_it = bed.run_rank(1, 2);
  const ProcessKey stopped = bed.run_rank(2, 2);
  bed.exit(missed_it, kExit3);
  wire::Exited late;
  late.wait_status = SIGSEGV;
  late.ended_ms_ago = 1'500;
  bed.events.on_rank_exited(crashed, late);
  bed.exit(stopped, SIGTERM);
  bed.all_stopped();
  REQUIRE(bed.ends());
  Evidence evidence;
  evidence.job.stop_ns = bed.run->stop_ns();
  evidence.ranks = rank_evidence(*bed.run, bed.output, 3);
  REQUIRE(evidence.ranks.size() == 3);
  CHECK_FALSE(evidence.ranks[0].stopped_by_us);
  CHECK(evidence.ranks[0].exit_ns < evidence.ranks[1].exit_ns);
  CHECK(evidence.ranks[2].stopped_by_us);
  const Verdict verdict = diagnose(evidence);
  CHECK(verdict.code == "segfault");
  CHECK(verdict.first_rank == 0);
}

// Hydra kills the ranks that are left, whose children then hold their output.
TEST_CASE("a kill that is heard of late comes after the failure before it") {
  RunOptions options = expecting(2);
  options.has_tool = true;
  Bed bed(options);
  const ProcessKey killed = bed.run_rank(0, 1);
  bed.exit(bed.run_rank(1, 2), SIGTERM);
  wire::Exited late;
  late.wait_status = SIGKILL;
  late.ended_ms_ago = 50;
  bed.events.on_rank_exited(killed, late);
  Evidence evidence;
  evidence.ranks = rank_evidence(*bed.run, bed.output, 2);
  REQUIRE(evidence.ranks.size() == 2);
  CHECK(evidence.ranks[0].exit_ns > evidence.ranks[1].exit_ns);
  const Verdict verdict = diagnose(evidence);
  CHECK(verdict.first_rank == 1);
  CHECK(verdict.exit_code == 128 + SIGTERM);
}

TEST_CASE("a kill for memory that is heard of late keeps its time") {
  RunOptions options = expecting(2);
  options.has_tool = true;
  Bed bed(options);
  const ProcessKey killed = bed.run_rank(0, 1);
  bed.exit(bed.run_rank(1, 2), kExit3);
  wire::Exited late;
  late.wait_status = SIGKILL;
  late.oom_killed = true;
  late.ended_ms_ago = 50;
  bed.events.on_rank_exited(killed, late);
  const auto ranks = rank_evidence(*bed.run, bed.output, 2);
  CHECK(ranks[0].exit_ns < ranks[1].exit_ns);
}

TEST_CASE("a rank that failed ends the job before its output has ended") {
  Bed bed(expecting(2));
  const ProcessKey a = bed.run_rank(0, 1);
  bed.run_rank(1, 2);
  wire::Exited exited;
  exited.wait_status = kExit3;
  exited.draining = true;
  bed.events.on_rank_exited(a, exited);
  CHECK(bed.run->stop_cause() == StopCause::kRankFailed);
  CHECK(bed.stops() == 1);
  exited.draining = false;
  exited.bytes_lost = 5;
  bed.events.on_rank_exited(a, exited);
  CHECK(bed.output.dropped_bytes() == 5);
  CHECK_FALSE(bed.run->ranks().records().front().after_stop);
  bed.all_stopped();
  REQUIRE(bed.ends());
}

TEST_CASE("mpirun gets a moment to end by itself after a rank has failed") {
  RunOptions options = expecting(2);
  options.has_tool = true;
  Bed bed(options);
  const ProcessKey a = bed.run_rank(0, 1);
  bed.run_rank(1, 2);
  bed.exit(a, kExit3);
  CHECK(bed.run->stop_cause() == StopCause::kNone);
  REQUIRE(run_until(bed.loop, [&] { return bed.stops() == 1; }));
  CHECK(bed.run->stop_cause() == StopCause::kRankFailed);
  const auto request = wire::from_json<wire::StopRequest>(
      bed.fleet.peers[1]->last(wire::FrameType::kStop));
  REQUIRE(request);
  CHECK(request->tool_delay_ms == 50);
  CHECK(request->grace_ms == 100);
  bed.all_stopped();
  REQUIRE(bed.ends());
}

TEST_CASE("ranks that save at the time limit do not end each other") {
  RunOptions options = expecting(2);
  options.timeouts.run_ms = 30;
  options.checkpoint_signal = SIGUSR1;
  Bed bed(options);
  const ProcessKey a = bed.run_rank(0, 1);
  const ProcessKey b = bed.run_rank(1, 2);
  REQUIRE(run_until(bed.loop, [&] {
    return bed.fleet.peers[1]->count(wire::FrameType::kSignal) == 1;
  }));
  bed.exit(a, kExit3);
  CHECK(bed.run->stop_cause() == StopCause::kNone);
  CHECK(bed.stops() == 0);
  bed.exit(b, 0);
  CHECK(bed.run->stop_cause() == StopCause::kRankFailed);
  CHECK(bed.run->stop_reason() == "rank 0 on w-0 exited with code 3");
  bed.all_stopped();
  REQUIRE(bed.ends());
}

TEST_CASE("a job that is stopped from outside: mpirun ends after its ranks") {
  RunOptions options = expecting(2);
  options.has_tool = true;
  Bed bed(options);
  const auto request = [&bed] {
    const auto last = wire::from_json<wire::StopRequest>(
        bed.fleet.peers[1]->last(wire::FrameType::kStop));
    REQUIRE(last);
    return *last;
  };
  const ProcessKey a = bed.run_rank(0, 1);
  const ProcessKey b = bed.run_rank(1, 2);
  bed.run->stop(StopCause::kSignal, "SIGTERM came");
  REQUIRE(run_until(bed.loop, [&] { return bed.stops() == 1; }));
  CHECK(request().ranks_first);
  CHECK(request().tool_delay_ms == 50);
  bed.exit(a, kExit3);
  CHECK(bed.stops() == 1);
  bed.exit(b, 0);
  REQUIRE(run_until(bed.loop, [&] { return bed.stops() == 2; }));
  CHECK_FALSE(request().ranks_first);
  CHECK(request().tool_delay_ms == 0);
  bed.all_stopped();
  REQUIRE(bed.ends());
  CHECK(bed.stops() == 2);
}

TEST_CASE("a job that is stopped without ranks: mpirun ends at once") {
  RunOptions options = expecting(2);
  options.has_tool = true;
  Bed bed(options);
  bed.run->stop(StopCause::kSignal, "SIGTERM came");
  REQUIRE(run_until(bed.loop, [&] { return bed.stops() == 1; }));
  const auto request = wire::from_json<wire::StopRequest>(
      bed.fleet.peers[1]->last(wire::FrameType::kStop));
  REQUIRE(request);
  CHECK_FALSE(request->ranks_first);
  CHECK(request->tool_delay_ms == 0);
  bed.all_stopped();
  REQUIRE(bed.ends());
}

TEST_CASE("mpirun that fails without any rank before it") {
  RunOptions options = expecting(2);
  options.has_tool = true;
  Bed bed(options);
  bed.finished(1 << 8);
  REQUIRE(run_until(bed.loop, [&] { return bed.stops() == 1; }));
  CHECK(bed.run->stop_cause() == StopCause::kToolFailed);
  CHECK(bed.run->tool_status() == 1 << 8);
  bed.all_stopped();
  REQUIRE(bed.ends());
}

TEST_CASE("who killed mpirun is told from ourselves") {
  RunOptions options = expecting(1);
  options.has_tool = true;
  Bed bed(options);
  const ProcessKey rank = bed.run_rank(0, 1);
  SECTION("before a rank") {
    bed.finished(SIGKILL);
    CHECK(bed.run->tool_killed());
    bed.exit(rank, SIGTERM);
  }
  SECTION("before our stop, and heard of behind it") {
    bed.exit(rank, SIGTERM);
    REQUIRE(run_until(bed.loop, [&] { return bed.stops() == 1; }));
    bed.finished(SIGKILL, 30'000);
    CHECK(bed.run->tool_killed());
  }
  SECTION("by our stop") {
    bed.exit(rank, SIGTERM);
    REQUIRE(run_until(bed.loop, [&] { return bed.stops() == 1; }));
    bed.finished(SIGKILL);
    CHECK_FALSE(bed.run->tool_killed());
  }
  REQUIRE(run_until(bed.loop, [&] { return bed.stops() == 1; }));
  bed.all_stopped();
  REQUIRE(bed.ends());
}

TEST_CASE("mpirun that ends well without starting anything is no success") {
  RunOptions options = expecting(2);
  options.has_tool = true;
  Bed bed(options);
  bed.finished(0);
  REQUIRE(bed.ends());
  CHECK(bed.run->stop_cause() == StopCause::kPlacement);
}

// mpirun's own way to us is shorter than that of a worker's agent.
TEST_CASE("ranks that are heard of after mpirun's end count") {
  RunOptions options = expecting(2);
  options.has_tool = true;
  const bool one_is_known = GENERATE(false, true);
  Bed bed(options);
  if (one_is_known) bed.exit(bed.run_rank(0, 1, 2), 0);
  bed.finished(0);
  run_for(bed.loop, 50ms);
  CHECK(bed.done == 0);
  if (!one_is_known) bed.exit(bed.run_rank(0, 1, 2), 0);
  bed.exit(bed.run_rank(1, 2, 2), 0);
  REQUIRE(bed.ends(1s));
  CHECK(bed.run->stop_cause() == StopCause::kNone);
}

TEST_CASE("worlds of the wrong size, and ranks at the wrong place") {
  Bed bed(expecting(2));
  bed.run_rank(0, 1, 1);
  CHECK(bed.run->stop_cause() == StopCause::kPlacement);
  CHECK(bed.run->stop_reason().find("a world of 1 ranks instead of 2") !=
        std::string::npos);
  RunOptions options = expecting(2);
  options.rank_nodes = {1, 2};
  Bed other(options);
  other.run_rank(0, 0, 2);
  CHECK(other.run->stop_cause() == StopCause::kPlacement);
  CHECK(other.run->stop_reason().find("not in the hostfile") !=
        std::string::npos);
}

TEST_CASE("a rank that cannot be started") {
  Bed bed(expecting(1));
  const ProcessKey key = bed.add_rank(0, 1);
  bed.events.on_rank_refused(
      key, {{"exe_not_found", "cannot start ./app", "no ./app", "", ""}, 127});
  CHECK(bed.run->stop_cause() == StopCause::kRankRefused);
  bed.all_stopped();
  REQUIRE(bed.ends());
  const auto evidence = rank_evidence(*bed.run, bed.output, 2);
  REQUIRE(evidence.size() == 2);
  CHECK(evidence[0].outcome == RankOutcome::kRefused);
  CHECK(evidence[0].refusal.why == "no ./app");
  CHECK(evidence[1].outcome == RankOutcome::kNeverStarted);
}

TEST_CASE("a lost worker takes its ranks along and stops the rest") {
  Bed bed(expecting(2));
  bed.run_rank(0, 1);
  bed.run_rank(1, 2);
  bed.fleet.peers[1]->hang_up("worker_silent");
  CHECK(bed.run->stop_cause() == StopCause::kWorkerLost);
  CHECK(bed.backend_lost == std::vector<uint16_t>{1});
  CHECK(bed.run->ranks().count(RankState::kLost) == 1);
  CHECK(bed.stops(2) == 1);
  bed.all_stopped();
  REQUIRE(bed.ends());
}

TEST_CASE("the start deadline counts what has started, not what was asked") {
  RunOptions options = expecting(2);
  options.timeouts.start_ms = 50;
  Bed bed(options);
  bed.run_rank(0, 1);
  bed.add_rank(1, 2);
  REQUIRE(run_until(bed.loop, [&] {
    return bed.run->stop_cause() == StopCause::kStartDeadline;
  }));
  CHECK(bed.run->stop_reason().find("1 of 2 ranks had started") == 0);
}

TEST_CASE("no start deadline once all ranks run, or where it is off") {
  RunOptions options = expecting(1);
  options.timeouts.start_ms = 50;
  Bed bed(options);
  bed.run_rank(0, 1);
  options.check_start = false;
  Bed off(options);
  run_for(bed.loop, 120ms);
  run_for(off.loop, 120ms);
  CHECK(bed.run->stop_cause() == StopCause::kNone);
  CHECK(off.run->stop_cause() == StopCause::kNone);
}

TEST_CASE("the time limit") {
  RunOptions options = expecting(1);
  options.timeouts.run_ms = 60;
  Bed bed(options);
  bed.run_rank(0, 1);
  REQUIRE(run_until(bed.loop, [&] { return bed.stops() == 1; }));
  CHECK(bed.run->stop_cause() == StopCause::kTimeLimit);
  JobEvidence job;
  add_run(*bed.run, bed.output, job);
  CHECK(job.time_limit_hit);
  CHECK_FALSE(job.start_deadline_hit);
  CHECK(job.stop_ns > 0);
}

TEST_CASE("a second order adds nothing, unless it is to kill") {
  Bed bed(expecting(1));
  bed.run_rank(0, 1);
  bed.run->stop(StopCause::kSignal, "SIGTERM");
  bed.run->stop(StopCause::kSignal, "SIGTERM again");
  CHECK(bed.stops() == 1);
  bed.run->stop(StopCause::kSignal, "twice", true);
  CHECK(bed.stops() == 2);
  CHECK(bed.run->stop_reason() == "SIGTERM");
  CHECK(wire::from_json<wire::StopRequest>(
            bed.fleet.peers[1]->last(wire::FrameType::kStop))
            ->now);
}

TEST_CASE("agents that never say stopped do not hold up the end") {
  Bed bed(expecting(1));
  bed.run_rank(0, 1);
  bed.run->stop(StopCause::kSignal, "SIGTERM");
  // One of three answers, the others vanish.
  bed.fleet.peers[0]->say(wire::FrameType::kStopped);
  bed.fleet.peers[1]->hang_up("worker_silent");
  bed.fleet.peers[2]->hang_up("worker_silent");
  REQUIRE(bed.ends());
  CHECK(bed.run->stop_cause() == StopCause::kSignal);
}

// The backend's end gives late exits a moment; the stop has a limit of its own.
TEST_CASE("an agent that lives and never says stopped does not hold it up") {
  Bed bed(expecting(2));
  bed.run_rank(0, 1);
  bed.run_rank(1, 2);
  bed.run->stop(StopCause::kSignal, "SIGTERM");
  bed.finished(0);
  CHECK_FALSE(bed.ends(3s));
  REQUIRE(bed.ends(20s));
}

TEST_CASE("a backend that cannot go on, and a world that broke") {
  Bed bed(expecting(1));
  bed.events.on_failed(Error{"exe_not_found", "no mpirun", "", "", ""});
  CHECK(bed.run->stop_cause() == StopCause::kBackendFailed);
  bed.all_stopped();
  REQUIRE(bed.ends());
  Bed broken(expecting(2));
  broken.events.on_world_broken(
      Error{"rank_missing", "rank 1 did not reach MPI_Init", "", "", ""}, 1);
  CHECK(broken.run->stop_cause() == StopCause::kWorldBroken);
  REQUIRE(broken.run->stop_finding());
  CHECK(broken.run->stop_finding()->code == "rank_missing");
  CHECK(broken.run->stop_finding()->rank == 1);
}

TEST_CASE("MPI_Abort waits for the exit that carries its code") {
  Bed bed(expecting(1));
  const ProcessKey key = bed.run_rank(0, 1);
  bed.events.on_rank_aborted(key, 7, "bad input");
  CHECK(bed.run->stop_cause() == StopCause::kNone);
  bed.exit(key, 7 << 8);
  CHECK(bed.run->stop_cause() == StopCause::kRankFailed);
  CHECK(bed.run->ranks().records().front().exit.wait_status == 7 << 8);
  Bed hung(expecting(1));
  hung.events.on_rank_aborted(hung.run_rank(0, 1), 7, "");
  REQUIRE(run_until(hung.loop, [&] { return hung.stops() == 1; }));
  CHECK(hung.run->stop_reason().find("MPI_Abort with code 7") !=
        std::string::npos);
}

TEST_CASE("a secret in the text of MPI_Abort is masked") {
  Bed bed(expecting(1));
  auto masker = Masker::create({{{"API_TOKEN", "hunter2hunter2"}}, {}});
  REQUIRE(masker);
  bed.output.set_masker(std::move(*masker));
  bed.events.on_rank_aborted(bed.run_rank(0, 1), 7, "no login: hunter2hunter2");
  REQUIRE(run_until(bed.loop, [&] { return bed.stops() == 1; }));
  CHECK(bed.run->stop_reason().find("no login: [masked]") != std::string::npos);
}

TEST_CASE("MPI_Abort is the cause, though the rank printed nothing") {
  Bed bed(expecting(1));
  const ProcessKey key = bed.run_rank(0, 1);
  bed.events.on_rank_aborted(key, -29, "out of luck");
  bed.exit(key, 227 << 8);
  Evidence evidence;
  add_run(*bed.run, bed.output, evidence.job);
  evidence.ranks = rank_evidence(*bed.run, bed.output, 1);
  const Verdict verdict = diagnose(evidence);
  CHECK(verdict.code == "mpi_abort_by_user");
  CHECK(verdict.exit_code == 227);
  CHECK(verdict.first_rank == 0);
  CHECK(verdict.cause == "MPI_Abort with code -29");
}

TEST_CASE("signals go to what runs, and then to each rank once") {
  Bed bed(expecting(2));
  REQUIRE(bed.connected);
  bed.run->signal_ranks(10);  // before any rank: mpirun may know what to do
  for (auto& peer : bed.fleet.peers) {
    const auto request = wire::from_json<wire::SignalRequest>(
        peer->last(wire::FrameType::kSignal));
    REQUIRE(request);
    CHECK(request->signal == 10);
    CHECK(peer->count(wire::FrameType::kSignal) == 1);
  }
  bed.run_rank(0, 1);
  bed.exit(bed.run_rank(1, 2), 0);
  bed.run->signal_ranks(12);
  CHECK(bed.fleet.peers[0]->count(wire::FrameType::kSignal) == 1);
  CHECK(bed.fleet.peers[2]->count(wire::FrameType::kSignal) == 1);
  REQUIRE(bed.fleet.peers[1]->count(wire::FrameType::kSignal) == 2);
  CHECK(bed.fleet.peers[1]->got.back().id == 1);
}

TEST_CASE("an exit told twice counts once; strangers are ignored") {
  Bed bed(expecting(1));
  const ProcessKey key = bed.run_rank(0, 1);
  bed.exit({9, 9}, kExit3);
  CHECK(bed.run->stop_cause() == StopCause::kNone);
  bed.exit(key, 0);
  bed.exit(key, kExit3);
  CHECK(bed.run->stop_cause() == StopCause::kNone);
  CHECK(bed.run->ranks().records().front().exit.wait_status == 0);
}

TEST_CASE("a rank that failed before its worker gave up is the cause") {
  Bed bed(expecting(2));
  bed.run_rank(0, 1);
  const ProcessKey failing = bed.run_rank(1, 2);
  bed.exit(failing, kExit3);
  bed.run->worker_gave_up(2);  // its agent said so after the rank's end
  CHECK(bed.run->stop_cause() == StopCause::kRankFailed);
  CHECK_FALSE(bed.run->stalled());
  // Another worker may have given up earlier, and be read of later.
  bed.run->worker_gave_up(1);
  CHECK(bed.run->stalled());
}

TEST_CASE("nodes as evidence: ready, late, lost, and their memory") {
  Bed bed;
  PodRecords pods;
  pods[1].lost = Error{"worker_silent", "worker lost", "", "w-0", ""};
  pods[1].lost_ns = 77;
  pods[1].memory = {{1, 10, 100, 10, 4}, {2, 20, 100, 20, 5}};
  const auto nodes = node_evidence(
      *bed.fleet.fleet, pods,
      {{2, "w-1", "tcp", Error{"tcp_refused", "no", "", "", ""}}});
  REQUIRE(nodes.size() == 3);
  CHECK(nodes[0].outcome == NodeOutcome::kConnected);
  CHECK(nodes[1].outcome == NodeOutcome::kLost);
  CHECK(nodes[1].lost_ns == 77);
  CHECK(nodes[1].oom_kills_at_start == 4);
  CHECK(nodes[1].memory.size() == 2);
  CHECK(nodes[2].outcome == NodeOutcome::kNeverReady);
  CHECK(nodes[2].step == "tcp");
}

TEST_CASE("ranks as evidence: exits, tails, and who was stopped by us") {
  Bed bed(expecting(2));
  const ProcessKey a = bed.run_rank(0, 1);
  const ProcessKey b = bed.run_rank(1, 2);
  wire::Frame frame;
  frame.type = wire::FrameType::kOutput;
  frame.flags = wire::kStderr;
  frame.payload = wire::output_payload(5, "Traceback\n");
  {
    const test::CapturedStdio captured;
    bed.output.frame(a, frame);
    bed.output.drain(5s);
  }
  bed.exit(a, kExit3);
  bed.exit(b, kKilled);
  const auto ranks = rank_evidence(*bed.run, bed.output, 2);
  REQUIRE(ranks.size() == 2);
  CHECK(ranks[0].wait_status == kExit3);
  CHECK(ranks[0].pid == 100);
  CHECK_FALSE(ranks[0].stopped_by_us);
  REQUIRE(ranks[0].lines.size() == 1);
  CHECK(ranks[0].lines[0].text == "Traceback");
  CHECK(ranks[0].lines[0].stderr_stream);
  CHECK(ranks[1].stopped_by_us);
  CHECK(diagnose(Evidence{{}, ranks, {}, {}}).exit_code == 3);
}

// A rank that says this and is then asked where it is.
struct RaisingBed : Bed {
  explicit RaisingBed(RunOptions options) : Bed(std::move(options)) {
    log::redirect([this](const std::string& line) { told += line; });
    run_rank(0, 1);
    raised = run_rank(1, 2);
    fleet.peers[2]->say(
        wire::FrameType::kOutput, raised.id,
        wire::output_payload(
            1'000,
            "Traceback (most recent call last):\n  File \"t.py\", line 6\n"
            "    raise ValueError(17)\nValueError: 17\n"),
        wire::kStderr);
  }
  ~RaisingBed() { log::redirect({}); }
  bool asked() {
    return run_until(loop, [this] {
      return fleet.peers[2]->count(wire::FrameType::kStackRequest) == 1;
    });
  }
  void answer(const std::string& place) {
    wire::StackReply reply;
    reply.ranks.push_back({1, 7, "python3", "S", 1, {place, "main (p)"}, ""});
    for (const size_t node : {0, 1}) {
      fleet.peers[node]->say(wire::FrameType::kStackReply, 1,
                             wire::to_json(wire::StackReply{}));
    }
    fleet.peers[2]->say(wire::FrameType::kStackReply, 1, wire::to_json(reply));
    run_for(loop, 50ms);
  }

  ProcessKey raised;
  std::string told;
};

RunOptions impatient() {
  RunOptions options = expecting(2);
  options.hang.after_exception = 50ms;
  return options;
}

TEST_CASE("a rank that raised and waits in MPI_Finalize is named") {
  RaisingBed bed(impatient());
  REQUIRE(bed.asked());
  bed.answer("PMPI_Finalize (libmpi.so.40)");
  CHECK(bed.told.find("rank 1 on w-1 raised \"ValueError: 17\" and does not "
                      "end: it waits for the other ranks in PMPI_Finalize") !=
        std::string::npos);
  REQUIRE(bed.run->hang());
  CHECK(bed.run->hang()->severity == Severity::kWarning);
  CHECK(bed.run->stop_cause() == StopCause::kNone);
}

// Both ranks answer.
struct FailingBed : RaisingBed {
  explicit FailingBed(RunOptions options) : RaisingBed(std::move(options)) {}
  void answer_all(const std::string& first, int uncaught, uint32_t question) {
    REQUIRE(run_until(loop, [this, question] {
      return fleet.peers[1]->count(wire::FrameType::kStackRequest) == question;
    }));
    const std::string outer = "Py_RunMain (python3)";
    wire::StackReply zero;
    zero.ranks.push_back({0, 6, "p", "S", 1, {first, "main (p)"}, ""});
    wire::StackReply one;
    one.ranks.push_back(
        {1, 7, "p", "S", 1, {"PMPI_Finalize (libmpi)", outer}, "", uncaught});
    fleet.peers[0]->say(wire::FrameType::kStackReply, question,
                        wire::to_json(wire::StackReply{}));
    fleet.peers[1]->say(wire::FrameType::kStackReply, question,
                        wire::to_json(zero));
    fleet.peers[2]->say(wire::FrameType::kStackReply, question,
                        wire::to_json(one));
    run_for(loop, 50ms);
  }
};

TEST_CASE("a rank that raised and can never end has failed") {
  FailingBed bed(impatient());
  bed.answer_all("PMPI_Recv (libmpi)", 1, 1);
  REQUIRE(bed.run->stuck().size() == 1);
  CHECK(bed.run->stuck().begin()->second.sure);
  CHECK(state_text(bed.run->stuck().begin()->second) ==
        "in PMPI_Finalize after ValueError: 17");
  CHECK(bed.run->stop_cause() == StopCause::kRankFailed);
  CHECK(bed.run->stop_reason().find("rank 1 on w-1 raised") !=
        std::string::npos);
  const auto ranks = rank_evidence(*bed.run, bed.output, 2);
  CHECK(ranks[1].outcome == RankOutcome::kExited);
  CHECK(ranks[1].wait_status == 1 << 8);
  CHECK_FALSE(ranks[1].stopped_by_us);
}

TEST_CASE("no such rank is ended where it may come to its end") {
  struct Case {
    const char* first;
    int uncaught;
    bool end;
  };
  for (const Case& one : {Case{"PMPI_Recv (libmpi)", 0, true},
                          Case{"PMPI_Finalize (libmpi)", 1, true},
                          Case{"PMPI_Recv (libmpi)", 1, false}}) {
    INFO(one.first << " " << one.uncaught << " " << one.end);
    RunOptions options = impatient();
    options.hang.end_after_exception = one.end;
    FailingBed bed(std::move(options));
    bed.answer_all(one.first, one.uncaught, 1);
    bed.answer_all(one.first, one.uncaught, 2);
    CHECK(bed.run->stop_cause() == StopCause::kNone);
  }
}

TEST_CASE("an exception that the program has caught is none of ours") {
  RaisingBed bed(impatient());
  REQUIRE(bed.asked());
  bed.answer("PMPI_Allreduce (libmpi.so.40)");
  CHECK(bed.told.find("ValueError") == std::string::npos);
  CHECK_FALSE(bed.run->hang());
}

TEST_CASE("a rank that has ended is not asked where it is") {
  RaisingBed bed(impatient());
  bed.exit(bed.raised, 0);
  run_for(bed.loop, 700ms);
  CHECK(bed.fleet.peers[2]->count(wire::FrameType::kStackRequest) == 0);
}

// Two silent ranks that are asked where they are.
struct SilentBed : Bed {
  explicit SilentBed(bool stop) : Bed(silent(stop)) {
    log::redirect([this](const std::string& line) { told += line + "\n"; });
    run_rank(0, 1);
    run_rank(1, 2);
  }
  ~SilentBed() { log::redirect({}); }
  static RunOptions silent(bool stop) {
    RunOptions options = expecting(2);
    options.hang.silence = 20ms;
    options.hang.shortest_pause = 20ms;
    options.hang.stop = stop;
    return options;
  }
  // To the next question; true: it was NCCL's and PyTorch's turn, too.
  bool answer(std::vector<std::string> zero, std::vector<std::string> one,
              const std::string& nccl = {}) {
    ++question;
    REQUIRE(run_until(loop, [this] {
      return fleet.peers[2]->count(wire::FrameType::kStackRequest) == question;
    }));
    const auto asked = wire::stack_request_from_json(
        fleet.peers[1]->last(wire::FrameType::kStackRequest));
    REQUIRE(asked);
    wire::StackReply reply;
    reply.nccl = nccl;
    say(0, reply);
    for (const int rank : {0, 1}) {
      reply.ranks = {{rank, 100 + rank, "p", "S", 1, rank == 0 ? zero : one}};
      reply.ranks[0].cpu_ms = cpu_ms * question;
      say(rank == 0 ? 1 : 2, reply);
    }
    run_for(loop, 20ms);
    return asked->nccl == 1 && asked->flight == wire::kFlightAsk;
  }
  void say(size_t node, const wire::StackReply& reply) {
    fleet.peers[node]->say(wire::FrameType::kStackReply, question,
                           wire::to_json(reply));
  }
  [[nodiscard]] size_t times(const std::string& text) const {
    size_t found = 0;
    for (size_t at = told.find(text); at != std::string::npos;
         at = told.find(text, at + 1)) {
      ++found;
    }
    return found;
  }

  uint32_t question = 0;
  int64_t cpu_ms = 0;  // more at each question
  std::string told;
};

const std::vector<std::string> kWaits = {
    "poll (libc.so.6)", "PMPI_Allreduce (libmpi.so)", "main (app)"};
const std::vector<std::string> kLoads = {"read (libc.so.6)", "load (app)",
                                         "main (app)"};

TEST_CASE("silent ranks that compute are at work: told once, never stopped") {
  SilentBed bed(true);
  bed.cpu_ms = 60'000;
  for (int look = 0; look < 4; ++look) CHECK_FALSE(bed.answer(kLoads, kWaits));
  CHECK(bed.run->stop_cause() == StopCause::kNone);
  CHECK(bed.times("the ranks are at work: CPU time (rank 0)") == 1);
  CHECK_FALSE(bed.run->hang());
}

TEST_CASE("a hang ends the job after NCCL and PyTorch were asked, too") {
  SilentBed bed(true);
  CHECK_FALSE(bed.answer(kWaits, kLoads));
  CHECK_FALSE(bed.answer(kWaits, kLoads));
  CHECK(bed.answer(kWaits, kLoads));
  CHECK(bed.run->stop_cause() == StopCause::kNone);
  CHECK(bed.answer(kWaits, kLoads));
  CHECK(bed.run->stop_cause() == StopCause::kHang);
  REQUIRE(bed.run->hang());
  CHECK(bed.run->hang()->text.starts_with(
      "Rank 1 holds up the rest, by the stacks: no rank has printed anything "
      "for "));
  CHECK(bed.run->hang()->evidence.find("rank 1 on w-1 is in main > load > "
                                       "read and not in PMPI_Allreduce, where "
                                       "the others wait") != std::string::npos);
  REQUIRE(bed.run->stop_finding());
  CHECK(bed.run->stop_finding()->rank == 1);
}

TEST_CASE("no hang ends the job while NCCL's counts grow") {
  const auto report = [](int number) {
    return "#0-0 (1) MISMATCH\n"
           "  Communicator ranks have different AllReduce operation counts\n"
           "  Rank 0 has launched up to operation " +
           std::to_string(number + 1) +
           " -- GPU 0 managed by process 100 on node x\n"
           "  Rank 1 has launched up to operation " +
           std::to_string(number) +
           " -- GPU 0 managed by process 101 on node x\n";
  };
  SilentBed bed(true);
  bed.answer(kWaits, kLoads);
  bed.answer(kWaits, kLoads);
  CHECK(bed.answer(kWaits, kLoads, report(20)));
  CHECK(bed.answer(kWaits, kLoads, report(30)));
  CHECK(bed.run->stop_cause() == StopCause::kNone);
  CHECK(bed.times("at work: NCCL's operation counts") == 1);
  // It is looked at again, and then they do not.
  CHECK_FALSE(bed.answer(kWaits, kLoads));
  CHECK_FALSE(bed.answer(kWaits, kLoads));
  CHECK(bed.answer(kWaits, kLoads, report(31)));
  CHECK(bed.answer(kWaits, kLoads, report(31)));
  CHECK(bed.run->stop_cause() == StopCause::kHang);
}

TEST_CASE("ranks that all sleep in their own code are told of, not stopped") {
  SilentBed bed(true);
  for (int look = 0; look < 4; ++look) CHECK_FALSE(bed.answer(kLoads, kLoads));
  CHECK(bed.run->stop_cause() == StopCause::kNone);
  CHECK(bed.times("No rank is at work or waits for another: no rank has "
                  "printed anything for ") == 1);
  CHECK(bed.times("The job goes on") == 1);
  REQUIRE(bed.run->hang());
  CHECK(bed.run->hang()->severity == Severity::kWarning);
}

TEST_CASE(
    "a hang is told once where the job is to go on, and nobody is asked") {
  SilentBed bed(false);
  CHECK_FALSE(bed.answer(kWaits, kWaits));
  CHECK_FALSE(bed.answer(kWaits, kWaits));
  CHECK(bed.times("The ranks hang: no rank has printed anything") == 1);
  run_for(bed.loop, 1200ms);
  CHECK(bed.fleet.peers[2]->count(wire::FrameType::kStackRequest) == 2);
  CHECK(bed.run->stop_cause() == StopCause::kNone);
}

}  // namespace
}  // namespace muster
