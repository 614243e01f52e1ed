# SPDX-License-Identifier: Apache-2.0
"""The launcher's own pod as a worker: runLauncherAsWorker (its line comes
first in the hostfile) and Trainer's runLauncherAsNode (its line comes last).
No sshd runs there; its ranks are started by an agent of its own."""
import sys

from harness import (apply, check, cluster, contains, equal, launch, main,
                     nothing_left, program)

BOTH = ("pmix", "mpirun")


def rank_hosts(run):
    return {rank: lines[-1] for rank, lines in run.lines().items()}


def test_launcher_line_first():
    hello = program("hello")
    with cluster("as-worker") as c:
        job = apply(c, "launcher-as-worker.yaml")
        c.dns.nxdomain("both-launcher")  # its own name is of no use to it
        wanted = {0: "both-launcher", 1: "both-launcher", 2: "both-worker-0",
                  3: "both-worker-0", 4: "both-worker-1", 5: "both-worker-1"}
        run = launch(job, "-n", "6", "--bootstrap", "pmix", "--", "hostname")
        equal(run.code, 0, "exit code", run.out, run.err)
        equal(rank_hosts(run), wanted, "hosts", run.err)
        c.dns.clear()
        run = launch(job, "-n", "6", "--bootstrap", "mpirun", "--", hello)
        equal(run.code, 0, "exit code", run.out, run.err)
        for rank, host in wanted.items():
            contains(run.out, f"rank {rank} of 6 on {host}, sum of ranks 15")
        nothing_left(job)
        run = launch(job, "-n", "6", "--bootstrap", "pmix", "--", "sh", "-c",
                     "[ $RANK = 1 ] && exit 3; sleep 30")
        equal(run.code, 3, "exit code", run.err)
        contains(run.err, "ank 1", "stderr")
        nothing_left(job)


def test_launcher_line_last_as_trainer_writes_it():
    """The TrainJob unchanged: no pod is told its role, and the command is
    the Kubeflow SDK's mpirun line."""
    with cluster("as-node") as c:
        job = apply(c, "trainjob-deepspeed.yaml", launcher_command=None)
        status = job.launcher.wait(90)
        out = job.launcher.stdout()
        equal(status.code, 0, "exit code", out, job.launcher.stderr())
        for rank in range(6):
            contains(out, f"rank {rank} of 6")
        job.remove()
        job = apply(c, "trainjob-deepspeed.yaml")
        check(job.wait_ready(60), "workers are not ready")
        run = launch(job, "-n", "6", "--bootstrap", "pmix", "--", "hostname")
        equal(run.code, 0, "exit code", run.out, run.err)
        hosts = rank_hosts(run)
        equal([hosts[4], hosts[5]], ["finetune-launcher-0-0"] * 2,
              "hosts of the last ranks", run.out)
        nothing_left(job)


def test_one_node_needs_no_worker():
    with cluster("alone") as c:
        job = apply(c, "launcher-as-worker.yaml", workers=0)
        for bootstrap in BOTH:
            run = launch(job, "-n", "2", "--bootstrap", bootstrap, "--",
                         "hostname")
            equal(run.code, 0, "exit code", run.out, run.err)
            equal(rank_hosts(run), {0: "both-launcher", 1: "both-launcher"},
                  "hosts", run.err)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
