// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/cause/advice.h"

#include "catch.h"
#include "diagnosis/log/log_evidence.h"
#include "diagnosis/verdict.h"

using namespace muster;

namespace {

std::string code_of(std::string_view text) {
  return diagnose(evidence_from_log(text, RuleBook::built_in())).code;
}

constexpr std::string_view kSilentEnd =
    "srun: error: n1: task 0: Exited with exit code 1\n";

}  // namespace

TEST_CASE("settings and advice are known by their form") {
  CHECK(is_setting("Timeout(ms)=1800000"));
  CHECK(is_setting("TORCH_NCCL_ASYNC_ERROR_HANDLING=1"));
  CHECK(is_setting("  timeout: 600"));
  CHECK(is_setting("  on_failure: restart,"));
  CHECK(is_setting("Namespace(lr=0.1, on_error='abort')"));
  CHECK(is_advice("Hint: increase --shm-size"));
  CHECK(is_advice("- Try reducing the batch size if CUDA out of memory"));
  CHECK(is_advice("FutureWarning: weights corrupted will raise"));
}

TEST_CASE("what tells an end is no setting, and an error no advice") {
  CHECK_FALSE(is_setting("Killed: 9"));
  CHECK_FALSE(is_setting("Bus error: 10"));
  CHECK_FALSE(is_setting("reason: OOMKilled"));
  CHECK_FALSE(is_setting("exit_code: 137"));
  CHECK_FALSE(is_setting("error=timeout"));
  CHECK_FALSE(is_setting("ValueError: bad"));
  CHECK_FALSE(is_setting("bash: foo: command not found"));
  CHECK_FALSE(is_advice("tryLock failed"));
  CHECK_FALSE(is_advice("Trying to connect: refused"));
}

TEST_CASE("settings and advice never win against what happened") {
  const std::string end(kSilentEnd);
  CHECK(code_of("Hint: try a larger --shm-size on bus errors\n" + end) ==
        "exit_nonzero_silent");
  CHECK(code_of("To avoid CUDA out of memory, use smaller batches\n" + end) ==
        "exit_nonzero_silent");
  CHECK(code_of("Try smaller batches if CUDA out of memory occurs\n" + end) ==
        "exit_nonzero_silent");
  CHECK(code_of("Timeout(ms)=1800000\nNCCL_TIMEOUT=60\nhello\n") ==
        "no_failure");
  CHECK(code_of("timeout: 600\non_failure: abort\nhello\n") == "no_failure");
  // As an event it counts.
  CHECK(code_of("RuntimeError: CUDA out of memory. Tried to allocate 2 GiB\n" +
                end) == "gpu_oom");
}

TEST_CASE("the subject of an error is not where it stands") {
  CHECK(without_asides("error at src/transport/net_ib.cc:102 in read") ==
        "error at in read");
  CHECK(without_asides("cannot open /scratch/nccl/in.dat now") ==
        "cannot open in.dat now");
  CHECK(without_asides("cannot open /dev/shm/x") == "cannot open /dev/shm/x");
  CHECK(without_asides("the mesh is not closed, please check the licence") ==
        "the mesh is not closed,");
}

TEST_CASE("an uncaught error of any language is the program's") {
  for (const std::string_view text : {
           "panic: runtime error: index out of range [5] with length 3\n\n"
           "goroutine 1 [running]:\n",
           "Error in solve.default(A) : \n  system is exactly singular\n"
           "Execution halted\n",
           "Error: object 'x' not found\nExecution halted\n",
           "Error using horzcat\nDimensions of arrays are not consistent.\n",
           "Unhandled exception. System.InvalidOperationException: empty\n",
           "a.chpl:3: error: halt reached - array index out of bounds\n",
       }) {
    INFO(text);
    CHECK(code_of(text) == "python_exception");
  }
  const Verdict tagged = diagnose(evidence_from_log(
      "[1,2]<stdout>:step\n[1,3]<stderr>:panic: shard is empty\n"
      "[1,3]<stderr>:goroutine 1 [running]:\n",
      RuleBook::built_in()));
  CHECK(tagged.code == "python_exception");
  CHECK(tagged.first_rank == 3);
  CHECK(tagged.headline.find("shard is empty") != std::string::npos);
  CHECK(tagged.headline.find("Python") == std::string::npos);
}

TEST_CASE("Kubernetes' reasons count wherever they stand") {
  CHECK(code_of("Status:   Failed\nReason:   Evicted\n"
                "Message:  The node had condition: [DiskPressure].\n") ==
        "fs_unwritable");
  CHECK(code_of("Status:   Failed\nReason:   Evicted\n") == "preempted");
  CHECK(
      code_of("  Warning  Preempting  2m  default-scheduler  low priority\n") ==
      "preempted");
  CHECK(code_of("\"reason\": \"Evicted\",\n") == "preempted");
  CHECK(code_of("w-1   0/1   Init:CrashLoopBackOff   6   5m\n") ==
        "exit_nonzero_silent");
  CHECK(
      code_of("  Normal  PyTorchJobFailed  1m  pytorchjob-controller  "
              "PyTorchJob x is failed because 1 Worker replica(s) failed.\n") ==
      "exit_nonzero_silent");
}

namespace {

std::string remedies_of(std::string_view text) {
  std::string all;
  for (const std::string& remedy :
       diagnose(evidence_from_log(text, RuleBook::built_in())).remedies) {
    all += remedy + "\n";
  }
  return all;
}

}  // namespace

TEST_CASE("advice fits where the job ran") {
  const std::string killed = ": task 3: Killed\n";
  const std::string bare =
      remedies_of("run.sh: line 7: 55 Killed  python t.py");
  CHECK(bare.find("kubectl") == bare.npos);
  CHECK(bare.find("dmesg") != bare.npos);
  const std::string slurm = remedies_of("srun: error: n9" + killed);
  CHECK(slurm.find("kubectl") == slurm.npos);
  CHECK(slurm.find("sacct") != slurm.npos);
  const std::string pod = remedies_of(
      "mpirun noticed that process rank 3 with PID 9 on node lm-worker-1 "
      "exited "
      "on signal 9 (Killed).");
  CHECK(pod.find("kubectl describe pod lm-worker-1") != pod.npos);
  const std::string server = remedies_of(
      "INFO vllm engine starts\ntorch.OutOfMemoryError: CUDA out of memory. "
      "Tried to allocate 2.00 GiB.");
  CHECK(server.find("reduce the batch") == server.npos);
  CHECK(server.find("--gpu-memory-utilization") != server.npos);
}

TEST_CASE("advice takes its first step itself") {
  const std::string silent = remedies_of(
      "[rank 0] opened shard 7\nsrun: error: n1: task 0: Exited with exit code "
      "3\n");
  CHECK(silent.find("opened shard 7") != silent.npos);
  const std::string nccl = remedies_of(
      "n1:1:1 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.4<0>\n"
      "ncclInternalError: Internal check failed.\n");
  CHECK(nccl.find("run again") == nccl.npos);
}
