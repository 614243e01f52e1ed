# SPDX-License-Identifier: Apache-2.0
"""Programs that use what a native start gives them: mpi4py, torch over gloo,
published names; pods of two distributions; and what it must refuse."""
import os
import re
import subprocess
import sys

from harness import (Skip, apply, check, cluster, contains, equal, expect,
                     launch, main, nothing_left, program, trixie)
from test_mpi import MPI4PY, sum_is_right, talked

PMIX = ["--bootstrap", "pmix"]
PACKAGES = "/usr/lib/python3/dist-packages/"

TORCH = """
import torch, torch.distributed as dist
dist.init_process_group("gloo")
part = torch.ones(1000) * (dist.get_rank() + 1)
dist.all_reduce(part)
dist.barrier()
print(f"rank {dist.get_rank()} of {dist.get_world_size()}, "
      f"sum {part.sum().item():.0f}", flush=True)
dist.destroy_process_group()
"""


def test_mpi4py():
    if not os.path.exists(PACKAGES + "mpi4py"):
        raise Skip("no python3-mpi4py here")
    with cluster("native-mpi4py") as c:
        run = launch(apply(c, workers=4), *PMIX, "-n", "4", "--",
                     "/usr/bin/python3", "-c", MPI4PY)
        talked(run, 4, 4)
        equal(run.out.count("squares 14"), 4, "sums", run.out)


def test_torch_over_gloo():
    """By the variables of torchrun alone: MASTER_ADDR is rank 0's pod."""
    if not os.path.exists(PACKAGES + "torch"):
        raise Skip("no python3-torch here")
    with cluster("native-torch") as c:
        run = launch(apply(c, workers=2), *PMIX, "-n", "4", "--oversubscribe",
                     "--", "/usr/bin/python3", "-c", TORCH, timeout=150)
        expect(run, 0)
        equal(sorted(x.split("] ")[1] for x in run.out.splitlines()
                     if "sum" in x),
              [f"rank {r} of 4, sum 10000" for r in range(4)], "ranks",
              run.out, run.err)


def test_pods_of_two_distributions():
    """Debian 12 starts Debian 13's ranks, and the other way round."""
    newer = trixie()
    for name, launcher_root, worker_root, compiler_root in (
            ("on-13", "/", newer, newer), ("on-12", newer, "/", None)):
        hello = program("hello", "mpicc.openmpi", root=compiler_root)

        def edit(specs, here=launcher_root, there=worker_root):
            for spec in specs:
                is_launcher = spec["role"] == "launcher"
                spec["root"] = here if is_launcher else there

        with cluster("native-" + name) as c:
            job = apply(c, workers=2, edit=edit)
            run = launch(job, *PMIX, "--allow-skew", "-n", "2", "--", hello)
            talked(run, 2, 2)
            sum_is_right(run, 2)
            nothing_left(job)


def test_spawn_is_refused_and_names_are_kept():
    with cluster("native-dynamic") as c:
        job = apply(c, workers=2)
        dynamic = program("dynamic")
        run = launch(job, *PMIX, "-n", "2", "--", dynamic, "spawn")
        check(run.code != 0, "exit code 0", run.out, run.err)
        contains(run.err, "--bootstrap mpirun", "stderr")
        run = expect(launch(job, *PMIX, "-n", "2", "--", dynamic, "names"), 0)
        contains(run.out, "rank 1 found: a port with spaces", "stdout")
        nothing_left(job)


def test_sessions():
    """MPI 4 without MPI_Init. Open MPI 5 wants a PMIx 5 server for it and is
    told the way out; MPICH needs no server."""
    root = trixie()
    with cluster("native-sessions") as c:
        job = apply(c, workers=2, root=root)
        sessions = program("sessions", "mpicc.mpich", root=root)
        run = expect(launch(job, *PMIX, "-n", "2", "--", sessions), 0)
        equal(run.out.count("of 2, sum 1"), 2, "sums", run.out)
        sessions = program("sessions", "mpicc.openmpi", root=root)
        run = launch(job, *PMIX, "-n", "2", "--", sessions)
        if run.code != 0:
            contains(run.err, "use --bootstrap mpirun", "stderr")
        run = expect(launch(job, "-n", "2", "--", sessions), 0,
                     "the program uses MPI Sessions")
        equal(run.out.count("of 2, sum 1"), 2, "sums", run.out)


def pmix_client(name):
    found = subprocess.run(["pkg-config", "--cflags", "--libs", "pmix"],
                           capture_output=True, text=True, check=False)
    if found.returncode != 0:
        raise Skip("no libpmix-dev here")
    return program(name, "gcc", found.stdout.split())


def cores():
    """How many ranks can each have a core."""
    topology = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
    siblings = set()
    for cpu in os.sched_getaffinity(0):
        with open(topology.format(cpu), encoding="ascii") as file:
            siblings.add(file.read())
    return len(siblings)


def words_of(run):
    """What all ranks said, without who said it."""
    return [line for lines in run.lines().values() for line in lines]


def test_pmix_events():
    """What one rank tells reaches the ranks of all nodes, once."""
    events = pmix_client("events")
    with cluster("native-events") as c:
        job = apply(c, workers=2)
        run = expect(launch(job, *PMIX, "-n", "4", "--oversubscribe", "--",
                            events, "4"), 0)
        for rank in range(3):
            contains(run.out, f'rank {rank} heard 1 times "pineapple" from 3',
                     "what ranks heard")
        nothing_left(job)


def test_pmix_ends():
    """That a rank ended, told once to who asked for it by name, on all nodes;
    of one that failed, before the job ends with it."""
    client = pmix_client("ended")
    with cluster("native-ends") as c:
        job = apply(c, workers=2)
        world = [*PMIX, "-n", "4", "--oversubscribe", "--", client]
        run = expect(launch(job, *world, "2"), 0)
        for rank in (0, 1, 3):
            contains(run.out, f"rank {rank} heard 1 times of rank 2 with "
                     "code 0, unasked 0", "what ranks heard")
        run = launch(job, "--grace", "10s", *PMIX, "-n", "4",
                     "--oversubscribe", "--", "sh", "-c",
                     f"trap '' TERM; exec {client} 3 7")
        equal(run.code, 7, "exit code", run.out, run.err)
        for rank in range(3):
            contains(run.out, f"rank {rank} heard 1 times of rank 3 with "
                     "code 7, unasked 0", "what ranks heard of a failure")
        nothing_left(job)


def test_pmix_job_data():
    """CPUs and locality as the real mpirun says them, the rest as it is."""
    client = pmix_client("job_data")
    with cluster("native-data") as c:
        job = apply(c, workers=1)
        count = cores()
        slots = ["--slots-per-node", str(count)]
        world = ["-n", str(count), "--bind-to", "core"]
        run = expect(launch(job, *PMIX, *slots, *world, "--", client, "--lr",
                            "0.1"), 0)
        theirs = expect(launch(job, "--bootstrap", "mpirun", *slots, "--",
                               "mpirun", *world, client), 0)
        # What it is on, in which order; the numbers are labels.
        mine, real = ({re.sub("([A-Z][A-Z0-9])[0-9,-]+", "\\1", line)
                       if "locstr" in line else line for line in words_of(said)
                       if "cpuset" in line or "locstr" in line}
                      for said in (run, theirs))
        equal(len(mine), 2 * count, "lines", run.out)
        equal(mine, real, "CPUs and locality", run.out, theirs.out)
        for what in ("pmix.app.argv " + client + " --lr 0.1",
                     "pmix.wdir /", "job pmix.wdir /", "pmix.reinc 0",
                     "job pmix.app.argv " + client, "pmix.pkgrank 0"):
            contains(run.out, "rank 0 " + what, "job data")
        run = expect(launch(job, *PMIX, "-n", "2", "--slots-per-node", "2",
                            "--", client), 0)  # not bound
        contains(run.out, "rank 1 pmix.cpuset -", "CPUs of an unbound rank")
        nothing_left(job)


def told_of_programs(run):
    """{rank: {key: value}}, without what is of one way of starting: paths
    of files, and the program as mpirun found it or as it was given."""
    out = {}
    for line in words_of(run):
        rank, _, rest = line.removeprefix("rank ").partition(" ")
        key, _, value = rest.partition("=")
        if key not in ("command", "ompi_positioned_file_dir"):
            out.setdefault(int(rank), {})[key] = value
    return out


def test_programs_of_a_line():
    """MPI_INFO_ENV and MPI_APPNUM of two programs are those under mpirun,
    but for 4.1.4's first ranks, which are all 0 there. That of Debian 13
    starts none: its daemon crashes where the programs have several nodes."""
    for root in (None, trixie()):
        info = program("info_env", "mpicc.openmpi", root=root)
        line = ["mpirun", "--oversubscribe", "-np", "2", info, "a", "b", ":",
                "-np", "1", info, "c"]
        with cluster("native-info") as c:
            job = apply(c, workers=2, root=root)
            mine, real = (told_of_programs(launch(
                job, "--bootstrap", backend, "--slots-per-node", "2", "--",
                *line)) for backend in ("pmix", "mpirun"))
            equal(sorted(mine), [0, 1, 2], "ranks")
            for rank, said in mine.items():
                equal({key: said[key] for key in (
                    "appnum", "ompi_num_apps", "ompi_np", "ompi_first_rank",
                    "wdir")},
                      {"appnum": str(rank // 2), "ompi_num_apps": "2",
                       "ompi_np": "2 1", "ompi_first_rank": "0 2",
                       "wdir": "/"}, f"what rank {rank} is told")
            for said in real.values():
                said["ompi_first_rank"] = "0 2"
            if root is None or real:
                equal(mine, real, "what ranks are told")
            nothing_left(job)


def test_shared_caches():
    """Open MPI's communicators of ranks that share a thing are those under
    mpirun, bound and not."""
    split = program("split")
    with cluster("native-split") as c:
        job = apply(c, workers=2)
        count = cores()
        for binding in ("core", "none"):
            slots = ["--slots-per-node", str(count)]
            world = ["-n", str(2 * count), "--bind-to", binding]
            runs = [expect(launch(job, *words), 0) for words in (
                [*PMIX, *slots, *world, "--", split],
                ["--bootstrap", "mpirun", *slots, "--", "mpirun", *world,
                 split])]
            mine, real = (sorted(words_of(run)) for run in runs)
            equal(len(mine), 2 * count, "lines", runs[0].out)
            equal(mine, real, "who shares what, bound to " + binding)
        nothing_left(job)


def test_pmix_groups_and_queries():
    """The same context id on every node, another one for the next group."""
    groups = pmix_client("groups")
    with cluster("native-groups") as c:
        job = apply(c, workers=2)
        run = expect(launch(job, *PMIX, "-n", "4", "--oversubscribe", "--",
                            groups), 0)
        equal(run.out.count("query knows us"), 4, "queries", run.out)
        ids = [{line.split()[-1] for line in run.out.splitlines()
                if f"group {turn} has" in line} for turn in (0, 1)]
        check(len(ids[0]) == 1 and len(ids[1]) == 1, "ids differ", run.out)
        check(ids[0] != ids[1] and "0" not in ids[0] | ids[1], "ids", run.out)
        nothing_left(job)


def test_no_worlds_of_one():
    """A wrapper that takes the environment away makes each rank a world of
    its own, which says 0 and has computed nothing together."""
    with cluster("native-singletons") as c:
        job = apply(c, workers=2)
        run = launch(job, *PMIX, "--mpi", "-n", "2", "--", "env", "-i",
                     "PATH=" + os.environ["PATH"], program("hello"))
        check(run.code != 0, "exit code 0", run.out, run.err)
        contains(run.err, "MPI", "stderr")
        nothing_left(job)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
