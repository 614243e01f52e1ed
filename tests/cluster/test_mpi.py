# SPDX-License-Identifier: Apache-2.0
"""The MPIs that images hold, each started by its own mpirun under muster:
Open MPI 4.1 and this machine's MPICH, Open MPI 5 and MPICH 4.2 in Debian 13
pods. A program counts only when all of its ranks have talked to each other."""
import os
import re
import shutil
import sys

from harness import (Skip, apply, check, cluster, contains, equal, launch,
                     main, nothing_left, program, trixie)

MPI4PY = """
from mpi4py import MPI
import socket
world = MPI.COMM_WORLD
parts = world.allgather(world.rank ** 2)
print(f"rank {world.rank} of {world.size} on {socket.gethostname()}, "
      f"squares {sum(parts)}", flush=True)
world.send({"from": world.rank}, dest=(world.rank + 1) % world.size)
assert world.recv()["from"] == (world.rank - 1) % world.size
"""


def talked(run, ranks, hosts):
    """Every rank spoke to every other one, on as many hosts as asked."""
    equal(run.code, 0, "exit code", run.out, run.err)
    text = run.out
    seen = {int(r): h for r, h in re.findall(
        rf"rank (\d+) of {ranks} on (\S+), ", text)}
    equal(sorted(seen), list(range(ranks)), "ranks", text, run.err)
    equal(len(set(seen.values())), hosts, "hosts with a rank", text)
    check("launcher" not in "".join(seen.values()),
          "ranks in the launcher", text)


def sum_is_right(run, ranks):
    equal(run.out.count(f"sum of ranks {ranks * (ranks - 1) // 2}"), ranks,
          "right sums", run.out)


def with_mpi(name, manifest, compiler, workers, root=None, slots=2):
    hello = program("hello", compiler, root=root)
    mpirun = compiler.replace("mpicc", "mpirun")
    with cluster(name) as c:
        job = apply(c, manifest, workers=workers, root=root)
        check(job.wait_ready(60), "workers are not ready")
        # The user's own line, and muster's.
        run = launch(job, "--", mpirun, "-n", str(workers), hello)
        talked(run, workers, workers)
        sum_is_right(run, workers)
        ranks = slots * workers
        run = launch(job, "--slots-per-node", str(slots), "--", mpirun, "-n",
                     str(ranks), hello)
        talked(run, ranks, workers)
        sum_is_right(run, ranks)
        # The Kubeflow SDK always passes the operator's hostfile.
        flag = "-f" if "mpich" in manifest else "--hostfile"
        run = launch(job, "--", mpirun, "-n", str(workers), flag,
                     "/etc/mpi/hostfile", hello)
        talked(run, workers, workers)
        # UCX's own handler would hold the crashed rank up, printing, while
        # others already fail for want of it.
        run = launch(job, "-x", "UCX_ERROR_SIGNALS=", "--", mpirun, "-n",
                     str(workers), hello, "1")
        equal(run.code, 139, "exit code of a crash", run.out, run.err)
        contains(run.err, "worker-1", "stderr")
        nothing_left(job)


def test_open_mpi_4_on_2_and_16_pods():
    with_mpi("ompi4", "pi-openmpi.yaml", "mpicc.openmpi", 2)
    hello = program("hello")
    with cluster("ompi4-16") as c:
        job = apply(c, workers=16)
        run = launch(job, "-n", "16", "--bootstrap", "mpirun", "--", hello)
        talked(run, 16, 16)
        sum_is_right(run, 16)
        nothing_left(job)


def test_open_mpi_5_on_debian_13():
    root = trixie()
    with_mpi("ompi5", "pi-openmpi.yaml", "mpicc.openmpi", 4, root)


def test_open_mpi_5_outside_of_muster_would_stay_in_the_launcher():
    """With the operator's variables only and without its own hostfile, Open
    MPI 5 starts all ranks in the launcher and exits 0: under muster that is
    no success."""
    root = trixie()
    hello = program("hello", "mpicc.openmpi", root=root)
    with cluster("ompi5-alone") as c:
        job = apply(c, workers=2, root=root)
        run = launch(job, "--bootstrap", "mpirun", "--", "mpirun", "-np", "2",
                     hello)
        talked(run, 2, 2)
        # The same through a script that hides the line from muster.
        run = launch(job, "--once", "--", "sh", "-c", f"mpirun -np 2 {hello}")
        talked(run, 2, 2)


def test_mpich_4_2_on_debian_13():
    root = trixie()
    with_mpi("mpich42", "pi-mpich.yaml", "mpicc.mpich", 4, root)


def test_mpich_of_this_machine():
    """Debian 12's 4.0.2 often hangs in MPI_Finalize by itself, under its own
    mpirun too: this program leaves without."""
    native = program("native", "mpicc.mpich")
    with cluster("mpich40") as c:
        job = apply(c, "pi-mpich.yaml", workers=4)
        check(job.wait_ready(60), "workers are not ready")
        run = launch(job, "--", "mpirun.mpich", "-n", "4", "-genv",
                     "SKIP_FINALIZE", "1", native)
        equal(run.code, 0, "exit code", run.out, run.err)
        equal(sorted(run.lines().items()),
              [(r, [f"rank {r} of 4, sum 6"]) for r in range(4)], "ranks",
              run.out, run.err)
        nothing_left(job)


def test_an_mpirun_that_calls_another_launcher():
    """Intel MPI's mpirun is a script that calls mpiexec.hydra by PATH, where
    muster's own comes first."""
    native = program("native", "mpicc.mpich")
    intel = {"/usr/local/bin/mpirun": {
        "data": '#!/bin/sh\nmpiexec.hydra "$@"\n', "mode": "755"}}
    line = ["mpirun", "-n", "4", "-genv", "SKIP_FINALIZE", "1", native]
    with cluster("mpirun-script") as c:
        job = apply(c, "pi-mpich.yaml", workers=4, files=intel)
        check(job.wait_ready(60), "workers are not ready")
        for words in (["--", *line], ["--once", "--", *line],
                      ["--once", "--", "sh", "-c", " ".join(line)]):
            run = launch(job, *words)
            equal(run.code, 0, "exit code", run.out, run.err)
            for rank in range(4):
                equal(run.out.count(f"rank {rank} of 4, sum 6"), 1,
                      "lines of one rank", run.out, run.err)
            equal(run.err.count("connecting to"), 1, "launches", run.err)
        nothing_left(job)


def test_mpirun_of_another_mpi():
    """Each rank would be a world of its own, and nobody would say so."""
    for manifest, mpirun, compiler, mpi in (
            ("pi-mpich.yaml", "mpirun.mpich", "mpicc.openmpi", "Open MPI"),
            ("pi-openmpi.yaml", "mpirun.openmpi", "mpicc.mpich", "MPICH")):
        with cluster("othermpi") as c:
            job = apply(c, manifest, workers=2)
            check(job.wait_ready(60), "workers are not ready")
            run = launch(job, "--", mpirun, "-n", "2",
                         program("pi", compiler), "3")
        equal(run.code, 102, "exit code", run.out, run.err)
        equal(run.out.count("pi of 1 ranks"), 2, "lonely ranks", run.out)
        contains(run.err, "rank 0 has loaded " + mpi)
        equal(run.verdict()["code"], "mpi_not_initialized", "code", run.err)


def test_mpi4py():
    if not os.path.exists("/usr/lib/python3/dist-packages/mpi4py"):
        raise Skip("no python3-mpi4py here")
    with cluster("mpi4py") as c:
        job = apply(c, workers=4)
        run = launch(job, "--", "mpirun", "-n", "4", "/usr/bin/python3", "-c",
                     MPI4PY)
        talked(run, 4, 4)
        equal(run.out.count("squares 14"), 4, "sums", run.out)


HPCC_INPUT = """HPLinpack benchmark input file
made for a test
HPL.out      output file name (if any)
8            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
96           Ns
1            # of NBs
16           NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
1            Ps
{q}            Qs
16.0         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
1            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
##### no values for PTRANS are taken from below
0            Number of additional problem sizes for PTRANS
0            values of N
0            number of additional blocking sizes for PTRANS
0            values of NB
"""


def answer(text):
    """The numbers of an HPCC output that do not depend on time."""
    keys = ("HPL_N", "HPL_NB", "CommWorldProcs", "HPL_RnormI", "HPL_Anorm1",
            "HPL_AnormI", "HPL_Xnorm1", "HPL_XnormI", "PTRANS_residual",
            "MPIRandomAccess_ErrorsFraction", "Success", "MPIFFT_maxErr")
    found = dict(re.findall(r"^(\w+)=(\S+)$", text, re.M))
    return {k: found[k] for k in keys if k in found}


def test_hpcc_gives_the_answer_of_plain_mpirun():
    if not shutil.which("hpcc"):
        raise Skip("no hpcc here")
    with cluster("hpcc") as c:
        job = apply(c, workers=2)
        job.launcher.exec(["sh", "-c", "mkdir /tmp/plain /tmp/here"],
                          check=True)
        for pod in job.pods:
            pod.exec(["sh", "-c", "mkdir -p /tmp/hpcc /tmp/plain;"
                      "cat > /tmp/hpcc/hpccinf.txt;"
                      "cp /tmp/hpcc/hpccinf.txt /tmp/plain"],
                     input=HPCC_INPUT.format(q=2), check=True)
        plain = job.launcher.exec(
            ["sh", "-c", "cd /tmp/plain && env -u "
             "OMPI_MCA_orte_default_hostfile /usr/bin/mpirun.openmpi "
             "--mca mpi_yield_when_idle 1 --host localhost:2 -np 2 hpcc && cat hpccoutf.txt"],
            timeout=120)
        wanted = answer(plain.stdout)
        check(wanted.get("Success") == "1" and len(wanted) >= 6,
              "plain mpirun failed", plain.stdout[-500:], plain.stderr)
        idle = "mpi_yield_when_idle"
        for words in (["--", "mpirun", "-np", "2", "-wdir", "/tmp/hpcc",
                       "--mca", idle, "1", "hpcc"],
                      ["--bootstrap", "pmix", "-n", "2", "--wdir", "/tmp/hpcc",
                       "-x", f"OMPI_MCA_{idle}=1", "--", "hpcc"]):
            run = launch(job, *words)
            equal(run.code, 0, "exit code", run.out, run.err)
            ours = job.workers[0].exec(
                ["sh", "-c", "cd /tmp/hpcc; cat hpccoutf.txt; rm hpccoutf.txt"])
            equal(answer(ours.stdout), wanted, f"HPCC's answer ({words[0]})")


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
