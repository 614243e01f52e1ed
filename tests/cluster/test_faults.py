# SPDX-License-Identifier: Apache-2.0
"""Faults in the middle of a job that the image's own mpirun runs: the job
ends in time with the right worker named, and nothing stays anywhere.

Bounds are the design's (docs/design.md), with the heartbeat shortened and a
generous factor for machines that are slow."""
import os
import signal
import sys
import time

from harness import (Launch, apply, check, cluster, contains, equal, launch,
                     main, nothing_left, program,
                     sentences_only)

SILENCE = 4
GRACE = 2
BOUNDS = ["--heartbeat", "1s", "--silence", f"{SILENCE}s",
          "--grace", f"{GRACE}s"]
SLACK = 15  # seconds on top of any bound: several pods share two cores


def start(job, *arguments, kind="openmpi"):
    run = Launch(job, ["muster", "launch", *BOUNDS, "--bootstrap", "mpirun",
                       "--", "mpirun", "-n", str(len(job.workers)),
                       program("forever", "mpicc." + kind), *arguments])
    return run


def up(job, **more):
    return start(job, **more).until("is up", 60, count=len(job.workers))


def find(pod, part):
    for pid, line in pod.processes().items():
        if part in line:
            return pid
    raise AssertionError(f"no {part} in {pod.name}: {pod.processes()}")


def ended(run, bound, code, *names):
    """Waits for the end; at most `bound` seconds after now, plus slack."""
    began = time.monotonic()
    run.wait(bound + SLACK + 30)
    took = time.monotonic() - began
    check(took < bound + SLACK, f"took {took:.1f} s, bound {bound} s",
          run.err)
    equal(run.code, code, "exit code", run.out[-1500:], run.err)
    for name in names:
        contains(run.err, name, "stderr")
    sentences_only(run)
    return run


def a_killed_rank(job):
    run = up(job)
    os.kill(find(job.workers[1], "forever"), signal.SIGKILL)
    ended(run, 1 + GRACE, 137, "pi-worker-1")


def a_killed_agent(job):
    run = up(job)
    os.kill(find(job.workers[2], "muster-agent agent"), signal.SIGKILL)
    ended(run, 1 + GRACE, 201, "pi-worker-2")
    equal(run.verdict().get("host", "")[:11], "pi-worker-2", "host", run.err)


def a_killed_launcher(job):
    run = up(job)
    os.kill(find(job.launcher, "muster launch"), signal.SIGKILL)
    run.process.wait(20)
    nothing_left(job, job.workers)
    # Nobody is left to clean up there; in a cluster the container is gone.
    job.launcher.exec(["sh", "-c", "rm -rf /tmp/muster-run-*"])


def a_rank_that_aborts(job):
    run = start(job, "abort", "1")
    run.until("is up", 60)
    ended(run, 1 + GRACE, 42)


def a_rank_that_crashes(job):
    run = start(job, "segv", "1")
    run.until("is up", 60)
    ended(run, 1 + GRACE, 139, "pi-worker-1")


def a_rank_that_leaves(job):
    run = start(job, "exit", "2")
    run.until("is up", 60)
    ended(run, 1 + GRACE, 7, "pi-worker-2")


def a_terminated_launcher(job):
    run = up(job)
    run.process.send_signal(signal.SIGTERM)
    ended(run, GRACE, 202)  # from outside the pod: as a kubelet does


def a_killed_worker(job):
    run = up(job)
    job.workers[0].kill()
    ended(run, 1 + GRACE, 201, "pi-worker-0")


def a_frozen_worker(job):
    run = up(job)
    job.workers[1].freeze()
    ended(run, SILENCE + 3 + GRACE, 201, "pi-worker-1")
    job.workers[1].thaw()


def a_cut_worker(job):
    run = up(job)
    job.workers[2].cut()
    ended(run, SILENCE + 3 + GRACE, 201, "pi-worker-2")
    job.workers[2].join()


def a_lost_node(job):
    run = up(job)
    job.workers[3].lose()
    ended(run, SILENCE + 3 + GRACE, 201, "pi-worker-3")


def test_faults_under_open_mpi():
    """One after the other in the same pods, so each also finds out whether
    the one before has left something."""
    with cluster("faults") as c:
        job = apply(c, workers=4)
        for fault in (a_killed_rank, a_killed_agent, a_killed_launcher,
                      a_rank_that_aborts, a_rank_that_crashes,
                      a_rank_that_leaves, a_terminated_launcher,
                      a_killed_worker, a_frozen_worker, a_cut_worker,
                      a_lost_node):
            began = time.monotonic()
            fault(job)
            # The files of a killed agent go with the next launch.
            nothing_left(job, files=fault is not a_killed_agent)
            for pod in job.workers:
                if pod.phase != "Running":
                    pod.restart()
            print(f"  {fault.__name__}: ok "
                  f"({time.monotonic() - began:.1f} s)", flush=True)


def test_dead_workers_under_mpich():
    """Hydra itself would wait for ever: for a dead host, and after a rank
    that simply left."""
    with cluster("faults-mpich") as c:
        job = apply(c, "pi-mpich.yaml", workers=2)
        check(job.wait_ready(60), "workers are not ready")
        run = Launch(job, ["muster", "launch", *BOUNDS, "--", "mpirun.mpich",
                           "-n", "2", "sh", "-c", "echo is up; sleep 60"])
        run.until("is up", 60, count=2)
        job.workers[1].lose()
        ended(run, SILENCE + 3 + GRACE, 201, "pi-mpich-worker-1")
        nothing_left(job)
        job.workers[1].restart()
        for program_text, code in (("exit 9", 9), ("kill -9 $$", 137),
                                   ("kill -TERM $$", 143)):
            run = launch(job, *BOUNDS, "--", "mpirun.mpich", "-n", "2", "sh",
                         "-c", f"[ $PMI_RANK = 1 ] && {program_text};"
                         "sleep 60")
            equal(run.code, code, f"exit code of {program_text}", run.err)
            contains(run.err, "pi-mpich-worker-1", "stderr")
            nothing_left(job)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
