// SPDX-License-Identifier: Apache-2.0
// What a log itself says is over, or is no rank, and whose NCCL's lines are.
#include "catch.h"
#include "diagnosis/log/line_numbers.h"
#include "diagnosis/log/log_evidence.h"
#include "diagnosis/log/nccl_ranks.h"
#include "diagnosis/verdict.h"

using namespace muster;

namespace {

Verdict of_log(std::string_view text) {
  return diagnose(evidence_from_log(text, RuleBook::built_in()));
}

const std::string kNoRoom =
    "57m  Warning  FailedScheduling  pod/x-worker-1  0/9 nodes are available: "
    "9 Insufficient nvidia.com/gpu.\n";
const std::string kScheduled =
    "Normal  Scheduled  pod/x-worker-1  Successfully assigned a/x-worker-1 to "
    "n12\n";
const std::string kPreempted =
    "4m  Normal  Preempted  pod/x-worker-2  Preempted by pod 4f2e on node "
    "n17\n";

}  // namespace

TEST_CASE("a pod that was scheduled in the end is no cause") {
  CHECK(of_log(kNoRoom + "56m  " + kScheduled).code == "no_failure");
  const Verdict verdict = of_log(kNoRoom + "56m  " + kScheduled + kPreempted);
  CHECK(verdict.code == "preempted");
  CHECK(verdict.host == "x-worker-2");
  CHECK(of_log("58m  " + kScheduled + kNoRoom).code == "pod_not_started");
  const std::string image =
      "9m  Warning  Failed  pod/x-worker-1  Failed to pull image \"a:1\"\n";
  CHECK(of_log(image + "8m  " + kScheduled).code == "pod_not_started");
  CHECK(of_log(image + "8m  Normal  Started  pod/x-worker-1  Started container "
                       "main\n")
            .code == "no_failure");
}

TEST_CASE("who cannot find a pod that was not started is no cause") {
  const std::string log =
      "x-worker-1.x: Name or service not known\n"
      "$ kubectl describe pod x-worker-1 | tail -3\nEvents:\n"
      "  Warning  FailedScheduling  12m  default-scheduler  0/9 nodes are "
      "available: 9 Insufficient cpu.\n";
  CHECK(of_log(log).code == "pod_not_started");
  CHECK(of_log(log).host == "x-worker-1");
}

TEST_CASE("of several attempts the last one's own reason counts") {
  const std::string first =
      "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate "
      "2.00 GiB.\n";
  const std::string again =
      "Worker group FAILED. 2/3 attempts left; will restart worker group\n";
  CHECK(of_log(first + again + "[rank0]: KeyError: 'labels'\n").code ==
        "python_exception");
  CHECK(of_log(first + again +
               "[rank0]: RuntimeError: Connection reset by peer\n")
            .code != "no_failure");
  // They wait for whom the first attempt lost.
  CHECK(of_log(first + again +
               "torch.distributed.elastic.rendezvous.api."
               "RendezvousTimeoutError\n")
            .code == "gpu_oom");
  // An end is no reason, and advice no attempt.
  CHECK(of_log(first + again + "[rank0]: Aborted (core dumped)\n").code ==
        "gpu_oom");
  CHECK(of_log(first + "Consider restarting the job.\n" +
               "[rank0]: KeyError: 'labels'\n")
            .code == "gpu_oom");
}

TEST_CASE("numbers of a log's lines are no ranks") {
  std::string log;
  for (int i = 1780; i < 1790; ++i) {
    log += "[" + std::to_string(i) + "] step " + std::to_string(i) + "\n";
  }
  CHECK(of_log(log + "[1790] [rank3]: MemoryError\n").first_rank == 3);
  LineNumbers ranks;
  for (int i = 0; i < 16; ++i) ranks.look("[" + std::to_string(i) + "] hello");
  CHECK_FALSE(ranks.decided());
  ranks.look("[3] MemoryError");
  CHECK(ranks.strip("[3] MemoryError") == "[3] MemoryError");
}

TEST_CASE("NCCL's lines are of the rank that its process tells") {
  NcclRanks ranks;
  ranks.learn(
      "n-3:47:52 [1] NCCL INFO comm 0x55 rank 1 nranks 2 cudaDev 1 - Init");
  CHECK(ranks.rank_of("n-3:47:60 [1] NCCL WARN Cuda failure") == 1);
  ranks.learn(
      "n-3:47:52 [1] NCCL INFO comm 0x66 rank 13 nranks 16 cudaDev 1 - Init");
  ranks.learn("n-3:47:52 [1] NCCL INFO comm 0x77 rank 0 nranks 4 cudaDev 1");
  CHECK(ranks.rank_of("n-3:47:60 [1] NCCL WARN Cuda failure") == 13);
  CHECK(ranks.hosts().at(13) == "n-3");
  ranks.learn(
      "n-4:9:9 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [receive] via");
  ranks.learn("n-5:9:9 [0] NCCL INFO Channel 00/0 : 2[0] -> 1[0] [send] via");
  CHECK(ranks.rank_of("n-4:9:9 [0] NCCL WARN x") == 1);
  CHECK(ranks.rank_of("n-5:9:9 [0] NCCL WARN x") == 2);
  for (const char* const none :
       {"n-4:9:9 [0] text", "n-9:9:9 [0] NCCL WARN x", "NCCL WARN x", ""}) {
    CHECK(ranks.rank_of(none) == -1);
  }
  CHECK_FALSE(ranks.hosts().contains(7));
}

TEST_CASE("who is done with all that was asked of it is the one that misses") {
  const auto waits = [](int rank) {
    const std::string mark = "[rank" + std::to_string(rank) + "]:[E x.cpp:1] ";
    return mark +
           "Watchdog caught collective operation timeout: "
           "WorkNCCL(SeqNum=7, OpType=ALLREDUCE, Timeout(ms)=600000)\n" +
           mark +
           "failure detected by watchdog at work sequence id: 7 PG "
           "status: last enqueued work: 9, last completed work: 6\n";
  };
  const auto idle = [](int completed) {
    return "[rank1]:[E x.cpp:1] Received a dump signal due to a collective "
           "timeout from rank 0. Last enqueued NCCL work: 6, last completed "
           "NCCL work: " +
           std::to_string(completed) + ".\n";
  };
  CHECK(of_log(waits(0) + waits(2) + idle(6)).first_rank == 1);
  CHECK(of_log(waits(0) + waits(2) + idle(5)).first_rank != 1);
}

TEST_CASE("a file that is missing after Slurm went elsewhere") {
  const std::string chdir =
      "slurmstepd: error: couldn't chdir to `/scratch/a': No such file or "
      "directory: going to /tmp instead\n";
  const std::string missing = "ERROR OPENING namelist.input\n";
  CHECK(of_log(missing).code == "data_missing");
  const Verdict verdict = of_log(chdir + missing);
  CHECK(verdict.code == "workdir_missing");
  CHECK(verdict.confidence == Confidence::kPossible);
  CHECK(of_log(chdir + "ERROR OPENING /data/namelist.input\n").code ==
        "data_missing");
}
