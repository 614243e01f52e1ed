# SPDX-License-Identifier: Apache-2.0
"""Hangs: the rank that is missing from a collective is named, the job is left
alone unless asked, and `muster stack` tells the same on demand."""
import json
import subprocess
import sys
import time

from harness import (Launch, Skip, apply, check, cluster, contains, equal, main,
                     program)

# Ranks that wait in MPI spin; many share two cores here.
CALM = ["-x", "OMPI_MCA_mpi_yield_when_idle=1"]
GO = "/tmp/go"


def hanging(job, ranks, missing, *options):
    """Until somebody makes the file GO in the pod of the missing rank."""
    if "--slots-per-node" not in options:
        options = ("--slots-per-node", str(ranks // 2), *options)
    return Launch(job, ["muster", "launch", "-n", str(ranks), *CALM,
                        "--grace", "1s", *options, "--", program("missing"),
                        str(missing), GO])


def warned(run, rank, host):
    run.until("where the others wait")
    line = [x for x in run.err.splitlines() if "where the others wait" in x][0]
    contains(line, f"Rank {rank} holds up the rest")
    contains(line, f"rank {rank} on {host}")
    contains(line, "load_batch")
    contains(line, "MPI_Allreduce")
    return line


def test_the_rank_missing_from_an_allreduce_is_named():
    with cluster("hang") as c:
        job = apply(c, workers=2)
        for bootstrap in ("pmix", "mpirun"):
            run = hanging(job, 8, 5, "--bootstrap", bootstrap,
                          "--hang-timeout", "4s")
            line = warned(run, 5, "pi-worker-1")
            contains(line, "The job goes on", bootstrap)
            job.workers[1].exec(["touch", GO], check=True)
            run.wait()
            job.workers[1].exec(["rm", GO], check=True)
            equal(run.code, 0, "exit code", run.err)
            contains(run.out, "sum 8", "the job went on")
            contains(run.err, "once: Rank 5 holds up the rest", "summary")


def test_a_hang_ends_the_job_where_asked():
    with cluster("hangstop") as c:
        job = apply(c, workers=2)
        run = hanging(job, 4, 2, "--bootstrap", "pmix",
                      "--hang-timeout", "3s", "--hang-action", "stop")
        run.wait()
        equal(run.code, 124, "exit code", run.err)
        equal(run.verdict()["code"], "hang", "verdict", run.err)
        contains(run.verdict()["summary"], "Rank 2 holds up the rest")


def test_stacks_on_demand():
    with cluster("stack") as c:
        job = apply(c, workers=2)
        run = hanging(job, 4, 3, "--bootstrap", "pmix")
        run.until("all are up")
        # Rank 0 says so before all have come to where they stay.
        end = time.monotonic() + 60
        wanted = ("ranks 0-2", "rank 3 on pi-worker-1", "the odd one",
                  "load_batch")
        while True:
            text = job.launcher.exec(["muster", "stack"]).stdout
            if all(part in text for part in wanted) or time.monotonic() > end:
                break
        for part in wanted:
            contains(text, part, "groups")
        found = json.loads(job.launcher.exec(
            ["muster", "stack", "3", "-o", "json"]).stdout)["ranks"]
        equal([x["rank"] for x in found], [3], "ranks asked for")
        check(any("load_batch" in f for f in found[0]["frames"]),
              "no load_batch", found)
        # Nobody is left stopped.
        states = [x["state"] for x in json.loads(job.launcher.exec(
            ["muster", "stack", "-o", "json"]).stdout)["ranks"]]
        check(not {"t", "T"} & set(states), "a rank is stopped", states)
        run.process.terminate()
        run.wait()
        nobody = job.launcher.exec(["muster", "stack"])
        equal(nobody.returncode, 1, "exit code without a launch")


# Speaks as the thread of NCCL does that answers for the job: here is no GPU.
RAS = """
import socket, sys
listener = socket.create_server(("127.0.0.1", 28028))
print("up", flush=True)
while True:
    peer, _ = listener.accept()
    lines = peer.makefile("rw")
    for reply in ("SERVER PROTOCOL 2", "OK", sys.argv[1]):
        print(lines.readline().strip(), flush=True)
        print(reply, file=lines, flush=True)
    lines.close()
    peer.close()
"""
REPORT = """Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         2         2         4         4   RUNNING  MISMATCH

Errors
======

Warnings
========

#0-0 (fa93daea854b060b) MISMATCH
  Communicator ranks have different AllReduce operation counts
  3 ranks have launched up to operation 42
  Rank 1 has launched up to operation 41 -- GPU 0 managed by process %d on \
node %s
"""


def test_nccl_names_the_rank_that_is_behind():
    """All ranks are in the same place, as those that wait for a GPU are."""
    def told(job, *options):
        return job.launcher.exec(["muster", "stack", *options]).stdout

    with cluster("hangnccl") as c:
        job = apply(c, workers=2)
        run = Launch(job, ["muster", "launch", "-n", "4", "--bootstrap",
                           "pmix", "--slots-per-node", "2", "--grace", "1s",
                           "--hang-timeout", "10s",
                           "--hang-action", "stop", "--", "sleep", "600"])
        run.until("starting 4 ranks")
        ranks = []
        while len(ranks) < 4:
            ranks = json.loads(told(job, "-o", "json"))["ranks"]
        contains(told(job, "--nccl"), "NCCL does not answer", "nobody there")
        pid = [x["pid"] for x in ranks if x["rank"] == 2][0]
        # By process and address rank 2, whatever NCCL counts it as.
        ras = job.workers[0].popen(
            ["/usr/bin/python3", "-c", RAS,
             REPORT % (pid, job.workers[1].ip)],
            stdout=subprocess.PIPE, text=True)
        equal(ras.stdout.readline(), "up\n", "NCCL's stand-in")
        told_once = told(job, "--nccl")
        contains(told_once, "NCCL: of AllReduce rank 2 is at number 41, "
                 "3 ranks at 42", "on demand")
        check("NCCL" not in told(job), "NCCL was asked unasked")
        run.wait()
        equal(run.code, 124, "exit code", run.err)
        contains(run.verdict()["summary"], "Rank 2 holds up the rest")
        ras.terminate()
        ras.communicate()


def test_a_python_program_tells_its_own_stack():
    script = ("import faulthandler, signal, time; "
              "faulthandler.register(signal.SIGUSR1); "
              "print('up', flush=True); time.sleep(600)")
    with cluster("hangpy") as c:
        job = apply(c, workers=2)
        # A signal that comes before Python can take it is ignored.
        run = Launch(job, ["muster", "launch", "-n", "2", "--bootstrap",
                           "pmix", "--grace", "1s", "--hang-timeout", "3s",
                           "--hang-signal", "USR1", "--", "sh", "-c",
                           f'trap "" USR1; exec /usr/bin/python3 -c "{script}"'
                           ])
        run.until('File "<string>", line 1', count=2)
        run.process.terminate()
        run.wait()
        equal(run.code, 202, "exit code", run.err)


def test_a_rank_that_raised_and_waits_for_the_others_is_named():
    script = ("from mpi4py import MPI\n"
              "if MPI.COMM_WORLD.rank == 1: raise ValueError('batch 17')\n"
              "MPI.COMM_WORLD.Barrier()\n")
    found = subprocess.run(["/usr/bin/python3", "-c", "import mpi4py"],
                           capture_output=True, check=False)
    if found.returncode != 0:
        raise Skip("no mpi4py here")
    with cluster("raised") as c:
        job = apply(c, workers=2)
        for bootstrap in ("pmix", "mpirun"):
            run = Launch(job, ["muster", "launch", "-n", "2", *CALM,
                               "--bootstrap", bootstrap, "--grace", "1s",
                               "--", "/usr/bin/python3", "-c", script])
            run.until('raised "ValueError: batch 17" and does not end')
            contains(run.err, "rank 1 on pi-worker-1", bootstrap)
            contains(run.err, "The job goes on", bootstrap)
            run.process.terminate()
            run.wait()
        # With a time for hangs it is the verdict.
        run = Launch(job, ["muster", "launch", "-n", "2", *CALM, "--grace",
                           "1s", "--hang-timeout", "3s", "--hang-action",
                           "stop", "--", "/usr/bin/python3", "-c", script])
        run.wait()
        equal(run.verdict()["code"], "hang", "verdict", run.err)
        contains(run.verdict()["summary"], "ValueError: batch 17")


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
