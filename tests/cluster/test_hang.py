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
        contains(text, "Rank 3 holds up the rest, by the stacks", "who")
        whole = json.loads(job.launcher.exec(
            ["muster", "stack", "-o", "json"]).stdout)
        equal(whole["holds_up"]["ranks"], [3], "who, as JSON")
        equal(whole["progress"], "hangs", "nothing moves")
        contains(whole["collectives_note"], "no rank has written a record",
                 "why PyTorch says nothing")
        found = json.loads(job.launcher.exec(
            ["muster", "stack", "3", "-o", "json"]).stdout)["ranks"]
        equal([x["rank"] for x in found], [3], "ranks asked for")
        check(any("load_batch" in f for f in found[0]["frames"]),
              "no load_batch", found)
        # Two shells may ask at once.
        both = job.launcher.exec(
            ["sh", "-c", "muster stack 0 -o json & muster stack 3 -o json; "
             "wait"]).stdout.splitlines()
        equal(sorted(json.loads(answer)["ranks"][0]["rank"]
                     for answer in both), [0, 3], "two who ask at once")
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
    """By its counts, which outweigh the stacks: by those it is rank 3."""
    def told(job, *options):
        return job.launcher.exec(["muster", "stack", *options]).stdout

    with cluster("hangnccl") as c:
        job = apply(c, workers=2)
        run = Launch(job, ["muster", "launch", "-n", "4", "--bootstrap",
                           "pmix", "--slots-per-node", "2", "--grace", "1s",
                           *CALM, "--hang-timeout", "15s",
                           "--hang-action", "stop", "--", program("missing"),
                           "3", GO])
        run.until("all are up")
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
        contains(run.verdict()["summary"],
                 "Rank 2 holds up the rest, by NCCL's operation counts")
        equal(run.verdict()["rank"], 2, "the rank to look at")
        ras.terminate()
        ras.communicate()


# Records as PyTorch's flight recorder does (c10d/FlightRecorder.hpp), and has
# the named pipe of its ProcessGroupNCCL: here is no GPU. Rank 2 never enters
# the second call; with an argument the others give up on it as the watchdog
# does.
RECORDED = """
import os, pickle, sys, time
rank = int(os.environ["RANK"])
def entry(seq, name, state):
    return {"frames": [{"name": "all_reduce", "line": 2810, "filename":
                        "/lib/python3/dist-packages/torch/distributed/c.py"},
                       {"name": "step", "filename": "/app/train.py",
                        "line": 80 + seq}],
            "record_id": seq - 1, "pg_id": 0,
            "process_group": ("0", "default_pg"), "collective_seq_id": seq,
            "p2p_seq_id": 0, "op_id": seq, "profiling_name": "nccl:" + name,
            "time_created_ns": time.time_ns(), "input_sizes": [[8, 8]],
            "input_dtypes": ["Float"], "output_sizes": [[8, 8]],
            "output_dtypes": ["Float"], "state": state, "retired": False,
            "timeout_ms": 600000, "is_p2p": False}
calls = [entry(1, "broadcast", "completed")]
if rank != 2:
    calls.append(entry(2, "all_reduce", "started"))
def dump():
    with open(os.environ["TORCH_FR_DUMP_TEMP_FILE"] + str(rank), "wb") as out:
        pickle.dump({"version": "2.10", "entries": calls, "pg_status": {},
                     "pg_config": {"0": {"name": "0", "desc": "default_pg",
                                         "ranks": "[0, 1, 2, 3]"}}}, out, 2)
if len(sys.argv) > 1:
    dump()
    if rank == 0:
        while not os.path.exists(sys.argv[1]):
            time.sleep(0.1)
        print("[Rank 0] Watchdog caught collective operation timeout: "
              "WorkNCCL(SeqNum=2, OpType=ALLREDUCE, Timeout(ms)=600000)",
              file=sys.stderr, flush=True)
        os.abort()
    print("waits", flush=True)
    time.sleep(600)
path = os.environ["TORCH_NCCL_DEBUG_INFO_PIPE_FILE"] + str(rank) + ".pipe"
os.mkfifo(path)
pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
def serve():
    while True:
        time.sleep(0.2)
        try:
            if os.read(pipe, 128):
                dump()
        except BlockingIOError:
            pass
import ctypes, threading
threading.Thread(target=serve, daemon=True).start()
mpi = ctypes.CDLL("libmpi.so.40", mode=ctypes.RTLD_GLOBAL)
mpi.MPI_Init(None, None)
print("waits", flush=True)
if rank != 2:
    mpi.MPI_Barrier(ctypes.byref(ctypes.c_char.in_dll(
        mpi, "ompi_mpi_comm_world")))
time.sleep(600)
"""
FLIGHT = ["-x", "TORCH_FR_DUMP_TEMP_FILE=/tmp/flight_",
          "-x", "TORCH_NCCL_DEBUG_INFO_PIPE_FILE=/tmp/flight_"]
BEHIND = "PyTorch: rank 2 has not entered all_reduce #2 of the default group"


def recorded(job, *options, argument=()):
    return Launch(job, ["muster", "launch", "-n", "4", "--slots-per-node", "2",
                        "--grace", "1s", *FLIGHT, *options, "--",
                        "/usr/bin/python3", "-c", RECORDED, *argument])


def test_pytorch_names_the_rank_that_is_behind():
    with cluster("hangtorch") as c:
        job = apply(c, workers=2)
        run = recorded(job, "--bootstrap", "pmix", "--hang-timeout", "20s",
                       "--hang-action", "stop")
        run.until("waits", count=4)
        plain = job.launcher.exec(["muster", "stack"]).stdout
        check("PyTorch" not in plain, "PyTorch was asked unasked", plain)
        told = job.launcher.exec(["muster", "stack", "--nccl"]).stdout
        contains(told, BEHIND + " at train.py:82 (step); 3 others wait in it "
                 "since ", "on demand")
        contains(told, "its last call was broadcast #1 at train.py:81 (step)")
        contains(told, "Rank 2 holds up the rest, by PyTorch's record", "who")
        # What was written is read again, and nobody asked.
        found = json.loads(job.launcher.exec(
            ["muster", "stack", "-o", "json"]).stdout)
        contains(found["collectives"][0], BEHIND, "JSON")
        run.wait()
        equal(run.code, 124, "exit code", run.err)
        contains(run.verdict()["summary"],
                 "Rank 2 holds up the rest, by PyTorch's record")
        contains(run.err, BEHIND, "the hang that ended it")


# Computes for a while, as an import does, or sleeps; and says nothing.
WORKS = """
import time
end = time.monotonic() + %d
while time.monotonic() < end:
    compile("x = [i for i in range(9)]\\n" * 99, "x", "exec")
time.sleep(%d)
print("over", flush=True)
"""


def silent(job, works, sleeps):
    return Launch(job, ["muster", "launch", "-n", "2", "--bootstrap", "pmix",
                        "--hang-timeout", "2s", "--hang-action", "stop", "--",
                        "/usr/bin/python3", "-c", WORKS % (works, sleeps)])


def test_silent_ranks_that_work_are_not_stopped():
    with cluster("hangwork") as c:
        job = apply(c, workers=2)
        run = silent(job, 12, 0).wait()
        equal(run.code, 0, "exit code", run.err)
        contains(run.err, "the ranks are at work: ", "it is said")
        contains(run.err, "CPU time", "what moves")
        check("hold" not in run.err, "nobody holds up the rest", run.err)


def test_silent_ranks_that_only_sleep_are_told_of():
    with cluster("hangsleep") as c:
        job = apply(c, workers=2)
        run = silent(job, 0, 20).wait()
        equal(run.code, 0, "exit code", run.err)
        contains(run.err, "No rank is at work or waits for another", "warning")
        contains(run.err, "called by Python", "where they are")


def test_records_of_a_timeout_name_who_was_missing():
    with cluster("timeouttorch") as c:
        job = apply(c, workers=2)
        for bootstrap in ("pmix", "mpirun"):
            run = recorded(job, "--bootstrap", bootstrap, argument=[GO])
            run.until("waits", count=3)
            # Agents look where records would be at this, and at heartbeats.
            job.launcher.exec(["muster", "stack"], check=True)
            job.workers[0].exec(["touch", GO], check=True)
            run.wait()
            job.workers[0].exec(["rm", GO], check=True)
            verdict = run.verdict()
            equal(verdict["code"], "nccl_timeout", bootstrap, run.err)
            equal(verdict["rank"], 2, bootstrap, run.err)
            contains(verdict["host"], "pi-worker-1", bootstrap)
            contains(verdict["summary"], "Rank 2 did not take part", bootstrap)
            check(verdict["confidence"] != "proven", bootstrap, verdict)
            check(any(BEHIND in x for x in verdict["evidence"]), bootstrap,
                  verdict)
            equal([x["ranks"] for x in run.report["collectives"]], [[2]],
                  "report.json", run.report["collectives"])


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


def needs_mpi4py():
    found = subprocess.run(["/usr/bin/python3", "-c", "import mpi4py"],
                           capture_output=True, check=False)
    if found.returncode != 0:
        raise Skip("no mpi4py here")


def python(job, *options, script=None, code=None):
    program = ["-c", code] if code else [script]
    return Launch(job, ["muster", "launch", "-n", "2", *CALM, "--grace", "1s",
                        *options, "--", "/usr/bin/python3", *program])


RAISES = """from mpi4py import MPI

def work(table):
    return table["batch 17"]

if MPI.COMM_WORLD.rank == 1:
    work({})
MPI.COMM_WORLD.%s
"""
WAYS = (["--bootstrap", "pmix"], ["--bootstrap", "mpirun"])


def test_a_rank_that_raised_and_waits_for_the_others_has_failed():
    """Neither of the two can ever end."""
    needs_mpi4py()
    files = {"/opt/recv.py": RAISES % "recv(source=1)",
             "/opt/all.py": RAISES % "allreduce(1)"}
    with cluster("raised") as c:
        job = apply(c, workers=2, files=files)
        for way in (*WAYS, ["--local", "1x2", "--bootstrap", "mpirun"],
                    ["--local", "1x2", "--bootstrap", "pmix"]):
            for script in files if way in WAYS else ("/opt/recv.py",):
                run = python(job, *way, "--exception-timeout", "3s",
                             script=script).wait()
                equal(run.code, 1, f"exit code {way}", run.out, run.err)
                verdict = run.verdict()
                equal(verdict["code"], "python_exception", f"verdict {way}",
                      run.err)
                equal(verdict["class"], "rank_failed", "class", verdict)
                equal(verdict["rank"], 1, "rank", verdict)
                contains(json.dumps(verdict), script, "verdict")
                contains(run.err, "raised \"KeyError: 'batch 17'\"", "stderr")


def test_an_exception_stays_the_cause_of_what_is_ended_later():
    needs_mpi4py()
    files = {"/opt/recv.py": RAISES % "recv(source=1)"}
    with cluster("raised-term") as c:
        job = apply(c, workers=2, files=files)
        for way in WAYS:
            # 0: never. It is named, and the job goes on.
            run = python(job, *way, "--exception-timeout", "0",
                         script="/opt/recv.py")
            run.until("raised \"KeyError: 'batch 17'\" and does not end")
            contains(run.err, "rank 1 on pi-worker-1", str(way))
            contains(run.err, "The job goes on", str(way))
            for command in ("ps", "status"):
                shown = job.launcher.exec(["muster", command]).stdout
                contains(shown, "inalize after KeyError: 'batch 17'", command)
            check(run.process.poll() is None, "the job was ended", run.err)
            run.process.terminate()
            run.wait()
            equal(run.code, 1, f"exit code {way}", run.err)
            equal(run.verdict()["code"], "python_exception", "verdict",
                  run.err)
            equal(run.verdict()["rank"], 1, "rank", run.err)


def test_a_program_that_goes_on_after_a_traceback_is_not_ended():
    """It catches the exception and tells it: as its last words, too, with which
    it then waits in MPI_Finalize for a rank that works on and ends well."""
    needs_mpi4py()
    caught = """import sys, time, traceback
from mpi4py import MPI
rank = MPI.COMM_WORLD.rank
def raises(): return {}["batch 17"]
%s
if rank == 0: time.sleep(8)
"""
    files = {"/opt/last.py": caught % """
if rank == 1:
    try:
        raises()
    except KeyError:
        traceback.print_exc()""",
             "/opt/main.py": caught % """
def main():
    try:
        raises()
    except KeyError:
        traceback.print_exc()
if rank == 1: main()""",
             "/opt/waits.py": caught % """
if rank == 1:
    try:
        raises()
    except KeyError:
        traceback.print_exc()
    time.sleep(8)"""}
    with cluster("caught") as c:
        job = apply(c, workers=2, files=files)
        for way in WAYS:
            for script in files:
                run = python(job, *way, "--exception-timeout", "1s",
                             script=script).wait()
                equal(run.code, 0, f"exit code of {script} {way}", run.err)
                contains(run.out + run.err, "KeyError: 'batch 17'", script)
        # All leave in the same way: nobody waits for long.
        run = python(job, "--exception-timeout", "1s", code="from mpi4py "
                     "import MPI\nraise ValueError('all of us')\n").wait()
        equal(run.code, 1, "exit code", run.err)
        equal(run.verdict()["code"], "python_exception", "verdict", run.err)
        check("does not end" not in run.err, "a rank was ended", run.err)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
