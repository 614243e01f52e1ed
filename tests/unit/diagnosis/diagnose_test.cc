// SPDX-License-Identifier: Apache-2.0
// The rules of ranking, one by one, and the users' own sentences.
#include <csignal>

#include "catch.h"
#include "diagnosis/log/log_evidence.h"
#include "diagnosis/verdict.h"
#include "diagnosis/who.h"

using namespace muster;

namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kGib = int64_t{1} << 30;

RankEvidence exited(int rank, int wait_status, int64_t at_ms,
                    std::vector<std::string> lines = {}) {
  RankEvidence evidence;
  evidence.rank = rank;
  evidence.node = rank + 1;
  evidence.host = "pi-worker-" + std::to_string(rank);
  evidence.outcome = RankOutcome::kExited;
  evidence.wait_status = wait_status;
  evidence.exit_ns = at_ms * kMs;
  for (std::string& line : lines) {
    evidence.lines.push_back({(at_ms - 5) * kMs, true, std::move(line)});
  }
  return evidence;
}

NodeEvidence node(int number) {
  NodeEvidence evidence;
  evidence.node = number;
  evidence.host = "pi-worker-" + std::to_string(number - 1);
  evidence.outcome = NodeOutcome::kConnected;
  return evidence;
}

Evidence job(std::vector<RankEvidence> ranks) {
  Evidence evidence;
  evidence.job.backend = "pmix";
  evidence.job.phase = "run";
  evidence.job.world_size = static_cast<int>(ranks.size());
  evidence.ranks = std::move(ranks);
  return evidence;
}

Verdict of_log(std::string_view text) {
  return diagnose(evidence_from_log(text, RuleBook::built_in()));
}

}  // namespace

// As Open MPI 4.1.4 said them, of a file that is not there and of a name that
// is not on PATH.
TEST_CASE("mpirun's words on a program name it, and the host") {
  bool not_executable = false;
  const auto refused = [&](std::vector<std::string> lines, int status) {
    Evidence evidence = job({});
    evidence.job.not_executable = not_executable;
    evidence.job.backend = "mpirun";
    evidence.job.world_size = 2;
    evidence.job.tool_ended = true;
    evidence.job.tool_status = status << 8;
    for (int rank = 0; rank < 2; ++rank) {
      RankEvidence never;
      never.rank = rank;
      never.outcome = RankOutcome::kNeverStarted;
      evidence.ranks.push_back(never);
    }
    for (size_t i = 0; i < lines.size(); ++i) {
      evidence.job.tool_lines.push_back(
          {500 * kMs, true, std::move(lines[i])});  // written at once
    }
    return diagnose(evidence);
  };
  const std::string rule(74, '-');
  const Verdict missing = refused(
      {rule,
       "mpirun was unable to launch the specified application as it could "
       "not access",
       "or execute an executable:", "", "Executable: /no/such/program",
       "Node: pi-worker-0.pi.ml.svc", "",
       "while attempting to start process rank 0.", rule,
       "2 total processes failed to start"},
      132);
  INFO(verdict_text(missing));
  CHECK(missing.code == "exe_not_runnable");
  CHECK(missing.exit_code == 127);
  CHECK(missing.headline.find("/no/such/program") != std::string::npos);
  CHECK(missing.headline.find("pi-worker-0.pi.ml.svc") != std::string::npos);
  CHECK(missing.also.empty());
  CHECK(missing.exit_class == "not_found");
  not_executable = true;
  const Verdict unusable = refused(
      {rule,
       "mpirun was unable to launch the specified application as it could "
       "not access",
       "or execute an executable:", "", "Executable: /no/such/program",
       "Node: pi-worker-0.pi.ml.svc", "",
       "while attempting to start process rank 0.", rule,
       "2 total processes failed to start"},
      132);
  CHECK(unusable.exit_code == 126);
  CHECK(unusable.exit_class == "not_executable");
  not_executable = false;
  const Verdict unknown = refused(
      {rule,
       "mpirun was unable to find the specified executable file, and "
       "therefore",
       "did not launch the job.  This error was first reported for "
       "process",
       "rank 1; it may have occurred for other processes as well.", "",
       "NOTE: A common cause for this error is misspelling a mpirun command",
       "      line parameter option (remember that mpirun interprets the first",
       "      unrecognized command line token as the executable).", "",
       "Node:       pi-worker-1.pi.ml.svc", "Executable: nosuchthing", rule,
       "2 total processes failed to start"},
      134);
  INFO(verdict_text(unknown));
  CHECK(unknown.exit_code == 127);
  CHECK(unknown.headline.find("nosuchthing") != std::string::npos);
  CHECK(unknown.headline.find("pi-worker-1.pi.ml.svc") != std::string::npos);
  CHECK(unknown.also.empty());
  CHECK(verdict_text(unknown).find("rank 1 wrote") == std::string::npos);
}

// Open MPI in rank 0, which lost its peer, warns; rank 1 said nothing.
TEST_CASE("what a victim wrote is not heard of the rank that failed") {
  Evidence evidence =
      job({exited(0, 15, 520,
                  {"[w-0:12] mca_btl_tcp_frag_recv: readv failed somehow"}),
           exited(1, 7 << 8, 500)});
  evidence.job.backend = "mpirun";
  evidence.job.tool_ended = true;
  evidence.job.tool_status = 7 << 8;
  for (const char* line :
       {"mpirun detected that one or more processes exited with non-zero "
        "status, thus causing",
        "  Process name: [[60834,1],1]", "  Exit code:    7"}) {
    evidence.job.tool_lines.push_back({530 * kMs, true, line});
  }
  const Verdict verdict = diagnose(evidence);
  INFO(verdict_text(verdict));
  CHECK(verdict.exit_code == 7);
  CHECK(verdict.first_rank == 1);
  CHECK(verdict_text(verdict).find("readv") == std::string::npos);
}

TEST_CASE("the users' sentence on GPU memory, with their numbers") {
  Evidence evidence = job({exited(0, 15, 900), exited(1, 15, 900),
                           exited(2, 1 << 8, 500,
                                  {"torch.cuda.OutOfMemoryError: CUDA out of "
                                   "memory. Tried to allocate 2.00 GiB"})});
  evidence.ranks[0].stopped_by_us = evidence.ranks[1].stopped_by_us = true;
  evidence.job.argv = {"python", "train.py", "--batch-size", "128"};
  const Verdict verdict = diagnose(evidence);
  CHECK(verdict.headline ==
        "Worker-2 ran out of GPU memory (rank 2 on pi-worker-2)");
  REQUIRE_FALSE(verdict.remedies.empty());
  CHECK(verdict.remedies[0] == "reduce the batch size from 128 to 64");
  CHECK(verdict.exit_code == 1);
  CHECK(verdict.exit_class == "rank_failed");
}

TEST_CASE("the users' sentence on the memory limit, with their numbers") {
  Evidence evidence = job({exited(0, 0, 900), exited(7, SIGKILL, 500)});
  evidence.ranks[1].node = 8;
  evidence.ranks[1].oom_killed = true;
  evidence.nodes = {node(8)};
  evidence.nodes[0].memory = {
      {1, 32 * kGib - (kGib / 10), 32 * kGib, 32 * kGib, 1}};
  const Verdict verdict = diagnose(evidence);
  CHECK(verdict.code == "host_oom_kill");
  CHECK(verdict.confidence == Confidence::kProven);
  CHECK(verdict.headline ==
        "Worker-7 exceeded its memory limit (32 GiB) (rank 7 on pi-worker-7)");
  CHECK(verdict.remedies[0].find("from 32 GiB to 40Gi") != std::string::npos);
  CHECK(verdict.exit_code == 137);
}

TEST_CASE("a memory kill of a worker without a limit: its node had no more") {
  Evidence evidence = job({exited(0, 0, 900), exited(7, SIGKILL, 500)});
  evidence.ranks[1].node = 8;
  evidence.ranks[1].oom_killed = true;
  evidence.nodes = {node(8)};
  evidence.nodes[0].memory = {{1, 30 * kGib, -1, 30 * kGib, 1}};
  const Verdict verdict = diagnose(evidence);
  CHECK(verdict.code == "host_oom_kill");
  CHECK(verdict.confidence == Confidence::kProven);
  CHECK(verdict.headline ==
        "Worker-7 was killed by the kernel for its memory use (rank 7 on "
        "pi-worker-7)");
  REQUIRE_FALSE(verdict.remedies.empty());
  CHECK(verdict.remedies[0].starts_with(
      "the worker has no memory limit of its own"));
  CHECK(verdict.remedies[0].find("resources.requests.memory") !=
        std::string::npos);
}

TEST_CASE("a shell whose command was killed for its memory") {
  Evidence evidence = job({exited(0, 0, 900), exited(7, 137 << 8, 500)});
  evidence.ranks[1].oom_killed = true;
  const Verdict verdict = diagnose(evidence);
  CHECK(verdict.code == "host_oom_kill");
  CHECK(verdict.confidence == Confidence::kLikely);
  CHECK(verdict.first_rank == 7);
  CHECK(verdict.exit_code == 137);
}

TEST_CASE("a bare kill is told as a kill, not as a lack of memory") {
  const Verdict verdict = of_log(
      "mpirun noticed that process rank 3 with PID 0 on node worker-3 exited "
      "on signal 9 (Killed).\n");
  CHECK(verdict.headline.starts_with(
      "Worker-3 was killed from outside (SIGKILL)"));
  CHECK(verdict.headline.find("memory") == std::string::npos);
  CHECK(verdict.code == "sigkill_unexplained");
  CHECK(verdict.first_rank == 3);
  CHECK(verdict.confidence != Confidence::kProven);
}

TEST_CASE("a kill far below the memory limit is not put down to memory") {
  Evidence evidence = job({exited(0, SIGKILL, 900)});
  evidence.ranks[0].node = 1;
  evidence.nodes = {node(1)};
  evidence.nodes[0].oom_kills_at_start = 0;
  evidence.nodes[0].memory = {{1, kGib, 32 * kGib, 31 * kGib, 0},
                              {2, 3 * kGib, 32 * kGib, 31 * kGib, 0}};
  const Verdict verdict = diagnose(evidence);
  CHECK(verdict.code == "sigkill_unexplained");
  CHECK(verdict.confidence != Confidence::kProven);
  CHECK(verdict.headline.find("not for memory") != std::string::npos);
  CHECK(verdict.headline.find("3 GiB of 32 GiB") != std::string::npos);
  REQUIRE_FALSE(verdict.remedies.empty());
  CHECK(verdict.remedies[0].find("the sender of the signal") !=
        std::string::npos);

  // Without a counter to read nothing is excluded.
  evidence.nodes[0].oom_kills_at_start = -1;
  CHECK(diagnose(evidence).headline.find("was killed from outside (SIGKILL)") !=
        std::string::npos);
}

TEST_CASE("whom mpirun kills after another rank's end is no first cause") {
  Evidence evidence = job({exited(0, SIGKILL, 900), exited(1, SIGTERM, 899)});
  evidence.job.backend = "mpirun";
  CHECK(diagnose(evidence).code == "terminated_external");
  CHECK(diagnose(evidence).first_rank == 1);
  // Killed first, it is.
  evidence.ranks[0].exit_ns = evidence.ranks[1].exit_ns - 5'000'000;
  CHECK(diagnose(evidence).code == "sigkill_unexplained");
  CHECK(diagnose(evidence).first_rank == 0);
}

// Horovod's shutdown: who raised waits in it for the others, who leave first.
TEST_CASE(
    "who failed and was stopped before it could leave is the first cause") {
  Evidence evidence =
      job({exited(0, 1 << 8, 905,
                  {"horovod.common.exceptions.HorovodInternalError: Horovod "
                   "has been shut down. This was caused by an exception on "
                   "one of the ranks"}),
           exited(2, SIGTERM, 930,
                  {"Traceback (most recent call last):",
                   "  File \"/opt/app/train.py\", line 32, in <module>",
                   "ValueError: bad batch in step 7"})});
  for (LineEvidence& line : evidence.ranks[1].lines) line.time_ns = 890 * kMs;
  SECTION("by us") {
    evidence.ranks[1].stopped_by_us = true;
    evidence.job.stop_ns = 910 * kMs;
  }
  SECTION("by mpirun") { evidence.job.backend = "mpirun"; }
  const Verdict verdict = diagnose(evidence);
  CHECK(verdict.code == "python_exception");
  CHECK(verdict.first_rank == 2);
  CHECK(verdict.host == "pi-worker-2");
  CHECK(verdict.exit_code == 1);
  CHECK(verdict.exit_class == "rank_failed");
}

TEST_CASE("what a stopped rank wrote counts for nothing else") {
  Evidence evidence = job({exited(0, 1 << 8, 905, {"RuntimeError: no data"}),
                           exited(2, SIGTERM, 930, {"ValueError: again"})});
  evidence.ranks[1].stopped_by_us = true;
  evidence.job.stop_ns = 910 * kMs;
  CHECK(diagnose(evidence).first_rank == 0);
  // … nor what it wrote because it was stopped.
  evidence.ranks[0].lines[0].text =
      "horovod.common.exceptions.HorovodInternalError: Horovod has been shut "
      "down.";
  evidence.ranks[1].lines[0].time_ns = 920 * kMs;
  CHECK(diagnose(evidence).code == "peer_disconnect_only");
  CHECK(diagnose(evidence).first_rank == 0);
}

// As Open MPI 5 does, a third of a second after DeepSpeed's rank 2 left.
TEST_CASE("whom mpirun tells to end was not told from outside the job") {
  Evidence evidence = job({exited(0, SIGTERM, 930), exited(1, SIGTERM, 931),
                           exited(2, 7 << 8, 600)});
  evidence.job.backend = "mpirun";
  Verdict verdict = diagnose(evidence);
  CHECK(verdict.code == "exit_nonzero_silent");
  CHECK(verdict.first_rank == 2);
  CHECK(verdict.exit_code == 7);
  // Told before it, somebody did; and without mpirun nobody else does.
  evidence.ranks[0].exit_ns = 595 * kMs;
  CHECK(diagnose(evidence).code == "terminated_external");
  evidence.ranks[0].exit_ns = 930 * kMs;
  evidence.job.backend = "pmix";
  CHECK(diagnose(evidence).code == "terminated_external");
}

// As Hydra did: the crash was heard of after what it led to.
TEST_CASE("a rank that mpirun killed does not hide a crash told later") {
  Evidence evidence = job({exited(0, SIGKILL, 600), exited(1, SIGSEGV, 640)});
  evidence.job.backend = "mpirun";
  const Verdict verdict = diagnose(evidence);
  CHECK(verdict.code == "segfault");
  CHECK(verdict.first_rank == 1);
  CHECK(verdict.exit_code == 139);
  // A failure that a killed peer may have led to is none of its reasons.
  evidence.ranks[1].wait_status = 1 << 8;
  CHECK(diagnose(evidence).code == "sigkill_unexplained");
}

TEST_CASE("a stop by hand shows who had raised and could not leave") {
  const std::vector<std::string> raised = {
      "Traceback (most recent call last):", "  File \"t.py\", line 6",
      "    raise ValueError(17)", "ValueError: bad batch 17"};
  Evidence evidence = job({exited(0, 15, 9'000), exited(1, 15, 9'000, raised)});
  evidence.ranks[0].stopped_by_us = evidence.ranks[1].stopped_by_us = true;
  evidence.job.stop_signal = SIGTERM;
  evidence.job.stop_ns = 8'900 * kMs;
  for (LineEvidence& line : evidence.ranks[1].lines) line.time_ns = 500 * kMs;
  Verdict verdict = diagnose(evidence);
  CHECK(verdict.code == "interrupted");
  REQUIRE(verdict.also.size() == 1);
  CHECK(verdict.also[0].text ==
        "Rank 1 on pi-worker-1 had written before: ValueError: bad batch 17");
  // It went on after it, or wrote it because of the stop.
  evidence.ranks[1].lines.push_back({5'000 * kMs, false, "step 18"});
  CHECK(diagnose(evidence).also.empty());
  evidence.ranks[1].lines.pop_back();
  for (LineEvidence& line : evidence.ranks[1].lines) line.time_ns = 8'950 * kMs;
  CHECK(diagnose(evidence).also.empty());
}

TEST_CASE("mpirun's own exit code is no second rank's") {
  Evidence evidence = job({exited(0, 15, 905), exited(1, 3 << 8, 900)});
  evidence.ranks[0].stopped_by_us = true;
  evidence.job.backend = "mpirun";
  evidence.job.tool_ended = true;
  evidence.job.tool_status = 3 << 8;
  const Verdict verdict = diagnose(evidence);
  CHECK(verdict.code == "exit_nonzero_silent");
  CHECK(verdict.first_rank == 1);
  CHECK(verdict.host == "pi-worker-1");
}

TEST_CASE("a rank that left without a word is the peer that others miss") {
  Evidence evidence =
      job({exited(0, 15, 900), exited(1, 15, 900), exited(2, 7 << 8, 500)});
  evidence.ranks[0].stopped_by_us = evidence.ranks[1].stopped_by_us = true;
  evidence.job.tool_ended = true;
  evidence.job.tool_status = SIGSEGV;  // mpirun, on its own way out
  // Stamped where it was written, so a little before the exit was known here.
  evidence.job.tool_lines = {
      {498 * kMs, true,
       "An MPI communication peer process has unexpectedly disconnected."}};
  Verdict verdict = diagnose(evidence);
  CHECK(verdict.code == "exit_nonzero_silent");
  CHECK(verdict.first_rank == 2);
  CHECK(verdict.exit_code == 7);

  // Long after a peer was missed it is a victim itself.
  evidence.ranks[2].exit_ns = 5'000 * kMs;
  verdict = diagnose(evidence);
  CHECK(verdict.code == "peer_disconnect_only");
}

TEST_CASE("the users' sentence on the network") {
  Evidence evidence = job({});
  evidence.job.start_deadline_hit = true;
  evidence.job.start_deadline_ms = 60000;
  const Verdict verdict = diagnose(evidence);
  CHECK(verdict.exit_code == 203);
  CHECK(verdict.retryable);
  REQUIRE_FALSE(verdict.remedies.empty());
  CHECK(verdict.remedies[0].starts_with(
      "Check if InfiniBand network is available"));
  CHECK(verdict.remedies[0].find("btl tcp,self") != std::string::npos);
}

TEST_CASE("SIGTERM from outside proves that a pod was ended, not why") {
  Evidence evidence = job({exited(0, 15, 900), exited(1, 15, 901)});
  evidence.job.progress = "epoch 45/100";
  evidence.nodes = {node(1)};
  evidence.nodes[0].told_to_leave = true;
  const Verdict verdict = diagnose(evidence);
  CHECK(verdict.headline.starts_with(
      "The job was ended from outside at epoch 45/100"));
  CHECK(verdict.headline.find("got SIGTERM") != std::string::npos);
  CHECK(verdict.headline.find("mpt") == std::string::npos);  // pre-empted
  CHECK(verdict.exit_code == 202);
  CHECK(verdict.retryable);
  evidence.nodes.clear();
  evidence.job.stop_signal = SIGTERM;
  evidence.job.preempted = true;
  const Verdict of_launcher = diagnose(evidence);
  CHECK(of_launcher.code == "pod_terminated");
  CHECK(of_launcher.headline.find("the launcher's pod got SIGTERM") !=
        std::string::npos);
  CHECK(of_launcher.exit_code == 202);
}

TEST_CASE("a GPU that we have seen is not absent") {
  Evidence evidence =
      job({exited(0, 1 << 8, 900, {"RuntimeError: No CUDA GPUs are available"}),
           exited(1, 0, 901)});
  evidence.nodes = {node(0)};
  evidence.nodes[0].host = evidence.ranks[0].host;
  evidence.nodes[0].node = evidence.ranks[0].node;
  CHECK(diagnose(evidence).code == "gpu_driver_platform");
  evidence.nodes[0].gpus = 8;
  evidence.nodes[0].gpu_driver = "580.159.04";
  {
    const Verdict seen = diagnose(evidence);
    INFO(seen.headline << "; " << seen.cause);
    CHECK(seen.code != "gpu_driver_platform");
  }
  evidence.nodes[0].gpus_hidden_by = "CUDA_VISIBLE_DEVICES=";
  const Verdict hidden = diagnose(evidence);
  CHECK(hidden.code == "gpus_hidden");
  CHECK(hidden.headline.find("CUDA_VISIBLE_DEVICES= hides all 8") !=
        std::string::npos);
  CHECK(hidden.exit_code == 1);
}

TEST_CASE("victims never win over the first cause") {
  const Verdict verdict = diagnose(
      job({exited(0, SIGABRT, 400, {"Connection reset by peer"}),
           exited(1, 1 << 8, 410, {"ncclRemoteError: remote process exited"}),
           exited(2, SIGSEGV, 450, {})}));
  CHECK(verdict.code == "segfault");
  CHECK(verdict.first_rank == 2);
  CHECK(verdict.exit_code == 139);
}

TEST_CASE("the earlier of two causes wins, the time of the line counts") {
  const Verdict verdict =
      diagnose(job({exited(0, 1 << 8, 600, {"KeyError: 'b'"}),
                    exited(1, 1 << 8, 500,
                           {"FileNotFoundError: [Errno 2] No such "
                            "file or directory: '/data/x'"})}));
  CHECK(verdict.code == "data_missing");
  CHECK(verdict.first_rank == 1);
}

TEST_CASE("what is written after the stop is no cause") {
  Evidence evidence = job({exited(0, 1 << 8, 900, {"CUDA out of memory"}),
                           exited(1, 3 << 8, 500, {"bad input deck"})});
  evidence.job.stop_ns = 510 * kMs;
  const Verdict verdict = diagnose(evidence);
  CHECK(verdict.code == "exit_nonzero_silent");
  CHECK(verdict.first_rank == 1);
  CHECK(verdict.exit_code == 3);
}

TEST_CASE("a failure that all ranks share has no single culprit") {
  std::vector<RankEvidence> ranks;
  for (int rank = 0; rank < 16; ++rank) {
    ranks.push_back(exited(rank, 127 << 8, 100 + rank,
                           {"./app: error while loading shared libraries: "
                            "libfoo.so.3: cannot open shared object file"}));
  }
  const Verdict verdict = diagnose(job(std::move(ranks)));
  CHECK(verdict.code == "shared_lib_missing");
  CHECK(verdict.equal_failures == 16);
  CHECK(verdict.first_rank == -1);
  CHECK(verdict.headline ==
        "All 16 ranks cannot load the shared library libfoo.so.3");
  CHECK(verdict.exit_code == 127);
}

TEST_CASE("a lost worker at its memory limit is a likely memory kill") {
  Evidence evidence = job({exited(0, 0, 900)});
  evidence.ranks[0].outcome = RankOutcome::kLost;
  evidence.nodes = {node(1)};
  NodeEvidence& lost = evidence.nodes[0];
  lost.outcome = NodeOutcome::kLost;
  lost.lost_ns = 500 * kMs;
  lost.error = {"worker_silent", "worker lost", "no answer for 12 s",
                "pi-worker-0", ""};
  SECTION("who gave the launcher up tells of the launcher") {
    lost.error.code = "launcher_silent";
    const Verdict verdict = diagnose(evidence);
    CHECK(verdict.code == "launcher_stalled");
    CHECK(verdict.confidence == Confidence::kLikely);
    CHECK(verdict.exit_code == 201);
    CHECK(verdict.retryable);
  }
  SECTION("without samples it is just lost") {
    const Verdict verdict = diagnose(evidence);
    CHECK(verdict.code == "daemon_lost");
    CHECK(verdict.exit_code == 201);
    CHECK(verdict.host == "pi-worker-0");
  }
  SECTION("near the limit: likely") {
    lost.memory = {{1, 31 * kGib, 32 * kGib, 31 * kGib, 0}};
    lost.oom_kills_at_start = 0;
    const Verdict verdict = diagnose(evidence);
    CHECK(verdict.code == "host_oom_kill");
    CHECK(verdict.confidence == Confidence::kLikely);
    CHECK(verdict.exit_code == 204);
    CHECK(verdict.retryable);
  }
  SECTION("filling so fast that the limit came before the next sample") {
    lost.oom_kills_at_start = 0;
    lost.memory = {{100 * kMs, 20 * kGib, 32 * kGib, -1, 0},
                   {300 * kMs, 26 * kGib, 32 * kGib, -1, 0}};
    const Verdict verdict = diagnose(evidence);
    CHECK(verdict.code == "host_oom_kill");
    CHECK(verdict.confidence == Confidence::kLikely);
    lost.lost_ns = 12'000 * kMs;  // it fell silent long before
    CHECK(diagnose(evidence).code == "daemon_lost");
  }
  SECTION("the only rank of a pod is the one that took the memory") {
    lost.memory = {{1, 31 * kGib, 32 * kGib, 31 * kGib, 0}};
    evidence.ranks[0].node = lost.node;
    CHECK(diagnose(evidence).first_rank == 0);
    evidence.ranks.push_back(evidence.ranks[0]);
    evidence.ranks[1].rank = 1;
    CHECK(diagnose(evidence).first_rank == -1);
  }
  SECTION("a counter that rose: proven") {
    lost.memory = {{1, 31 * kGib, 32 * kGib, 31 * kGib, 1}};
    lost.oom_kills_at_start = 0;
    CHECK(diagnose(evidence).confidence == Confidence::kProven);
  }
}

TEST_CASE("workers that were never ready") {
  struct Case {
    const char* error;
    const char* code;
    int exit_code;
  };
  for (const Case& one : {Case{"dns_unresolved", "dns_unresolved", 200},
                          Case{"dns_failure", "dns_unresolved", 200},
                          Case{"tcp_refused", "ssh_unreachable", 200},
                          Case{"tcp_filtered", "ssh_unreachable", 200},
                          Case{"ssh_banner", "sshd_unavailable", 200},
                          Case{"ssh_foreign", "ssh_foreign", 200},
                          Case{"ssh_auth", "ssh_auth", 100},
                          Case{"ssh_hostkey", "ssh_hostkey", 100},
                          Case{"ssh_exec", "agent_unusable", 100},
                          Case{"version_mismatch", "agent_version", 100}}) {
    Evidence evidence;
    evidence.job.phase = "connect";
    evidence.nodes = {node(1), node(2)};
    evidence.nodes[1].outcome = NodeOutcome::kNeverReady;
    evidence.nodes[1].error = {one.error, "cannot connect", "a reason",
                               "pi-worker-1", ""};
    const Verdict verdict = diagnose(evidence);
    INFO(one.error);
    CHECK(verdict.code == one.code);
    CHECK(verdict.exit_code == one.exit_code);
    CHECK(verdict.host == "pi-worker-1");
    CHECK(verdict.headline.find("pi-worker-1") != std::string::npos);
    CHECK_FALSE(verdict.remedies.empty());
  }
}

TEST_CASE(
    "a worker that a launcher cannot reach: the port is in the headline") {
  Evidence evidence;
  evidence.job.phase = "connect";
  evidence.nodes = {node(1)};
  evidence.nodes[0].outcome = NodeOutcome::kNeverReady;
  SECTION("silence") {
    evidence.nodes[0].error = {"tcp_filtered", "no answer on TCP port 2222",
                               "nothing came back within 3 s", "", ""};
    CHECK(diagnose(evidence).headline ==
          "pi-worker-0: no answer on TCP port 2222; the traffic is dropped on "
          "the way");
  }
  SECTION("a refusal") {
    evidence.nodes[0].error = {"tcp_refused", "nothing listens on port 2222",
                               "10.1.1.1 Connection refused", "", ""};
    CHECK(diagnose(evidence).headline ==
          "pi-worker-0: nothing listens on port 2222");
  }
}

TEST_CASE("a DNS that gives no answer does not prove that a name is missing") {
  Evidence evidence;
  evidence.job.phase = "connect";
  evidence.nodes = {node(1)};
  evidence.nodes[0].outcome = NodeOutcome::kNeverReady;
  evidence.nodes[0].error = {"dns_failure", "the DNS server failed to answer",
                             "Temporary failure in name resolution", "", ""};
  const Verdict verdict = diagnose(evidence);
  CHECK(verdict.code == "dns_unresolved");
  CHECK(verdict.headline ==
        "pi-worker-0 cannot be looked up: the cluster's DNS gives no answer");
  REQUIRE_FALSE(verdict.remedies.empty());
  CHECK(verdict.remedies[0].find("port 53") != std::string::npos);
}

TEST_CASE("own limits, findings, refusals") {
  Evidence evidence = job({exited(0, 15, 900), exited(1, 15, 901)});
  for (RankEvidence& rank : evidence.ranks) rank.stopped_by_us = true;
  SECTION("time limit") {
    evidence.job.time_limit_hit = true;
    evidence.job.time_limit_ms = 3'600'000;
    evidence.job.stop_ns = 890 * kMs;
    const Verdict verdict = diagnose(evidence);
    CHECK(verdict.code == "timeout_walltime");
    CHECK(verdict.exit_code == 124);
    CHECK(verdict.remedies[0].find("7200s") != std::string::npos);
  }
  SECTION("planning") {
    evidence.ranks.clear();
    evidence.job.phase = "agree";
    evidence.findings = {{Severity::kError, "not_enough_slots",
                          "cannot place 64 ranks on 4 hosts", "", ""}};
    const Verdict verdict = diagnose(evidence);
    CHECK(verdict.code == "not_enough_slots");
    CHECK(verdict.exit_code == 100);
    CHECK(verdict.headline == "cannot place 64 ranks on 4 hosts");
  }
  SECTION("a program that cannot be started") {
    evidence.ranks[1].outcome = RankOutcome::kRefused;
    evidence.ranks[1].stopped_by_us = false;
    evidence.ranks[1].refusal = {"exe_not_found", "cannot start ./app",
                                 "No such file or directory", "pi-worker-1",
                                 ""};
    evidence.job.argv = {"mpirun", "-np", "2", "./app"};
    const Verdict verdict = diagnose(evidence);
    CHECK(verdict.code == "exe_not_runnable");
    CHECK(verdict.headline.find("cannot start ./app") != std::string::npos);
    CHECK(verdict.exit_code == 127);
    CHECK(verdict.confidence == Confidence::kProven);
  }
  SECTION("arguments and environment that are too large") {
    RankEvidence& rank = evidence.ranks[1];
    rank.outcome = RankOutcome::kRefused;
    rank.stopped_by_us = false;
    rank.refusal_exit_code = 126;
    evidence.job.argv = {"mpirun", "-np", "2", "./app"};
    SECTION("for the kernel") {
      rank.refusal = {"exe_not_runnable", "cannot start ./app",
                      "Argument list too long", "pi-worker-1", ""};
      CHECK(diagnose(evidence).headline.find("cannot start ./app") !=
            std::string::npos);
    }
    SECTION("for a message to a worker") {
      rank.refusal = {"request_too_large",
                      "the program's arguments and environment are too large",
                      "1.1 MiB, at most 1 MiB", "pi-worker-1", ""};
      CHECK(diagnose(evidence).headline.find("mpirun") == std::string::npos);
    }
    const Verdict verdict = diagnose(evidence);
    CHECK(verdict.code == "arguments_too_large");
    CHECK(verdict.exit_code == 126);
    CHECK_FALSE(verdict.retryable);
    CHECK(verdict.headline.find("too large") != std::string::npos);
  }
  SECTION("a worker's daemon that is too large to be started") {
    evidence.ranks.clear();
    evidence.job.phase = "run";
    evidence.findings = {{Severity::kError, "request_too_large",
                          "the program's arguments and environment are too "
                          "large",
                          "1.1 MiB, at most 1 MiB", ""}};
    const Verdict verdict = diagnose(evidence);
    CHECK(verdict.code == "arguments_too_large");
    CHECK(verdict.exit_code == 126);
  }
  SECTION("an agent that has no descriptor left to start a rank with") {
    evidence.ranks[1].outcome = RankOutcome::kRefused;
    evidence.ranks[1].stopped_by_us = false;
    evidence.ranks[1].refusal = {"no_descriptors",
                                 "no file descriptor is left here (limit of "
                                 "open files: 64)",
                                 "to make a pipe: Too many open files",
                                 "pi-worker-1", ""};
    const Verdict verdict = diagnose(evidence);
    CHECK(verdict.code == "process_limits");
    CHECK(verdict.headline.find("open files") != std::string::npos);
  }
  SECTION("ranks that never joined MPI") {
    evidence.ranks = {exited(0, 0, 5), exited(1, 0, 6)};
    for (RankEvidence& rank : evidence.ranks) rank.loaded_mpi = true;
    const Verdict verdict = diagnose(evidence);
    CHECK(verdict.code == "mpi_not_initialized");
    CHECK(verdict.exit_code == 102);
  }
  SECTION("ranks that mpirun of another MPI started") {
    evidence.job.backend = "mpirun";
    evidence.ranks = {exited(0, 0, 5), exited(1, 0, 6)};
    for (RankEvidence& rank : evidence.ranks) {
      rank.loaded_mpi = true;
      rank.lonely_mpi = "Open MPI";
    }
    const Verdict verdict = diagnose(evidence);
    CHECK(verdict.code == "mpi_not_initialized");
    CHECK(verdict.exit_code == 102);
  }
}

TEST_CASE("a job that ended well has no failure, whatever it printed") {
  const Verdict verdict =
      diagnose(job({exited(0, 0, 900, {"ERROR: cuda out of memory, retried"}),
                    exited(1, 0, 901, {"Connection refused"})}));
  CHECK(verdict.code == "no_failure");
  CHECK(verdict.exit_code == 0);
  CHECK_FALSE(verdict.failed());
}

TEST_CASE("no evidence at all is an answer, too") {
  const Verdict verdict = diagnose(Evidence{});
  CHECK(verdict.code == "unknown");
  CHECK(verdict.exit_code == 1);
  CHECK(verdict.confidence == Confidence::kPossible);
}

TEST_CASE("people call hosts by their worker number") {
  CHECK(worker_number("pi-worker-12") == 12);
  CHECK(worker_number("pi-worker-2.pi.default.svc") == 2);
  CHECK(worker_number("worker-3") == 3);
  CHECK(worker_number("train-node-0-5") == 5);
  CHECK_FALSE(worker_number("gpu-node-7"));
  CHECK_FALSE(worker_number("pi-launcher"));
  CHECK(who(5, "gpu-a") == "Rank 5 on gpu-a");
  CHECK(who(-1, "") == "The job");
}

TEST_CASE("the records of all ranks tell who was missing") {
  constexpr const char* kTimeout =
      "[Rank 0] Watchdog caught collective operation timeout: "
      "WorkNCCL(SeqNum=118, OpType=ALLREDUCE, Timeout(ms)=600000)";
  Evidence evidence = job({exited(0, 6, 900, {kTimeout}), exited(1, 15, 950),
                           exited(2, 15, 950), exited(3, 15, 950)});
  for (size_t i = 1; i < 4; ++i) evidence.ranks[i].stopped_by_us = true;
  CHECK(diagnose(evidence).code == "nccl_timeout");
  CHECK(diagnose(evidence).first_rank == 0);

  const std::string behind = "PyTorch: rank 3 has not entered all_reduce #118";
  evidence.collectives = {{behind, {3}, true}};
  Verdict verdict = diagnose(evidence);
  CHECK(verdict.code == "nccl_timeout");
  CHECK(verdict.first_rank == 3);
  CHECK(verdict.host == "pi-worker-3");
  CHECK(verdict.confidence != Confidence::kProven);
  CHECK(verdict.headline.starts_with("Rank 3 did not take part"));
  CHECK(std::count(verdict.evidence.begin(), verdict.evidence.end(), behind) ==
        1);

  evidence.collectives = {{"PyTorch: no record of rank 3", {}, false}};
  verdict = diagnose(evidence);
  CHECK(verdict.first_rank == 0);
  CHECK(verdict.code == "nccl_timeout");

  // Then what was said while it hung, and never against a record.
  evidence.findings = {
      {Severity::kWarning, "hang", "Rank 2 holds up the rest", "", "", 2}};
  CHECK(diagnose(evidence).first_rank == 2);
  CHECK(diagnose(evidence).code == "nccl_timeout");
  evidence.collectives = {{behind, {3}, true}};
  CHECK(diagnose(evidence).first_rank == 3);
  evidence.findings.clear();

  const std::string other = "PyTorch: rank 2 calls all_gather #118";
  evidence.collectives = {{other, {2}, false, true}};
  verdict = diagnose(evidence);
  CHECK(verdict.code == "collective_mismatch");
  CHECK(verdict.first_rank == 2);
  CHECK(verdict.host == "pi-worker-2");
  CHECK(verdict.confidence == Confidence::kLikely);
  CHECK(verdict.evidence.front() == other);
  CHECK(verdict.exit_code == 134);  // of the rank that gave up

  // A hang that ended the job keeps its name.
  evidence = job({exited(2, 15, 950)});
  evidence.ranks[0].stopped_by_us = true;
  evidence.findings = {{Severity::kError, "hang", "Rank 2 holds up", "", ""}};
  evidence.collectives = {{other, {2}, false, true}};
  CHECK(diagnose(evidence).code == "hang");
  CHECK(diagnose(evidence).confidence == Confidence::kLikely);
}

TEST_CASE("mpirun's words of an MPI error are those of the rank it names") {
  Evidence evidence = job({exited(0, 15, 990), exited(1, 15 << 8, 950)});
  evidence.ranks[0].stopped_by_us = true;
  evidence.job.backend = "mpirun";
  evidence.job.tool_ended = true;
  evidence.job.tool_status = 15 << 8;
  for (const char* line :
       {"[pi-worker-1:00024] *** An error occurred in MPI_Recv",
        "[pi-worker-1:00024] *** reported by process [3243507713,1]",
        "[pi-worker-1:00024] *** on communicator MPI_COMM_WORLD",
        "[pi-worker-1:00024] *** MPI_ERR_TRUNCATE: message truncated"}) {
    evidence.job.tool_lines.push_back({940 * kMs, true, line});
  }
  const Verdict verdict = diagnose(evidence);
  CHECK(verdict.code == "message_truncate");
  CHECK(verdict.first_rank == 1);
  CHECK(verdict.host == "pi-worker-1");
  CHECK(verdict.exit_code == 15);
}

TEST_CASE("a rank that native ranks miss has a class of its own, and a name") {
  Evidence evidence = job({exited(0, 15, 990), exited(1, 0, 950)});
  evidence.ranks[0].stopped_by_us = true;
  const auto judged = [&evidence](const char* code, const char* text,
                                  int rank) {
    evidence.findings = {{Severity::kError, code, text, "", "", rank}};
    return diagnose(evidence);
  };
  Verdict verdict = judged("rank_missing",
                           "rank 1 on pi-worker-1 did not reach MPI_Init "
                           "within 3.0 s of the first rank that did",
                           1);
  CHECK(verdict.code == "start_timeout");
  CHECK(verdict.exit_class == "start_deadline");
  CHECK(verdict.first_rank == 1);
  CHECK(verdict.host == "pi-worker-1");
  CHECK(verdict.confidence == Confidence::kLikely);
  CHECK(verdict.headline.starts_with(
      "MPI initialisation did not complete: rank 1 on pi-worker-1 did not"));
  verdict = judged("exit_without_finalize",
                   "rank 1 on pi-worker-1 ended with code 0 without "
                   "MPI_Finalize",
                   1);
  CHECK(verdict.code == "mpi_not_finalized");
  CHECK(verdict.exit_code == 102);
  CHECK(verdict.first_rank == 1);
  verdict =
      judged("rank_missing", "MPI_Init waited 3 s for ranks 1-2 on w-0", -1);
  CHECK(verdict.first_rank == -1);
}

TEST_CASE("an error of MPI about a rank that left is not the cause") {
  Evidence evidence = job({exited(0, 15 << 8, 990), exited(1, 0, 950)});
  evidence.job.backend = "mpirun";
  evidence.job.tool_ended = true;
  evidence.job.tool_status = 15 << 8;
  evidence.job.tool_lines = {
      {960 * kMs, true,
       "mpiexec has exited due to process rank 1 with PID 7 on"},
      {960 * kMs, true, "node pi-worker-1 exiting improperly."}};
  evidence.ranks[1].mpi_attached = true;
  evidence.ranks[0].lines = {
      {945 * kMs, true,
       "Abort(473550351) on node 0 (rank 0 in comm 0): Fatal error in "
       "internal_Init: Other MPI error, error stack:"},
      {945 * kMs, true,
       "initial_address_exchange(145).:  ucx function returned with failed "
       "status(ucx_init.c 145 initial_address_exchange Shared memory error)"}};
  CHECK(diagnose(evidence).code == "mpi_not_finalized");
  CHECK(diagnose(evidence).first_rank == 1);
  // Of its own it says so.
  evidence.ranks[1].mpi_finalized = true;
  CHECK(diagnose(evidence).code == "mpi_error");
  CHECK(diagnose(evidence).first_rank == 0);
}

TEST_CASE("nobody connects to a rank that has ended, and no network is wrong") {
  Evidence evidence = job({exited(0, 15, 990), exited(1, 3 << 8, 950)});
  evidence.job.backend = "mpirun";
  evidence.job.tool_ended = true;
  evidence.job.tool_status = 3 << 8;
  for (const char* line :
       {"WARNING: Open MPI failed to TCP connect to a peer MPI process.  This",
        "should not happen.", "", "Your Open MPI job may now hang or fail.", "",
        "  Local host: pi-worker-0", "  PID:        36",
        "  Message:    connect() to 10.244.0.3:1024 failed",
        "  Error:      Operation now in progress (115)"}) {
    evidence.job.tool_lines.push_back({940 * kMs, true, line});
  }
  Verdict verdict = diagnose(evidence);
  CHECK(verdict.code == "exit_nonzero_silent");
  CHECK(verdict.first_rank == 1);
  CHECK(verdict.exit_code == 3);
  // A crash, of which we hear behind the message.
  evidence.ranks[1].wait_status = SIGSEGV;
  verdict = diagnose(evidence);
  CHECK(verdict.code == "segfault");
  CHECK(verdict.first_rank == 1);
  // Who gave up for it is on the host that wrote it.
  evidence.ranks[0] = exited(0, 255 << 8, 945);
  evidence.ranks[1] = exited(1, SIGTERM, 960);
  CHECK(diagnose(evidence).code == "net_interface_wrong");
  // It came long before anybody ended.
  evidence.ranks[0] = exited(0, SIGTERM, 9'990);
  evidence.ranks[1] = exited(1, 3 << 8, 9'950);
  CHECK(diagnose(evidence).code == "net_interface_wrong");
}

TEST_CASE("nobody connects to ranks of a worker that gave the launcher up") {
  Evidence evidence =
      job({exited(0, 1 << 8, 950,
                  {"WARNING: Open MPI failed to TCP connect to a peer MPI "
                   "process.  This",
                   "  Local host: pi-worker-0",
                   "  Error:      Operation now in progress (115)"}),
           exited(1, 15, 950)});
  evidence.ranks[1].outcome = RankOutcome::kLost;
  CHECK(diagnose(evidence).code == "net_interface_wrong");
  evidence.nodes = {node(1), node(2)};
  for (NodeEvidence& lost : evidence.nodes) {
    lost.outcome = NodeOutcome::kLost;
    lost.lost_ns = 20'000 * kMs;
    lost.error.code = "launcher_silent";
    lost.error.why = "the agent took this launcher for gone";
  }
  CHECK(diagnose(evidence).code == "launcher_stalled");
  CHECK(diagnose(evidence).exit_class == "worker_lost");
  // A pod that went away takes its address along.
  evidence.nodes[0].outcome = NodeOutcome::kConnected;
  evidence.nodes[1].error.code = "worker_lost";
  evidence.ranks[0].lines[2].text =
      "[pi-worker-0][[1,1],0][btl_tcp_endpoint.c:803:mca_btl_tcp_endpoint_"
      "complete_connect] connect() to 10.244.0.3 failed: No route to host "
      "(113)";
  CHECK(diagnose(evidence).code == "daemon_lost");
  CHECK(diagnose(evidence).host == "pi-worker-1");
  evidence.nodes[1].outcome = NodeOutcome::kConnected;
  CHECK(diagnose(evidence).code == "net_interface_wrong");
}

TEST_CASE("mpirun misses the daemons of workers that gave the launcher up") {
  Evidence evidence = job({exited(0, 0, 990), exited(1, 0, 990)});
  evidence.ranks[0].outcome = evidence.ranks[1].outcome = RankOutcome::kLost;
  evidence.job.backend = "mpirun";
  evidence.job.tool_ended = true;
  evidence.job.tool_status = 1 << 8;
  evidence.job.tool_lines = {
      {940 * kMs, true, "ORTE has lost communication with a remote daemon."}};
  CHECK(diagnose(evidence).code == "daemon_lost");
  evidence.nodes = {node(1), node(2)};
  for (NodeEvidence& lost : evidence.nodes) {
    lost.outcome = NodeOutcome::kLost;
    lost.lost_ns = 12'000 * kMs;
    lost.error.code = "launcher_silent";
  }
  CHECK(diagnose(evidence).code == "launcher_stalled");
}

// Debian 13's prted crashes where several programs start on several nodes, and
// its mpirun ends well.
TEST_CASE("mpirun that lost a daemon before any rank is no wrong world") {
  RankEvidence none;
  none.rank = 0;
  none.outcome = RankOutcome::kNeverStarted;
  Evidence evidence = job({none});
  evidence.job.backend = "mpirun";
  evidence.job.tool_ended = true;
  evidence.findings = {{Severity::kError, "world_size_mismatch",
                        "mpirun ended well without starting any rank", "", ""}};
  CHECK(diagnose(evidence).code == "world_size_mismatch");
  evidence.job.tool_lines = {
      {940 * kMs, true, "PRTE has lost communication with a remote daemon."},
      {941 * kMs, true, "  Remote daemon: [prterun-l-12@0,1] on node w-0"}};
  CHECK(diagnose(evidence).code == "daemon_lost");
  CHECK(diagnose(evidence).host == "w-0");
}

// mpirun lets the rank that called it end with code 0.
TEST_CASE("MPI_Abort with code 0 is an abort, not a missing MPI_Finalize") {
  Evidence evidence = job({exited(0, 15, 990), exited(1, 0, 950)});
  evidence.ranks[0].mpi_attached = evidence.ranks[1].mpi_attached = true;
  evidence.job.backend = "mpirun";
  evidence.job.tool_ended = true;
  evidence.job.tool_lines = {
      {960 * kMs, true,
       "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD"},
      {960 * kMs, true, "with errorcode 0."}};
  CHECK(diagnose(evidence).code == "mpi_abort_by_user");
  CHECK(diagnose(evidence).first_rank == 1);
  CHECK(diagnose(evidence).exit_code == 1);
  evidence.job.tool_lines.clear();
  CHECK(diagnose(evidence).code == "mpi_not_finalized");
}

// A launcher that gets no CPU hears how its ranks were ended before it hears
// why.
TEST_CASE("ranks that a worker ended as it gave the launcher up are no cause") {
  Evidence evidence = job({exited(0, 15, 20'000), exited(1, 15, 20'100)});
  CHECK(diagnose(evidence).code == "terminated_external");
  evidence.nodes = {node(1), node(2)};
  NodeEvidence& silent = evidence.nodes[0];
  silent.outcome = NodeOutcome::kLost;
  silent.lost_ns = 20'050 * kMs;
  silent.error.code = "launcher_silent";
  CHECK(diagnose(evidence).code == "launcher_stalled");
  // Its leaving is heard of after the stop that its rank's end has led to.
  evidence.job.stop_ns = 20'020 * kMs;
  evidence.ranks[1].stopped_by_us = true;
  CHECK(diagnose(evidence).code == "launcher_stalled");
  CHECK(diagnose(evidence).host == evidence.nodes[0].host);
  // Not a rank that failed by itself meanwhile.
  evidence.ranks[0] = exited(0, 11, 10'000);
  CHECK(diagnose(evidence).code == "segfault");
}

TEST_CASE("a silent worker was lost when it was last heard of") {
  Evidence evidence = job(
      {exited(0, 1 << 8, 5'950,
              {"pi-worker-0:55:91 [0] transport/net_ib.cc:1295 NCCL WARN "
               "NET/IB: Got completion from peer 10.0.0.2<4791> with status=12 "
               "opcode=0 len=0 vendor err 129 (Send)"}),
       exited(1, 15, 950)});
  evidence.ranks[1].outcome = RankOutcome::kLost;
  evidence.nodes = {node(1), node(2)};
  NodeEvidence& lost = evidence.nodes[1];
  lost.outcome = NodeOutcome::kLost;
  lost.lost_ns = 14'000 * kMs;
  lost.error = {"worker_silent", "worker lost", "no answer for 12 s",
                "pi-worker-1", ""};
  lost.memory = {{2'000 * kMs, kGib, 32 * kGib, kGib, 0}};
  CHECK(diagnose(evidence).code == "daemon_lost");
  CHECK(diagnose(evidence).host == "pi-worker-1");
  // A connection that is reset tells of an end at once.
  lost.error.code = "ssh_lost";
  CHECK(diagnose(evidence).code == "ib_retry_exceeded");
}

TEST_CASE("a number that no rank has names no rank") {
  const Verdict verdict = of_log(
      "mpirun noticed that process rank 99999999999 with PID 0 on node n1 "
      "exited on signal 11 (Segmentation fault).\n");
  CHECK(verdict.code == "segfault");
  CHECK(verdict.first_rank == -1);
  CHECK(verdict.headline.find("1215752191") == std::string::npos);
}

// Each line was once compared with all others.
TEST_CASE("as many lines of one kind as a large job has") {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "KeyboardInterrupt\n";
  CHECK(of_log(text).code == "interrupted");
  text.clear();
  for (int rank = 0; rank < 1'024; ++rank) {
    const std::string tag = "[1," + std::to_string(rank) + "]<stderr>:";
    for (int i = 0; i < 8; ++i) {
      text += tag + "Traceback (most recent call last):\n" + tag +
              "ValueError: bad batch\n";
    }
  }
  CHECK(of_log(text).failed());
}

TEST_CASE("a failure is read behind any number of progress bars") {
  const std::string first = "  2%|# | 1/50 [1:00<2:00, 1s/it]";
  const std::string last = "4%|# | 2/50 [2:00<3:00, 1s/it]";
  struct Case {
    const char* said;
    const char* code;
  };
  for (const Case& one :
       {Case{"slurmstepd: error: *** JOB 42 ON n7 CANCELLED AT "
             "2024-01-01T00:00:00 DUE TO TIME LIMIT ***",
             "timeout_walltime"},
        Case{"Segmentation fault (core dumped)", "segfault"},
        Case{"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to "
             "allocate 2.00 GiB",
             "gpu_oom"},
        Case{"Bus error (core dumped)", "shm_full"}}) {
    for (const char* between : {" ", "\x1b[A", " \x1b[A  "}) {
      for (int bars = 1; bars <= 4; ++bars) {
        std::string text = first;
        for (int i = 1; i < bars; ++i) text += between + last;
        INFO(bars << " bars before " << one.said);
        CHECK(of_log(text + one.said + "\n").code == one.code);
        CHECK(of_log(text + "\n").code == "unknown");  // far from its end
      }
    }
  }
}

TEST_CASE("the place of a Python error is in the user's own code") {
  const auto place = [](const std::string& mark, bool launched) {
    const std::vector<std::string> texts = {
        "Traceback (most recent call last):",
        "  File \"/app/train.py\", line 41, in <module>",
        "    main()",
        "  File \"/app/train.py\", line 30, in main",
        "    cfg = json.load(f)",
        "  File \"/usr/lib/python3.11/json/__init__.py\", line 293, in load",
        "    return loads(fp.read(),",
        "  File \"/opt/venv/lib/python3.11/site-packages/x/y.py\", line 9, in "
        "z",
        "KeyError: 'labels'"};
    if (!launched) {
      std::string log;
      for (const std::string& text : texts) log += mark + text + "\n";
      const Verdict verdict =
          diagnose(evidence_from_log(log, RuleBook::built_in()));
      return verdict.code + " " + verdict.remedies.at(0);
    }
    Evidence evidence = job({exited(0, 1 << 8, 900)});
    int64_t time = 100;
    for (const std::string& text : texts) {
      evidence.ranks[0].lines.push_back({++time, true, mark + text});
    }
    const Verdict verdict = diagnose(evidence);
    return verdict.code + " " + verdict.remedies.at(0);
  };
  const std::string wanted =
      "python_exception the place is in the traceback: /app/train.py:30";
  for (const bool launched : {false, true}) {
    for (const char* const mark :
         {"", "[rank0]: ", "[rank0]:", "[default0]:", "[default0]:[rank0]: "}) {
      INFO(mark << launched);
      CHECK(place(mark, launched) == wanted);
    }
  }
}

TEST_CASE("an error in a shell's script is no Python exception") {
  for (const char* const line :
       {"run.sh: line 7: syntax error near unexpected token `fi'",
        "/app/run.sh: line 3: syntax error: unexpected end of file",
        "run.sh: line 9: syntax error: unexpected end of file from `if' "
        "command "
        "on line 2",
        "/app/run.sh: line 4: ${DATA?}: parameter null or not set",
        "/bin/bash: -c: line 1: unexpected EOF while looking for matching `\"'",
        "/app/run.sh: line 3: DATA: unbound variable",
        "sh: 2: Syntax error: \"(\" unexpected"}) {
    INFO(line);
    const Verdict verdict = of_log(std::string(line) + "\n");
    CHECK(verdict.code == "script_error");
    CHECK(verdict_text(verdict).find("traceback") == std::string::npos);
  }
}
