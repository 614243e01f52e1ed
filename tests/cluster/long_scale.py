# SPDX-License-Identifier: Apache-2.0
"""32, 64 and 100 pods that come up at random over 60 s: the first rank runs
at most a second after the last worker, and all are past MPI_Init within five.
mpirun on 65, 130 and 256 pods, and 50 launchers at once, too.
Lines that begin with RESULT are for docs/test-results.md."""
import datetime
import re
import sys
import time

from harness import (Launch, apply, check, cluster, equal, launch, main,
                     nothing_left, program)
from test_dns_budget import measure

SPREAD = 60
AFTER_THE_LAST = 1.0  # seconds; the promise
# All pods share this machine's cores: what is checked has room for that.
ROOM = 5.0
PAST_MPI_INIT = 5.0  # seconds after the last worker; the promise
INIT_ROOM = 40.0


def came_up(c, pods, what, launcher_cpu=None):
    def request(specs):
        for spec in specs:
            if spec["role"] == "launcher":
                spec["cpu_request"] = launcher_cpu

    job = apply(c, workers=pods, start_spread=SPREAD, seed=pods,
                start={"launcher": 0.001}, edit=request)
    run = Launch(job, ["muster", "launch", "-n", str(pods), "--bootstrap",
                       "pmix", "--", what])
    run.wait(SPREAD + 180)
    equal(run.code, 0, "exit code", run.err)
    return job, run


def promise(seconds, promised):
    print(f"  promise of {promised} s: "
          f"{'kept' if seconds <= promised else 'NOT kept here'}", flush=True)


def past_mpi_init(pods):
    """The ranks poll, on the launcher's CPUs, too: it requests as many as all
    workers, less than it has on a node of its own."""
    with cluster(f"scale-{pods}") as c:
        job, run = came_up(c, pods, program("init_stamp"), launcher_cpu=pods)
        stamps = re.findall(r"past MPI_Init (\d+)$", run.out, re.MULTILINE)
        equal(len(stamps), pods, "ranks", run.out)
        started = datetime.datetime.fromisoformat(run.report["started"])
        last_ms = max(w["connect_ms"] for w in run.report["workers"])
        took = (max(map(int, stamps)) / 1e9 - started.timestamp()
                - last_ms / 1000)
        print(f"  RESULT pods={pods} spread_s={SPREAD} "
              f"past_mpi_init_after_last_worker_s={took:.3f}", flush=True)
        promise(took, PAST_MPI_INIT)
        check(took <= INIT_ROOM, f"past MPI_Init after {took:.2f} s")
        nothing_left(job, job.workers[:4], files=False)


def arrival(pods):
    with cluster(f"scale-{pods}") as c:
        job, run = came_up(c, pods, "hostname")
        hosts = sorted(x for lines in run.lines().values() for x in lines)
        equal(hosts, sorted(w.hostname for w in job.workers), "hosts")
        report = run.report
        # first_rank_ms counts from the last agent's hello.
        last_ms = max(w["connect_ms"] for w in report["workers"])
        first = report["first_rank_ms"] / 1000
        split = " ".join(f"{p['name']}_ms={p['ms']}"
                         for p in report["phases"])
        print(f"  RESULT pods={pods} spread_s={SPREAD} "
              f"last_worker_ready_ms={last_ms} "
              f"first_rank_after_last_worker_s={first:.3f} "
              f"all_ranks_after_last_worker_s="
              f"{report['all_ranks_ms'] / 1000:.3f} {split}", flush=True)
        promise(first, AFTER_THE_LAST)
        check(first <= ROOM, f"first rank after {first:.2f} s", report)
        nothing_left(job, job.workers[:4])


def test_32_pods():
    arrival(32)


def test_64_pods():
    arrival(64)


def test_100_pods():
    arrival(100)


def test_mpi_init_on_32_pods():
    past_mpi_init(32)


def test_mpi_init_on_64_pods():
    past_mpi_init(64)


def test_mpi_init_on_100_pods():
    past_mpi_init(100)


def test_open_mpi_on_65_pods():
    """Where ORTE's own tree spawn begins to need ssh between workers."""
    hello = program("hello")
    with cluster("ompi-65") as c:
        job = apply(c, workers=65)
        run = launch(job, "-n", "65", "--bootstrap", "mpirun",
                     "--start-timeout", "180s", "--", hello, timeout=400)
        equal(run.code, 0, "exit code", run.err)
        equal(run.out.count(f"sum of ranks {65 * 64 // 2}"), 65, "sums")


def flat_spawn(pods):
    with cluster(f"flat-{pods}") as c:
        job = apply(c, workers=pods)
        run = launch(job, "--bootstrap", "mpirun", "--", "mpirun", "-n",
                     str(pods), "hostname", timeout=400)
        equal(run.code, 0, "exit code", run.err)
        hosts = {line.split()[-1] for line in run.out.splitlines()}
        equal(len(hosts), pods, "hosts that ran a rank", run.out[-900:])


def test_flat_spawn_on_130_hosts():
    flat_spawn(130)


def test_flat_spawn_on_256_hosts():
    flat_spawn(256)


def test_50_launchers_on_one_dns_server():
    measure(50)


def test_long_absence():
    """A name that appears after 40 s, as a slow image pull makes it."""
    with cluster("late-40") as c:
        job = apply(c, workers=2)
        c.dns.late("pi-worker-1", 40)
        began = time.monotonic()
        run = launch(job, "-n", "2", "--bootstrap", "pmix", "--", "true",
                     timeout=120)
        equal(run.code, 0, "exit code", run.err)
        took = time.monotonic() - began
        print(f"  RESULT late_name_s=40 job_over_after_s={took:.1f}")


for _test in (test_100_pods, test_64_pods, test_open_mpi_on_65_pods,
              test_50_launchers_on_one_dns_server):
    _test.hang_guard = 600

if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
