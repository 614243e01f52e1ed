// SPDX-License-Identifier: Apache-2.0
// Lines that mean something else, or are of somebody else, than they say by
// themselves: what stands around them tells.
#include "catch.h"
#include "diagnosis/cause/help_host.h"
#include "diagnosis/log/end_in_two_lines.h"
#include "diagnosis/log/line_host.h"
#include "diagnosis/log/log_evidence.h"
#include "diagnosis/log/spawned_child.h"
#include "diagnosis/verdict.h"

using namespace muster;

namespace {

Verdict of_log(std::string_view text) {
  return diagnose(evidence_from_log(text, RuleBook::built_in()));
}

constexpr std::string_view kQueuePair =
    "Failed to modify the attributes of a queue pair (QP):\n\n"
    "Hostname: node-7\nError:    Invalid argument\n";

}  // namespace

TEST_CASE("what a log service sums up at the end is no progress") {
  const std::string full =
      "OSError: [Errno 122] Disk quota exceeded: 'checkpoint-260'\n";
  CHECK(of_log(full + "wandb: Run summary:\n"
                      "wandb:         train/epoch 0.52\n"
                      "wandb:          train/loss 1.4358\n")
            .code == "fs_unwritable");
  // A program's own line is.
  CHECK(of_log(full + "epoch 2 loss 1.4358\n").code == "no_failure");
}

TEST_CASE("a launcher that was interrupted says so in its last line") {
  CHECK(
      of_log("[2026-01-15 08:42:10,745] [INFO] [launch.py:319:sigkill_handler]"
             " Killing subprocess 71\n"
             "[2026-01-15 08:42:11,420] [INFO] [launch.py:328:sigkill_handler]"
             " Main process received SIGINT, exiting\n")
          .code == "interrupted");
}

TEST_CASE("a device that is not there, in PyTorch's own check") {
  CHECK(of_log("RuntimeError: device >= 0 && device < num_gpus INTERNAL ASSERT "
               "FAILED at \"CUDAContext.cpp\":49, please report a bug\n")
            .code == "cuda_device_ordinal");
}

TEST_CASE("a message after which the job will continue is no reason") {
  const std::string queue_pair(kQueuePair);
  CHECK(of_log(queue_pair).code == "rdma_setup_failed");
  for (const char* const goes_on :
       {"Your job will continue, but Open MPI will ignore the \"ud\" oob\n",
        "You job will continue, but over TCP.\n",
        "This MPI job will now continue without it.\n"}) {
    INFO(goes_on);
    CHECK(of_log(queue_pair + goes_on).code == "no_failure");
    // A launcher's word on the end does not make it one.
    CHECK(of_log(queue_pair + goes_on +
                 "mpirun noticed that process rank 3 with PID 21 on node "
                 "node-8 exited on signal 11 (Segmentation fault).\n")
              .code == "segfault");
  }
  CHECK(of_log(queue_pair + "This job will not continue.\n").code ==
        "rdma_setup_failed");
}

TEST_CASE("a spawned process that lost its parent has no damaged file") {
  const std::string frames =
      "Traceback (most recent call last):\n"
      "  File \"/usr/lib/python3.6/multiprocessing/spawn.py\", line 115, in "
      "_main\n    self = reduction.pickle.load(from_parent)\n";
  for (const char* const end : {"EOFError: Ran out of input\n",
                                "_pickle.UnpicklingError: pickle data was "
                                "truncated\n"}) {
    INFO(end);
    CHECK(of_log(frames + end).code == "peer_disconnect_only");
    // What the parent said comes first, wherever it stands.
    const Verdict both =
        of_log(frames + end + "RuntimeError: CUDA out of memory. Tried\n");
    CHECK(both.code == "gpu_oom");
    const std::string loads =
        "Traceback (most recent call last):\n"
        "  File \"train.py\", line 3, in load\n    pickle.load(f)\n";
    CHECK(of_log(loads + end).code == "checkpoint_corrupt");
  }
  SpawnedChild child;
  CHECK_FALSE(child.lost_parent("  File \"x/spawn.py\", line 1, in _main"));
  CHECK_FALSE(child.lost_parent("    self = load()"));
  CHECK(child.lost_parent("EOFError: Ran out of input"));
  CHECK_FALSE(child.lost_parent("File \"x/spawn.py\", line 1, in _main"));
  CHECK_FALSE(child.lost_parent("File \"y.py\", line 1, in load"));
  CHECK_FALSE(child.lost_parent("EOFError: Ran out of input"));
}

TEST_CASE("a status that somebody asked for is how the command ended") {
  const std::string run = "$ mpiexec -n 2 ./hello\nhello, world\n";
  CHECK(of_log(run + "$ echo $?\n1\n").code == "exit_nonzero_silent");
  CHECK(of_log(run + "user@node:~> echo $?\n139\n").code == "segfault");
  CHECK(of_log(run + "$ echo $?\n0\n").code == "no_failure");
  CHECK(of_log(run + "1\n").code == "no_failure");
  EndInTwoLines end;
  CHECK(end.joined("$ echo $?").empty());
  CHECK(end.joined("127") == "echo $? 127");
  CHECK(end.joined("127").empty());
  CHECK(end.joined("$ echo $?").empty());
  CHECK(end.joined("bash: x").empty());
  CHECK(end.joined("prterun noticed that process rank 3 with PID 1 on node n1 "
                   "exited on")
            .empty());
  CHECK(end.joined("signal 9 (Killed).") ==
        "prterun noticed that process rank 3 with PID 1 on node n1 exited on "
        "signal 9 (Killed).");
}

TEST_CASE("a command in the place of a host's name is no name") {
  const Verdict verdict = of_log(
      "ssh: Could not resolve hostname cd /work; python train.py: Name or "
      "service not known\n");
  CHECK(verdict.code == "configuration_wrong");
  CHECK(verdict.host.empty());
  CHECK(of_log("ssh: Could not resolve hostname w-1: Name or service not "
               "known\n")
            .code == "dns_unresolved");
}

TEST_CASE("a message names its host in a line of its own") {
  CHECK(host_in_help_line("    Process ID: 12632, Host: r7i1n2, Program: a") ==
        "r7i1n2");
  CHECK(host_in_help_line("on this node, use `ray logs raylet.out -ip "
                          "10.0.167.26`") == "10.0.167.26");
  CHECK(host_in_help_line("Process ID: 12632").empty());
  CHECK(host_in_line("[mpiexec@node-1] HYDU_create_process (l.c:69): execvp "
                     "error on file x") == "node-1");
  CHECK(host_in_line("[mpiexec@node-1] control_cb (x.c:2): error").empty());
  const Verdict verdict = of_log(
      "297:MPT ERROR: Rank 297(g:297) received signal SIGFPE(8).\n"
      "297:    Process ID: 12632, Host: r7i1n2, Program: /bin/a\n");
  CHECK(verdict.code == "fpe");
  CHECK(verdict.first_rank == 297);
  CHECK(verdict.host == "r7i1n2");
}

TEST_CASE("Ray counts workers killed for memory and crashed ones") {
  const auto line = [](const char* killed, const char* crashed) {
    return std::string("(raylet) node_manager.cc:3069: ") + killed +
           " Workers (tasks / actors) killed due to memory pressure (OOM), " +
           crashed +
           " Workers crashed due to other reasons at node (ID: 351e, IP: "
           "10.95.143.76) over the last time period.\n";
  };
  const Verdict memory = of_log(line("1", "0"));
  CHECK(memory.code == "host_oom_kill");
  CHECK(memory.host == "10.95.143.76");
  const Verdict crash = of_log(line("0", "1"));
  CHECK(crash.code == "exit_nonzero_silent");
  CHECK(crash.host == "10.95.143.76");
  CHECK(of_log("2 worker(s) killed by the kernel: out of memory\n").code ==
        "host_oom_kill");
}

TEST_CASE("who tries to connect again and again may still get through") {
  const std::string tries =
      "[LightGBM] [Warning] Connecting to rank 5 failed, waiting for 200 "
      "milliseconds\n";
  CHECK(of_log(tries).code == "rendezvous_timeout");
  CHECK(of_log(tries).confidence == Confidence::kPossible);
  CHECK(of_log(tries + "[LightGBM] [Info] Connected to rank 5\n").code ==
        "no_failure");
}

TEST_CASE("an address that no other host has leads nowhere") {
  for (const char* const line :
       {"w-1:31:80 [0] misc/socket.cc:441 NCCL WARN socketStartConnect: "
        "Connect to 169.254.3.1<38554> failed : Connection refused",
        "  Message:    connect() to 172.17.0.1:1026 failed",
        "[w-1][[26206,1],1][btl_tcp_endpoint.c:803:x] connect() to "
        "192.168.122.1 failed: Connection refused (111)"}) {
    INFO(line);
    CHECK(of_log(line).code == "net_interface_wrong");
  }
  CHECK(of_log("[w-1][[26206,1],1][btl_tcp_endpoint.c:803:x] connect() to "
               "172.17.0.12 failed: Connection refused (111)")
            .code == "peer_disconnect_only");
}

TEST_CASE("whose daemon is missing, and which") {
  for (const char* const line :
       {"bash: /opt/pmpi/bin/mpid: No such file or directory",
        "bash: /usr/local/bin/mpispawn: No such file or directory",
        "mpid: command not found",
        "[w-1:18] [[INVALID],INVALID] ORTE_ERROR_LOG: A system-required "
        "executable either could not be found or was not executable by this "
        "user in file ess_singleton_module.c at line 388"}) {
    INFO(line);
    CHECK(of_log(line).code == "orted_not_found");
  }
  CHECK(of_log("bash: ./smpid: No such file or directory").code ==
        "exe_not_runnable");
}

TEST_CASE("mpirun's refusal to run counts before what it did not find") {
  CHECK(of_log("[w-0:91] Error: Unable to get the current working directory\n"
               "mpiexec has detected an attempt to run as root.\n")
            .code == "run_as_root_refused");
}

TEST_CASE("HDF5's class of an error is not what happened") {
  const std::string head =
      "HDF5-DIAG: Error detected in HDF5 (1.8.18) MPI-process 0:\n"
      "  #000: H5F.c line 522 in H5Fcreate(): unable to create file\n";
  CHECK(of_log(head + "    minor: Unable to open file\n"
                      "MPI_ABORT was invoked on rank 0 in communicator\n")
            .code == "mpi_abort_by_user");
  CHECK(of_log("  #000: H5F.c line 604 in H5Fopen(): unable to open file\n"
               "    minor: Unable to open file\n")
            .code == "data_missing");
}

TEST_CASE("who waits for the smallest number is behind the others") {
  const auto waits = [](int rank, int sequence, const std::string& group = {}) {
    return "[" + group + "Rank " + std::to_string(rank) +
           "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=" +
           std::to_string(sequence) + ", OpType=ALLREDUCE)\n";
  };
  const auto rank_of = [](const std::string& text) {
    return of_log(text).first_rank;
  };
  CHECK(rank_of(waits(0, 20) + waits(1, 20) + waits(2, 10) + waits(3, 20)) ==
        2);
  // A rank that waits for later work is not behind; half of the ranks are not.
  CHECK(rank_of(waits(0, 20) + waits(1, 20) + waits(2, 30) + waits(3, 20)) !=
        2);
  // Each group counts for itself.
  const std::string first = "PG ID 1 PG GUID 1 ";
  const std::string second = "PG ID 2 PG GUID 2 ";
  CHECK(rank_of(waits(0, 20, first) + waits(1, 20, first) +
                waits(2, 10, second) + waits(3, 10, second)) != 2);
  // Of eight ranks, seven tell.
  std::string seven = "world_size=8\n";
  for (const int rank : {0, 1, 2, 3, 4, 6, 7}) seven += waits(rank, 5);
  CHECK(rank_of(seven) == 5);
  CHECK(rank_of("world_size=8\n" + waits(0, 5) + waits(1, 5)) != 2);
}

TEST_CASE("an end by a signal says more than the connections that it broke") {
  const std::string lost =
      "An MPI communication peer process has unexpectedly disconnected.\n";
  const std::string killed =
      "mpirun noticed that process rank 1 with PID 7 on node n1 exited on "
      "signal 9 (Killed).\n";
  CHECK(of_log(lost + killed).code == "sigkill_unexplained");
  CHECK(of_log(lost + killed).first_rank == 1);
  // Not of tasks that srun itself ended.
  CHECK(of_log(lost + "srun: error: n1: tasks 0-3: Terminated\n").code !=
        "terminated_external");
}
