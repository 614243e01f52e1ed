# SPDX-License-Identifier: Apache-2.0
"""Faults in the middle of a natively started Open MPI job on 16 pods: the
first cause is named, every rank is gone in time, nothing stays."""
import os
import signal
import subprocess
import sys
import time

from faults import (EVERY_FAULT, GRACE, Bed, bounds, ended, find,
                    one_after_the_other)
from harness import (Launch, Skip, apply, check, cluster, contains, equal, expect,
                     launch, main, nothing_left, program)
from test_native_programs import pmix_client

PODS = 16
SILENCE = 12  # the default: 16 pods share this machine's cores
BOUNDS = bounds(SILENCE)
NATIVE = ["--bootstrap", "pmix", "-n", str(PODS)]


def connection_child(pod):
    """pid 1 forks one process per SSH connection, without exec."""
    first = pod.pid
    for pid, line in pod.processes().items():
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
                parent = int(stat.read().rpartition(")")[2].split()[1])
        except OSError:  # a probe's, gone again
            continue
        if parent == first and line and "muster-agent" not in line:
            return pid
    raise AssertionError(f"no connection child: {pod.processes()}")


def a_killed_connection(bed):
    """The worker's child that holds the launcher's connection."""
    run = bed.up()
    os.kill(connection_child(bed.job.workers[2]), signal.SIGKILL)
    ended(run, 1 + GRACE, 201, "pi-worker-2")


def a_rank_that_skips_finalize(bed):
    run = bed.start("leave", "9", what=[program("native")])
    run.wait()
    check(run.code != 0, "exit code 0", run.err)
    contains(run.err, "without MPI_Finalize", "stderr")
    contains(run.err, "rank 9", "stderr")


def a_rank_missing_from_a_fence(bed):
    run = bed.start("absent", "11", what=[program("native")])
    run.wait()
    check(run.code != 0, "exit code 0", run.err)
    contains(run.err, "while other ranks wait for it", "stderr")
    contains(run.err, "rank 11", "stderr")


def a_rank_that_never_comes(bed):
    run = Launch(bed.job, ["muster", "launch", *BOUNDS, *NATIVE,
                           "--start-timeout", "20s", "--", program("native"),
                           "hang", "13"])
    run.wait()
    check(run.code != 0, "exit code 0", run.err)
    contains(run.err, "rank 13", "stderr")


MORE = (a_killed_connection, a_rank_that_skips_finalize,
        a_rank_missing_from_a_fence, a_rank_that_never_comes)


def test_faults_at_16_pods():
    with cluster("native-faults") as c:
        bed = Bed(apply(c, workers=PODS), [*NATIVE, "--"], SILENCE)
        one_after_the_other(bed, EVERY_FAULT + MORE)


test_faults_at_16_pods.hang_guard = 800


PMI1_STUCK = """
import os, sys, time
server = os.fdopen(int(os.environ["PMI_FD"]), "r+b", buffering=0)
server.write(b"cmd=init pmi_version=1 pmi_subversion=1\\n")
server.read(100)
if os.environ["PMI_RANK"] != os.environ["STUCK"]:
    server.write(b"cmd=barrier_in\\n")
server.read(100)
time.sleep(600)
"""


def stuck_in_init():
    """It must not bring a libpmix along: its rank has the one of its MPI."""
    flags = subprocess.run(["pkg-config", "--cflags", "pmix"],
                           capture_output=True, text=True, check=False)
    if flags.returncode != 0:
        raise Skip("no libpmix-dev here")
    return program("stuck_in_init", "gcc",
                   ["-shared", "-fPIC", *flags.stdout.split()])


def test_a_rank_stuck_in_init():
    """It has reached its PMIx or PMI server, and puts nothing. Its neighbours
    wait for it without us; it alone is named, not all ranks of its pod."""
    library = stuck_in_init()
    stuck = [["-x", "LD_PRELOAD=" + library, "--", program("native")],
             ["--", sys.executable, "-c", PMI1_STUCK]]
    with cluster("native-stuck") as c:
        job = apply(c, workers=2)
        for pods in (1, 2):
            for words in stuck:
                run = launch(job, *BOUNDS, "--bootstrap", "pmix",
                             "-n", str(2 * pods), "--slots-per-node", "2",
                             "--start-timeout", "5s", "-x", "STUCK=1", *words)
                check(run.code != 0, "exit code 0", run.err)
                contains(run.err, "MPI_Init waited 5.0 s for rank 1 on "
                         "pi-worker-0", f"who is named, {pods} pods")
                nothing_left(job)


def test_killed_in_a_fence():
    """All ranks of one pod die at once while some wait for the others: the
    agent outlives it (with 4 ranks, libpmix left alone crashes one launch in
    four) and clears up. Where they wait for a part of all, libpmix may take
    the agent along; then its worker clears up, and the verdict stands."""
    short = ["--timeout", "1s", "--grace", "1s", "--bootstrap", "pmix"]
    all_ranks = ["-x", "STUCK=1", "-x", "LD_PRELOAD=" + stuck_in_init(), "--",
                 program("native")]
    part = pmix_client("part_fence")
    with cluster("native-fence") as c:
        job = apply(c, workers=1)
        for _ in range(8):
            run = launch(job, *short, "--local", "1x4", *all_ranks)
            equal(run.code, 124, "exit code", run.err)
            check("agent ended" not in run.err, "an agent that crashed",
                  run.err)
            nothing_left(job)
        for _ in range(6):
            run = launch(job, *short, "-n", "4", "--oversubscribe", "--", part)
            equal(run.code, 124, "exit code", run.err)
            contains(run.err, "timeout_walltime (proven)", "verdict")
            nothing_left(job)


def received(run, name):
    """{rank: time in s} of the signal `name`."""
    return {rank: int(line.split()[1]) / 1e9
            for rank, lines in run.lines().items() for line in lines
            if line.startswith(name + " ")}


def test_signals_reach_every_rank():
    """USR1 and USR2 as they come, TERM before the KILL of a stop."""
    with cluster("native-signals") as c:
        job = apply(c, workers=PODS)
        run = Launch(job, ["muster", "launch", *BOUNDS, *NATIVE, "--",
                           program("signals")])
        run.until("] ready", count=PODS)
        muster = find(job.launcher, "muster launch")
        for name in ("USR1", "USR2", "TERM"):
            sent = time.time()
            os.kill(muster, getattr(signal, "SIG" + name))
            if name == "TERM":
                run.wait()
            else:
                run.until(name + " ", count=PODS)
            late = {r: t - sent for r, t in received(run, name).items()}
            equal(sorted(late), list(range(PODS)), f"ranks with {name}",
                  run.out, run.err)
            last = max(late.values())
            print(f"  {name}: first after {min(late.values()) * 1000:.1f} ms, "
                  f"last after {last * 1000:.1f} ms; promise of 50 ms: "
                  f"{'kept' if last <= 0.05 else 'NOT kept here'}")
            check(last <= 2, f"the last rank had {name} after {last:.2f} s")
        nothing_left(job)


def test_a_full_dev_shm():
    """Two ranks per pod want to share memory, and there is none. Open MPI
    goes on over TCP; MPICH cannot, and the verdict says what is full."""
    with cluster("native-shm") as c:
        job = apply(c, workers=4)
        check(job.wait_ready(60), "workers are not ready")
        for pod in job.workers:
            pod.exec(["sh", "-c", "cat /dev/zero > /dev/shm/full; true"])
        eight = [*BOUNDS, "--bootstrap", "pmix", "-n", "8", "--oversubscribe",
                 "--"]
        run = expect(launch(job, *eight, program("hello")), 0)
        equal(run.out.count("sum of ranks 28"), 8, "sums", run.out)
        run = launch(job, *eight, program("native", "mpicc.mpich"))
        check(run.code != 0, "exit code 0", run.out, run.err)
        contains(run.err, "/dev/shm", "stderr")
        for pod in job.workers:
            pod.exec(["rm", "/dev/shm/full"])
        nothing_left(job)


def test_ten_thousand_short_processes():
    """625 on each pod, every tenth of them orphaned: what they leave is
    reaped, and the job ends well."""
    with cluster("native-many") as c:
        job = apply(c, workers=PODS)
        text = ("i=0; while [ $i -lt 625 ]; do i=$((i + 1)); "
                "case $i in *0) (/bin/true &) ;; *) /bin/true ;; esac; "
                "done; echo all $i")
        run = launch(job, *NATIVE, "--", "sh", "-c", text, timeout=400)
        expect(run, 0)
        equal(run.out.count("all 625"), PODS, "ranks that counted", run.out)
        nothing_left(job)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
