# SPDX-License-Identifier: Apache-2.0
"""What can go wrong in the middle of a job, one function per fault, for jobs
of either backend: the job ends in time with the right one named, and nothing
stays anywhere.

Bounds are the design's (docs/design.md), with the heartbeat shortened and a
generous factor for machines that are slow."""
import os
import signal
import time

from harness import (Launch, check, contains, equal, nothing_left, program,
                     sentences_only)

SILENCE = 4
GRACE = 2


def bounds(silence):
    return ["--heartbeat", "1s", "--silence", f"{silence}s",
            "--grace", f"{GRACE}s"]


BOUNDS = bounds(SILENCE)
SLACK = 40  # seconds on top of any bound: several pods share two cores


class Bed:
    """A job, and how its ranks are started: `words` before the program."""

    def __init__(self, job, words, silence=SILENCE):
        self.job = job
        self.words = words
        self.silence = silence
        self.ranks = len(job.workers)

    def start(self, *arguments, what=None):
        return Launch(self.job, ["muster", "launch", *bounds(self.silence),
                                 *self.words, *(what or [program("forever")]),
                                 *arguments])

    def up(self):
        """Every rank is past MPI_Init and talks to the others."""
        return self.start().until("is up", 90, count=self.ranks)


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
    print(f"    over after {took:.1f} s (bound {bound} s)", flush=True)
    check(took < bound + SLACK, f"took {took:.1f} s, bound {bound} s",
          run.err)
    equal(run.code, code, "exit code", run.out[-1500:], run.err)
    for name in names:
        contains(run.err, name, "stderr")
    sentences_only(run)
    return run


def a_killed_rank(bed):
    run = bed.up()
    os.kill(find(bed.job.workers[1], "forever"), signal.SIGKILL)
    ended(run, 1 + GRACE, 137, "pi-worker-1")


def a_killed_agent(bed):
    run = bed.up()
    os.kill(find(bed.job.workers[2], "muster-agent agent"), signal.SIGKILL)
    ended(run, 1 + GRACE, 201, "pi-worker-2")
    equal(run.verdict().get("host", "")[:11], "pi-worker-2", "host", run.err)


def a_killed_launcher(bed):
    run = bed.up()
    os.kill(find(bed.job.launcher, "muster launch"), signal.SIGKILL)
    run.process.wait(20)
    nothing_left(bed.job, bed.job.workers)
    # Its own files go with the next launch. Nobody cleans up for a mpirun that
    # a busy machine holds up: it is killed before it has done so.
    bed.job.launcher.exec(["sh", "-c", "rm -rf /tmp/ompi.*"])


def a_stalled_launcher(bed):
    """The workers end the job without it; it says so when it runs again."""
    run = bed.up()
    launcher = find(bed.job.launcher, "muster launch")
    os.kill(launcher, signal.SIGSTOP)
    nothing_left(bed.job, bed.job.workers)
    os.kill(launcher, signal.SIGCONT)
    ended(run, GRACE, 201, "launcher_stalled")


def a_rank_that_aborts(bed):
    run = bed.start("abort", "1")
    run.until("is up", 60)
    ended(run, 1 + GRACE, 42)


def a_rank_that_crashes(bed):
    run = bed.start("segv", "1")
    run.until("is up", 60)
    ended(run, 1 + GRACE, 139, "pi-worker-1")


def a_rank_that_leaves(bed):
    run = bed.start("exit", "2")
    run.until("is up", 60)
    ended(run, 1 + GRACE, 7, "pi-worker-2")


def a_terminated_launcher(bed):
    run = bed.up()
    run.process.send_signal(signal.SIGTERM)
    ended(run, GRACE, 202)  # from outside the pod: as a kubelet does


def a_killed_worker(bed):
    run = bed.up()
    bed.job.workers[0].kill()
    ended(run, 1 + GRACE, 201, "pi-worker-0")


def a_frozen_worker(bed):
    run = bed.up()
    bed.job.workers[1].freeze()
    ended(run, bed.silence + 3 + GRACE, 201, "pi-worker-1")
    bed.job.workers[1].thaw()


def a_cut_worker(bed):
    run = bed.up()
    bed.job.workers[2].cut()
    ended(run, bed.silence + 3 + GRACE, 201, "pi-worker-2")
    bed.job.workers[2].join()


def a_lost_node(bed):
    run = bed.up()
    bed.job.workers[3].lose()
    ended(run, bed.silence + 3 + GRACE, 201, "pi-worker-3")


EVERY_FAULT = (a_killed_rank, a_killed_agent, a_killed_launcher,
               a_stalled_launcher, a_rank_that_aborts, a_rank_that_crashes,
               a_rank_that_leaves, a_terminated_launcher, a_killed_worker,
               a_frozen_worker, a_cut_worker, a_lost_node)


def one_after_the_other(bed, faults=EVERY_FAULT):
    """In the same pods, so each also finds out whether the one before has
    left something."""
    for fault in faults:
        began = time.monotonic()
        fault(bed)
        # The files of a killed launcher go with the next launch.
        nothing_left(bed.job, files=fault is not a_killed_launcher)
        for pod in bed.job.workers:
            if pod.phase != "Running":
                pod.restart()
        print(f"  {fault.__name__}: ok ({time.monotonic() - began:.1f} s)",
              flush=True)
