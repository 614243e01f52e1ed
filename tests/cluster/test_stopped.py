# SPDX-License-Identifier: Apache-2.0
"""SIGSTOP of each process of a job: a debugger, a freezer or a wrong `kill`
does that. The job ends in time with the right worker named, and no process of
it stays anywhere, stopped or not."""
import os
import signal
import sys
import time

from faults import BOUNDS, GRACE, SILENCE, Bed, ended, find
from harness import (Launch, apply, check, cluster, contains, main,
                     nothing_left, until)
from test_native_faults import connection_child

BACKENDS = (["--bootstrap", "pmix", "-n", "2", "--"],
            ["--bootstrap", "mpirun", "--", "mpirun", "-n", "2"])


def stop(pid):
    os.kill(pid, signal.SIGSTOP)


def lost(bed, pid, name):
    """The job ends for the silence of `name`; all of it goes, though what was
    stopped takes no order."""
    run = bed.running
    stop(pid)
    ended(run, SILENCE + 3 + GRACE, 201, name)
    nothing_left(bed.job)
    for one in bed.job.workers:
        if one.phase != "Running":
            one.restart()


def test_a_stopped_agent_of_a_worker():
    for words in BACKENDS:
        with cluster("stop-agent") as c:
            bed = Bed(apply(c, workers=2), words)
            bed.running = bed.up()
            worker = bed.job.workers[1]
            lost(bed, find(worker, "muster-agent agent"), "pi-worker-1")


def test_a_stopped_connection():
    """The worker's child that holds the launcher's connection."""
    with cluster("stop-connection") as c:
        bed = Bed(apply(c, workers=2), BACKENDS[0])
        bed.running = bed.up()
        worker = bed.job.workers[1]
        lost(bed, connection_child(worker), "pi-worker-1")


def test_a_stopped_worker():
    """Its pid 1 alone: ranks, agent and connection go on and end well. After
    its CONT nothing is left, and the next job finds it as before."""
    with cluster("stop-worker") as c:
        job = apply(c, workers=2)
        run = Launch(job, ["muster", "launch", *BOUNDS, "--bootstrap", "pmix",
                           "-n", "2", "--", "sh", "-c", "echo up; sleep 4"])
        run.until("] up", count=2)
        stop(job.workers[1].pid)
        run.wait(90)
        check(run.code == 0, f"exit code {run.code}", run.err)
        os.kill(job.workers[1].pid, signal.SIGCONT)
        nothing_left(job)


def test_a_stopped_rank():
    """Nobody calls it lost: its worker lives. The end of the job takes it."""
    for words in BACKENDS:
        with cluster("stop-rank") as c:
            bed = Bed(apply(c, workers=2), words)
            run = bed.up()
            stop(find(bed.job.workers[1], "forever"))
            time.sleep(SILENCE + 2)
            check(run.process.poll() is None, "the job ended", run.err)
            run.process.send_signal(signal.SIGTERM)
            ended(run, 2 * GRACE, 202)
            nothing_left(bed.job)


def test_a_stopped_mpirun():
    with cluster("stop-mpirun") as c:
        bed = Bed(apply(c, workers=2), BACKENDS[1])
        run = bed.up()
        stop(next(pid for pid, line in bed.job.launcher.processes().items()
                  if "mpirun" in line and not line.startswith("muster")))
        run.process.send_signal(signal.SIGTERM)
        ended(run, 3 * GRACE, 202)
        nothing_left(bed.job)


def test_a_stopped_agent_of_this_machine():
    """--local: no worker watches over the agent, so the launcher does."""
    for bootstrap in (["--bootstrap", "pmix", "--"],
                      ["--bootstrap", "mpirun", "--", "mpirun", "-n", "2"]):
        with cluster("stop-local") as c:
            job = apply(c, workers=1)
            run = Launch(job, ["muster", "launch", *BOUNDS, "--local", "2x1",
                               *bootstrap, "sh", "-c",
                               "trap '' TERM; echo up; sleep 300 & wait; wait"])
            run.until("up", count=2)
            stop(find(job.launcher, "muster-agent agent"))
            ended(run, SILENCE + 3 + GRACE, 201, "nothing heard")
            nothing_left(job)


def test_a_killed_agent_of_this_machine():
    for bootstrap in (["--bootstrap", "pmix", "--"],
                      ["--bootstrap", "mpirun", "--", "mpirun", "-n", "2"]):
        with cluster("kill-local") as c:
            job = apply(c, workers=1)
            run = Launch(job, ["muster", "launch", *BOUNDS, "--local", "2x1",
                               *bootstrap, "sh", "-c",
                               "echo up; sleep 300 & wait"])
            run.until("up", count=2)
            os.kill(find(job.launcher, "muster-agent agent"), signal.SIGKILL)
            ended(run, 1 + GRACE, 201)
            nothing_left(job)


def test_a_stopped_launcher_that_never_goes_on():
    """The workers end the job without it."""
    with cluster("stop-launcher") as c:
        bed = Bed(apply(c, workers=2), BACKENDS[0])
        run = bed.up()
        stop(find(bed.job.launcher, "muster launch"))
        nothing_left(bed.job, bed.job.workers)
        run.process.kill()
        until(lambda: run.process.poll() is not None)
        contains(bed.job.workers[0].stderr(), "launcher", "worker's log")


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
