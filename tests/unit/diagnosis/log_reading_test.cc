// SPDX-License-Identifier: Apache-2.0
// What a bare log tells on other lines than the one that names the cause.
#include "catch.h"
#include "diagnosis/log/line_host.h"
#include "diagnosis/log/log_evidence.h"
#include "diagnosis/log/torch_failures.h"
#include "diagnosis/verdict.h"

using namespace muster;

namespace {

Verdict of_log(std::string_view text) {
  return diagnose(evidence_from_log(text, RuleBook::built_in()));
}

}  // namespace

TEST_CASE("programs name their host at the start of a line") {
  CHECK(host_in_line("[node-3:4711] *** Process received signal") == "node-3");
  CHECK(host_in_line("[node-3:4711:0:4711] Caught signal 11") == "node-3");
  CHECK(host_in_line("[node-3:4711 :0:4711] Caught signal 11") == "node-3");
  CHECK(host_in_line("pi-worker-0:12:34 [0] NCCL INFO x") == "pi-worker-0");
  CHECK(host_in_line("pi-worker-0:12:34 [0").empty() == false);
  CHECK(host_in_line("[1700000000.123456] [node-3:4711 :0] select.c:6") ==
        "node-3");
  for (const char* const none :
       {"12:03:36 [W socket.cpp:334] The server", "[12:03:36] text", "a: b",
        "train.py:52:1 [x", "[ProcessGroupNCCL.cpp:616] [Rank 1]", "", "[",
        "host:12 text", "[host:12", "[host] x"}) {
    INFO(none);
    CHECK(host_in_line(none).empty());
  }
}

TEST_CASE("what failed later in torchrun's list is no first cause") {
  const Verdict verdict = of_log(
      "Failures:\n[1]:\n  time      : 2026-01-01_00:00:00\n"
      "  host      : node-b\n  rank      : 5 (local_rank: 1)\n"
      "  exitcode  : -15 (pid: 12)\n"
      "  traceback : Signal 15 (SIGTERM) received by PID 12\n"
      "Root Cause (first observed failure):\n[0]:\n"
      "  host      : node-a\n  rank      : 2 (local_rank: 2)\n"
      "  exitcode  : -11 (pid: 11)\n"
      "  traceback : Signal 11 (SIGSEGV) received by PID 11\n");
  CHECK(verdict.code == "segfault");
  CHECK(verdict.first_rank == 2);
  CHECK(verdict.host == "node-a");
  TorchFailures failures;
  CHECK_FALSE(failures.is_later_failure("rank      : 5 (local_rank: 1)"));
}

TEST_CASE("an error stack names its rank, a launcher the host") {
  Verdict verdict = of_log(
      "Abort(1094543) on node 3 (rank 3 in comm 0): Fatal error in "
      "PMPI_Init_thread: Other MPI error, error stack:\n"
      "MPIR_Init_thread(639)......:\n"
      "MPIDI_NM_mpi_init_hook(689): OFI addrinfo() failed (ofi_init.h:689)\n");
  CHECK(verdict.code == "transport_unavailable");
  CHECK(verdict.first_rank == 3);
  verdict = of_log(
      "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n"
      "=   PID 4774 RUNNING AT node-7\n=   EXIT CODE: 139\n");
  CHECK(verdict.code == "segfault");
  CHECK(verdict.host == "node-7");
  // Rank and host of one statement belong together.
  verdict = of_log(
      "[node-9:1:0:1] Caught signal 11 (Segmentation fault: x)\n"
      "prterun noticed that process rank 8 with PID 2 on node node-7 exited on "
      "signal 11 (Segmentation fault).\n");
  CHECK(verdict.first_rank == 8);
  CHECK(verdict.host == "node-7");
}

TEST_CASE("an end that a log tells has the exit code of a launch") {
  const auto code_of = [](const std::string& line) {
    return of_log(line + "\n").exit_code;
  };
  CHECK(code_of("srun: error: gpu-3: task 3: Segmentation fault") == 139);
  CHECK(code_of("mpirun noticed that process rank 1 with PID 0 on node w-1 "
                "exited on signal 9 (Killed).") == 137);
  CHECK(code_of("  exitcode  : -6 (pid: 12)") == 134);
  CHECK(code_of("srun: error: gpu-3: task 3: Exited with exit code 3") == 3);
  CHECK(code_of("solver: FATAL: the tide has no moon") == 1);
}

TEST_CASE("guesses behind a fact in one line do not count") {
  Verdict verdict = of_log(
      "A worker died or was killed while executing a task. There are some "
      "potential root causes. (1) The process is killed by SIGKILL by OOM "
      "killer due to high memory usage.\n");
  CHECK(verdict.code == "exit_nonzero_silent");
  verdict = of_log(
      "RuntimeError: CUDA error: device-side assert triggered CUDA kernel "
      "errors might be asynchronously reported at some other API call\n");
  CHECK(verdict.code == "cuda_illegal_access");
}

TEST_CASE("errors that no rule knows are no success") {
  Verdict verdict = of_log("solver: FATAL: the tide has no moon\n");
  CHECK(verdict.code == "unknown");
  CHECK(verdict.confidence == Confidence::kPossible);
  // … but they are, if the program went on.
  verdict = of_log("ERROR: cache is cold, fetching\nepoch 3 loss 0.25\n");
  CHECK(verdict.code == "no_failure");
  CHECK(verdict.headline == "Nothing in this log ended the job badly");
}

TEST_CASE("the rest of a message tells why a call failed") {
  CHECK(of_log("Fatal error in PMPI_Waitall: Other MPI error, error stack:\n"
               "PMPI_Waitall(339)..: MPI_Waitall(count=26) failed\n"
               "MPIDI_OFI_handle_cq_error(1062): OFI poll failed (ofi_events.c"
               ":1064:x:Input/output error - UNDELIVERABLE)\n")
            .code == "ib_retry_exceeded");
  CHECK(of_log("ncclInternalError: Internal check failed.\nLast error:\n"
               "Net : Connection closed by remote peer node-3<50260>\n")
            .code == "nccl_remote_peer_exit");
  CHECK(of_log("ncclInternalError: Internal check failed.\n").code ==
        "nccl_error");
}

TEST_CASE("words glued to a progress bar count") {
  const Verdict verdict = of_log(
      "Epoch 1:  29%|## | 9412/32393 [3:28:17<8:28:33,  1.33s/it, loss=3.2]\n"
      "Epoch 1:  29%|## | 9413/32393 [3:28:18<8:28:33,  1.33s/it, loss=3.2]"
      "Terminated \n");
  CHECK(verdict.code == "terminated_external");
}

TEST_CASE("an exception about another process' end is that end") {
  const Verdict verdict = of_log(
      "Traceback (most recent call last):\n"
      "  File \"spawn.py\", line 146, in join\n"
      "torch.multiprocessing.spawn.ProcessExitedException: process 0 "
      "terminated with signal SIGKILL\n");
  CHECK(verdict.code == "sigkill_unexplained");
}

TEST_CASE("what a message names on its next line is evidence, too") {
  std::string log =
      "The mapping request contains an unrecognized modifier:\n\n"
      "  Request: slot:oversub\n";
  for (int i = 0; i < 30; ++i) log += "a line like any other\n";
  const Verdict verdict = of_log(log);
  CHECK(verdict.code == "configuration_wrong");
  REQUIRE(verdict.evidence.size() == 2);
  CHECK(verdict.evidence[1] == "Request: slot:oversub");
}

TEST_CASE("an exception that Python swallows ended nothing") {
  const std::string swallowed =
      "Exception ignored in: <function Pool.__del__ at 0x7f>\n"
      "Traceback (most recent call last):\n"
      "  File \"pool.py\", line 268, in __del__\n"
      "ValueError: pool is gone\n";
  CHECK(of_log(swallowed).code == "no_failure");
  CHECK(of_log(swallowed + "MemoryError\n").code == "host_alloc_fail");
}

TEST_CASE("a host called batch11 is no progress") {
  CHECK(of_log("MemoryError\n[mpiexec@batch11] waiting for the proxy\n").code ==
        "host_alloc_fail");
}

TEST_CASE("a number behind 'error' is a metric only if it looks like one") {
  CHECK(of_log("WARN: relative error: 3.2e-05\n").code == "no_failure");
  CHECK(of_log("NCCL WARN poll failed with error: 3\n").code == "nccl_error");
}

TEST_CASE("an error that no rule knows is guessed at by its words") {
  Verdict verdict = of_log(
      "[rank3]: could not open mesh file m.dat\n"
      "srun: error: node-7: task 3: Exited with exit code 2\n");
  CHECK(verdict.code == "data_missing");
  CHECK(verdict.confidence == Confidence::kPossible);
  CHECK(verdict.first_rank == 3);
  CHECK(verdict.host == "node-7");
  CHECK(verdict.headline.find("m.dat") != std::string::npos);
  // Words without a meaning are shown all the same.
  verdict = of_log("ERROR: lost atoms\nmake: *** [run] Error 2\n");
  CHECK(verdict.code == "exit_nonzero_silent");
  CHECK(verdict.headline.find("lost atoms") != std::string::npos);
  // A rule, and what went on, say more than words.
  CHECK(of_log("could not open mesh file m.dat\nMemoryError\n").code ==
        "host_alloc_fail");
  CHECK(of_log("could not open mesh file m.dat\nstep 3 loss 0.1\n").code ==
        "no_failure");
  CHECK(of_log("WARNING: could not open mesh file m.dat\n").code ==
        "no_failure");
}

TEST_CASE("a command of the script that fails is no cause if it went on") {
  const auto code_of = [](std::string_view text) {
    return diagnose(evidence_from_log(text, RuleBook::built_in())).code;
  };
  const std::string missing =
      "/var/x/script: line 12: nvidia-smi: command not found\n";
  CHECK(code_of(missing) == "exe_not_runnable");
  CHECK(code_of(missing +
                "srun: error: n1: task 0: Exited with exit code 127\n") ==
        "exe_not_runnable");
  CHECK(
      code_of(missing +
              "Traceback (most recent call last):\nValueError: bad shape\n") ==
      "python_exception");
  CHECK(code_of(missing + "epoch 1 loss 0.3\nsrun: error: n1: task 0: Exited "
                          "with exit code 1\n") == "exit_nonzero_silent");
  // The rank that lacks its program is the cause of what others wait for.
  CHECK(code_of("[1] sh: 1: python: not found\n[0] RuntimeError: connect() "
                "timed out\n") == "exe_not_runnable");
}

TEST_CASE("what prepares the shell is a cause only where nothing follows") {
  const auto code_of = [](std::string_view text) {
    return diagnose(evidence_from_log(text, RuleBook::built_in())).code;
  };
  const std::string conda =
      "EnvironmentNameNotFound: Could not find conda environment: train\n";
  CHECK(code_of(conda) == "configuration_wrong");
  CHECK(code_of(conda + "srun: error: n1: task 0: Exited with exit code 2\n") ==
        "exit_nonzero_silent");
  CHECK(code_of(conda + "loading data\nstarting\n") == "no_failure");
  CHECK(code_of(conda + "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT "
                        "2024-01-01T00:00:00 DUE TO TIME LIMIT ***\n") ==
        "timeout_walltime");
  // A file that the shell's start asks for is no data of the program.
  CHECK(code_of("/root/.bashrc: line 3: /opt/x/data.json: No such file or "
                "directory\nValueError: bad shape\n") == "python_exception");
}

TEST_CASE("the launcher's own traceback is not the program's") {
  const Verdict verdict = diagnose(evidence_from_log(
      "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: "
      "1) local_rank: 0 (pid: 7) of binary: /usr/bin/python\n"
      "Traceback (most recent call last):\n"
      "  File \"/usr/bin/torchrun\", line 8, in <module>\n",
      RuleBook::built_in()));
  CHECK(verdict.code == "exit_nonzero_silent");
}

TEST_CASE("a rank's own words come before what its launcher told of its end") {
  const Verdict verdict = diagnose(
      evidence_from_log("0: hello\n"
                        "0: [n1:7] *** An error occurred in MPI_Bcast\n"
                        "0: [n1:7] *** MPI_ERR_OTHER: known error not in list\n"
                        "srun: error: n1: task 0: Killed\n",
                        RuleBook::built_in()));
  CHECK(verdict.code == "mpi_error");
}

TEST_CASE("who is ended after a rank has failed is no cause") {
  const Verdict verdict = diagnose(
      evidence_from_log("reading boundary data\n"
                        "srun: error: n2: task 5: Exited with exit code 255\n"
                        "srun: Terminating StepId=1.0\n"
                        "srun: error: n2: tasks 1,3: Terminated\n"
                        "srun: Force Terminated StepId=1.0\n",
                        RuleBook::built_in()));
  CHECK(verdict.code == "exit_nonzero_silent");
  CHECK(verdict.first_rank == 5);
  CHECK(verdict.host == "n2");
}

TEST_CASE("who makes progress has started") {
  const auto code_of = [](const std::string& text) {
    return diagnose(evidence_from_log(text, RuleBook::built_in())).code;
  };
  const std::string missing = "ModuleNotFoundError: No module named 'apex'\n";
  const std::string end = "srun: error: n1: task 2: Segmentation fault\n";
  CHECK(code_of(missing + "epoch 1 loss 2.1\n" + end) == "python_import_error");
  CHECK(code_of(missing +
                "epoch 1 loss 2.1\nepoch 2 loss 2.0\nepoch 3 loss 1.9\n" +
                end) == "segfault");
  CHECK(code_of("ModuleNotFoundError: No module named 'apex', falling back to "
                "torch\n" +
                end) == "segfault");
}

TEST_CASE("the rank that left first is the one the others waited for") {
  const std::string left = "srun: error: n1: task 2: Exited with exit code 3\n";
  const std::string waited =
      "[rank5]:[E1121 08:10:00.1 ProcessGroupNCCL.cpp:607] [Rank 5] Watchdog "
      "caught collective operation timeout: WorkNCCL(SeqNum=77, "
      "OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for "
      "600010 milliseconds before timing out.\n";
  const auto of = [](const std::string& text) {
    return diagnose(evidence_from_log(text, RuleBook::built_in()));
  };
  CHECK(of(left + waited).code == "exit_nonzero_silent");
  CHECK(of(left + waited).first_rank == 2);
  CHECK(of(waited + left).code == "nccl_timeout");
}

TEST_CASE("a warning about a module is no import error") {
  const auto code_of = [](const std::string& text) {
    return diagnose(evidence_from_log(text, RuleBook::built_in())).code;
  };
  const std::string warning =
      "Failed to import flash_attn: No module named 'flash_attn'\n";
  CHECK(code_of(warning) == "python_import_error");
  CHECK(code_of(warning + "srun: error: n1: task 2: Segmentation fault\n") ==
        "segfault");
}

TEST_CASE("a quoted log reads as if it were not") {
  const Verdict verdict =
      diagnose(evidence_from_log("> Traceback (most recent call last):\n"
                                 ">   File \"x.py\", line 1, in <module>\n"
                                 "> ValueError: bad shape\n",
                                 RuleBook::built_in()));
  CHECK(verdict.code == "python_exception");
  CHECK(verdict.confidence == Confidence::kLikely);
}

TEST_CASE("a log shown as a block of code reads as if it were not") {
  const Verdict verdict =
      diagnose(evidence_from_log("    Traceback (most recent call last):\n"
                                 "      File \"x.py\", line 1, in <module>\n"
                                 "    ValueError: bad shape\n"
                                 "  Process exited\n",
                                 RuleBook::built_in()));
  CHECK(verdict.code == "python_exception");
  CHECK(verdict.confidence == Confidence::kLikely);
}

TEST_CASE("the stack of an MPI error is of the rank in its head") {
  const Verdict verdict = diagnose(evidence_from_log(
      "[1] hello\n"
      "Abort(1091215) on node 3 (rank 3 in comm 0): Fatal error in PMPI_Init: "
      "Other MPI error, error stack:\n"
      "MPIDI_OFI_mpi_init_hook(1581): OFI addrinfo() failed "
      "(ofi_init.c:1581:MPIDI_OFI_mpi_init_hook:No data available)\n"
      "[1] Connection reset by peer\n",
      RuleBook::built_in()));
  CHECK(verdict.code == "transport_unavailable");
  CHECK(verdict.first_rank == 3);
}

TEST_CASE("Flux' first shell tells ranks, the others' task numbers are local") {
  const Verdict first = of_log(
      "0.08s: flux-shell[0]: FATAL: task 0: start failed: x: No such file or "
      "directory\n");
  CHECK(first.code == "exe_not_runnable");
  CHECK(first.first_rank == 0);
  const Verdict other = of_log(
      "0.08s: flux-shell[3]: FATAL: task 0: start failed: x: Permission "
      "denied\n");
  CHECK(other.code == "exe_not_runnable");
  CHECK(other.first_rank == -1);
  const Verdict end = of_log(
      "0.04s: flux-shell[0]: FATAL: task-exit: a.sh: task rank 7 on host n7 "
      "failed and exit-on-error is set\n");
  CHECK(end.code == "exit_nonzero_silent");
  CHECK(end.first_rank == 7);
  CHECK(end.host == "n7");
}

TEST_CASE("other collective libraries name their rank") {
  const Verdict verdict = of_log(
      "RuntimeError: [ERROR] HCCL error in: ProcessGroupHCCL.cpp:64\n"
      "[ERROR] 2024-05-21 (PID:9, Device:3, RankID:11) ERR02200 DIST call hccl "
      "api failed.\n");
  CHECK(verdict.code == "nccl_error");
  CHECK(verdict.first_rank == 11);
  CHECK(of_log("2023:11:28:(3) |CCL_WARN| could not get local_idx\nhello\n")
            .code == "no_failure");
}

TEST_CASE("Ray names the host of an actor below its end") {
  const std::string actor =
      "ray.exceptions.ActorDiedError: The actor died unexpectedly.\n"
      "\tclass_name: Worker\n\tpid: 7\n\tip: ";
  CHECK(of_log(actor + "10.0.0.9\n").host == "10.0.0.9");
  CHECK(of_log(actor + "0.0.0.0\n").host.empty());
}

TEST_CASE("a guess is about the last clause, if that tells an error") {
  CHECK(of_log("Error executing script: shared directory /x does not exist\n")
            .code == "data_missing");
  CHECK(of_log("Error: cannot open mesh file m.dat: giving up\n").code ==
        "data_missing");
}

TEST_CASE("an error in a line of JSON is its rank's, with its traceback") {
  const std::string ok =
      R"({"time": "2026-04-22T10:00:00Z", "level": "INFO", "rank": 0, "msg": "step 1 loss 2.2"})"
      "\n";
  const Verdict verdict = of_log(
      ok +
      R"({"ts": 1.5, "level": "ERROR", "rank": "4", "hostname": "node-2", "extra": {"job": 7}, "msg": "Traceback (most recent call last):\n  File \"a.py\", line 2, in <module>\nValueError: bad \"x\""})"
      "\n" +
      R"({"level": "ERROR", "rank": 0, "msg": "Broken pipe"})"
      "\n");
  CHECK(verdict.code == "python_exception");
  CHECK(verdict.first_rank == 4);
  CHECK(verdict.host == "node-2");
  CHECK(verdict.headline.find("bad \"x\"") != std::string::npos);
  CHECK(of_log(ok).code == "no_failure");
  CHECK(of_log(R"({"level": "ERROR", "msg": "std::bad_alloc)").code ==
        "host_alloc_fail");  // cut off
}

TEST_CASE("a line that another rank's tag tears is of both") {
  const Verdict verdict = of_log(
      "[1,5]<stderr>:ValueError: [1,2]<stderr>:MPI: Connection reset by peer\n"
      "[1,5]<stderr>:a <= 0\n");
  CHECK(verdict.code == "python_exception");
  CHECK(verdict.first_rank == 5);
}

TEST_CASE("what a logger calls information explains little") {
  CHECK(of_log("I0131 10:00:01.010110 22301 xla_bridge.py:889] Unable to "
               "initialize backend 'tpu': INTERNAL: Failed to open libtpu.so: "
               "libtpu.so: cannot open shared object file\n"
               "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out "
               "of memory while trying to allocate 8 bytes.\n")
            .code == "gpu_oom");
}

TEST_CASE("workers that a script waited for were there once ranks ran") {
  const std::string waited =
      "ssh: connect to host x-worker-0 port 2222: Connection refused\n";
  const std::string ran =
      "[1,0]<stdout>:step 1 loss 2\n[1,0]<stdout>:step 2 loss 2\n"
      "[1,0]<stdout>:step 3 loss 2\n";
  const std::string end =
      "mpirun noticed that process rank 3 with PID 141 on node x-worker-1 "
      "exited on signal 9 (Killed).\n";
  CHECK(of_log(waited + ran + end).code == "sigkill_unexplained");
  CHECK(of_log(ran + waited + end).code == "ssh_unreachable");
}

TEST_CASE("a job that was requeued and ended well has not failed") {
  const std::string first =
      "slurmstepd: error: *** STEP 31.0 ON n7 CANCELLED AT 2025-06-01T03:00:11 "
      "DUE TO PREEMPTION ***\n"
      "JobId=31 requeued, restart count 1\n";
  CHECK(of_log(first + "step 9\ntraining finished\n").code == "no_failure");
  CHECK(of_log(first).code == "preempted");
}

TEST_CASE("a broken GPU is the GPU of the one rank that could not use it") {
  const std::string xid =
      "Message from syslogd@dgx-12 at Oct  1 13:12:41 ...\n"
      " kernel:[991022.113347] NVRM: Xid (PCI:0000:b7:00): 79, GPU has fallen "
      "off the bus.\n";
  const std::string error =
      "]: RuntimeError: CUDA error: unspecified launch failure\n";
  const Verdict one = of_log(xid + "[rank22" + error);
  CHECK(one.code == "gpu_hardware");
  CHECK(one.first_rank == 22);
  CHECK(one.host == "dgx-12");
  CHECK(of_log(xid + "[rank2" + error + "[rank3" + error).first_rank == -1);
}

TEST_CASE("a time limit that had passed is why somebody stopped the job") {
  const std::string waited =
      "torch.distributed.DistStoreError: Timed out after 601 seconds waiting "
      "for clients. 3/4 clients joined.\n";
  const std::string stopped =
      "Traceback (most recent call last):\n"
      "  File \"train.py\", line 3, in <module>\n"
      "KeyboardInterrupt\n";
  CHECK(of_log(waited + stopped).code == "rendezvous_timeout");
  CHECK(of_log(stopped + waited).code == "interrupted");
  const std::string hung =
      "[E ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective "
      "operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE)\n";
  CHECK(of_log(hung + stopped).code == "nccl_timeout");
}

TEST_CASE("what stands behind a bar that does not know its end is read") {
  const std::string end =
      "slurmstepd-node-3: error: *** JOB 4711 ON node-3 CANCELLED AT "
      "2026-01-01T00:00:00 ***\n";
  for (const std::string_view bar :
       {"Map: 0 examples [00:00, ? examples/s]", "",
        "Map:  29%|##   | 9/32 [3:28, 1.3s/it]"}) {
    const Verdict verdict = of_log(std::string(bar) + end);
    CHECK(verdict.code == "terminated_external");
    CHECK(verdict.host == "node-3");
  }
}

TEST_CASE("on one node a local rank is the rank") {
  const std::string failed =
      "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: "
      "-9) local_rank: 1 (pid: 20277) of binary: /usr/bin/python3\n";
  CHECK(of_log(failed).first_rank == 1);
  CHECK(of_log("group_world_size=1\nnnodes=1\n" + failed).first_rank == 1);
  // DeepSpeed names its last process, whoever failed.
  CHECK(of_log("[launch.py:324:sigkill_handler] ['/usr/bin/python3', '-u', "
               "'x.py', '--local_rank=2'] exits with return code = -9\n")
            .first_rank == -1);
  for (const char* const second :
       {"torchrun --nnodes=2 --nproc_per_node 8 x.py\n", "NNODES: 16\n",
        "  group_rank=1\n", "--machine_rank 3\n", "num_machines: 4\n"}) {
    INFO(second);
    CHECK(of_log(second + failed).first_rank == -1);
  }
}

TEST_CASE("a result says nothing of a rank that failed before it") {
  const std::string traceback =
      "Traceback (most recent call last):\n  File \"a.py\", line 3, in "
      "<module>\nZeroDivisionError: division by zero\n";
  CHECK(of_log(traceback + "pi is approximately 3.1416, Error is 0.0000\n")
            .code == "python_exception");
  CHECK(of_log("ssh: connect to host w-1 port 22: Connection refused\n"
               "pi is approximately 3.1416, Error is 0.0000\n")
            .code == "no_failure");
}

TEST_CASE("memory that a provider does not register is no limit by itself") {
  const auto code_of = [](const std::string& why) {
    return of_log(
               "n1:1:1 [4] NCCL WARN NET/OFI Unable to register memory "
               "(type = 2) for device 4. RC: " +
               why + "\n")
        .code;
  };
  CHECK(code_of("-12, Error: Cannot allocate memory") == "mlock_limit");
  CHECK(code_of("-22, Error: Invalid argument") == "rdma_setup_failed");
}

TEST_CASE("the name of a field is no word of an error") {
  for (const char* const line :
       {"ERROR host=gpu-7 msg=\"bad batch\"",
        "{\"level\": \"error\", \"host\": \"gpu-7\", \"msg\": \"bad batch\"}",
        "level=error hostname=gpu-7 pod=a-1 msg=\"bad batch\""}) {
    INFO(line);
    const std::string code = of_log(std::string(line) + "\n").code;
    CHECK((code == "unknown" || code == "no_failure"));
  }
  CHECK(of_log("error: cannot resolve host w-7\n").code == "dns_unresolved");
}

TEST_CASE("hundreds of good lines behind a failed step are a good end") {
  std::string log = "srun: error: n1: task 0: Exited with exit code 1\n";
  for (int i = 0; i < 300; ++i) {
    log += "step " + std::to_string(i) + " loss 0.5 ok\n";
  }
  CHECK(of_log(log + "RESULT,success,100\n").code == "no_failure");
  CHECK(
      of_log(log + "srun: error: n1: task 1: Exited with exit code 3\n").code ==
      "exit_nonzero_silent");
  CHECK(of_log(log).code == "exit_nonzero_silent");
}

TEST_CASE("who is told to end when all is done is no cause") {
  const std::string term = "received SIGTERM, terminating\n";
  for (const char* const done :
       {"Job completed successfully\n", "Training finished\n"}) {
    CHECK(of_log(done + term).code == "no_failure");
    CHECK(of_log(done + ("[istio-proxy] " + term)).code == "no_failure");
    CHECK(of_log(term + done).code != "unknown");
  }
  CHECK(of_log("step 3 loss 1\n" + term).code == "terminated_external");
  CHECK(of_log("Saved checkpoint to /c\n" + term).code ==
        "terminated_external");
}

TEST_CASE(
    "a log that ends in the middle of the work is not one without a "
    "failure") {
  const Verdict cut = of_log("epoch 3/100 loss 0.5\nsaving\n");
  CHECK(cut.code == "unknown");
  CHECK(cut.confidence == Confidence::kPossible);
  CHECK(cut.headline.find("epoch 3/100") != std::string::npos);
  CHECK(of_log("epoch 99/100 loss 0.5\n").code == "no_failure");
  CHECK(of_log("step 950/1000 loss 0.5\n").code == "no_failure");
  CHECK(of_log("Epoch 10/10\nstep 100/500 loss 0.5\n").code == "no_failure");
  CHECK(of_log("Epoch 2/10\nstep 500/500 loss 0.5\n").code == "unknown");
  CHECK(of_log("epoch 3/100 loss 0.5\nTraining finished\n").code ==
        "no_failure");
}

TEST_CASE("what is no log is not judged as one") {
  std::string code;
  std::string page;
  for (int i = 0; i < 10; ++i) {
    code += "  if (x) {\n    log(\"Segmentation fault\");\n  }\n";
    page +=
        "## When it fails\n\nThe program ends with a Segmentation fault, or "
        "with nothing at all.\n";
  }
  const std::string commits =
      "commit 0123456789abcdef0123456789abcdef01234567\nAuthor: A <a@b>\n"
      "Date:   Mon Nov 23 10:00:00 2026\n\n    the pod was evicted\n";
  for (const std::string& text : {code, page, commits}) {
    INFO(text);
    CHECK(of_log(text).code == "unknown");
    CHECK(of_log(text).headline.find("no log of a job") != std::string::npos);
  }
  CHECK(of_log("## report\n" + std::string(30, '-') +
               "\nSegmentation fault (core dumped)\n")
            .code == "segfault");
}
