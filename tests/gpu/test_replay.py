#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The recorded machine with an H200 (recorded/), played back: its ranks' lines
and ends through a launch here, NCCL's RAS answer and PyTorch's flight records
where muster asks for them. What is said while it runs and what `explain-log`
says of the same lines must be one judgement."""
import json
import os
import socket
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "cluster"))

import subprocess  # noqa: E402

from harness import (HANG_GUARD, PREFIX, PROGRAMS, check,  # noqa: E402
                     contains, equal, main)

RECORDED = os.path.join(HERE, "recorded")
MUSTER = os.path.join(PREFIX, "bin", "muster")


def muster(*words, env=None):
    return subprocess.run([MUSTER, *words], capture_output=True, text=True,
                          timeout=HANG_GUARD, check=False,
                          env={**os.environ, **(env or {})})


def replay(name, *ends, options=(), env=None):
    """(exit code, verdict, stderr) of a launch that plays the run back."""
    with tempfile.TemporaryDirectory(prefix="replay-") as shared:
        env = {"SHARED": shared, **{k: v.replace("{shared}", shared)
                                    for k, v in (env or {}).items()}}
        report = os.path.join(shared, "report.json")
        done = muster(
            "launch", "--local", "2x1", "--bootstrap", "pmix", "--grace", "1s",
            "--log-format", "text", "--report-json", report, *options,
            *(x for n in env for x in ("-x", n)), "--", "/usr/bin/python3", "-B",
            os.path.join(HERE, "replay_rank.py"), stdout_of(name), *ends, env=env)
        with open(report, encoding="utf-8") as file:
            return done.returncode, json.load(file).get("verdict") or {}, done.stderr


def stdout_of(name):
    return os.path.join(RECORDED, "runs", name, "stdout")


def told(verdict):
    return "\n".join([verdict.get("summary", ""), verdict.get("cause", ""),
                      *verdict.get("evidence", []), *verdict.get("remedies", [])])


def afterwards(name):
    """The verdict of explain-log on what the ranks wrote."""
    done = muster("explain-log", "-o", "json", stdout_of(name))
    return json.loads(done.stdout)["verdict"]


# name: ends of the ranks, exit code, verdict, its rank, what it must say.
FAILED = {
    "assertion": (["1=1"], 1, "cuda_illegal_access", 1, "srcIndex < srcSelectDimSize"),
    "duplicate": (["0=1", "1=1"], 1, "nccl_duplicate_gpu", None, "CUDA device 60"),
    "exception": (["1=1"], 1, "python_exception", 1, "bad sample in shard 17"),
    "illegal": (["1=1"], 1, "cuda_illegal_access", 1, "illegal memory access"),
    "noiface": (["0=1"], 1, "net_interface_wrong", 0, "NCCL_SOCKET_IFNAME"),
    "oom": (["1=1"], 1, "gpu_oom", 1, "8.00 GiB"),
    "ordinal": (["1=1"], 1, "cuda_device_ordinal", 1, "invalid device ordinal"),
    "watchdog": (["1=-6"], 134, "nccl_timeout", 1, "collective"),
    "watchdog-mismatch": (["0=-6"], 134, "collective_mismatch", None, "truncated"),
}
# Where only the ranks' ends tell, and lines of others do not.
SILENT = {
    "exit3": (["1=3"], 3, "exit_nonzero_silent"),
    "sysexit5": (["1=5"], 5, "exit_nonzero_silent"),
    "kill9": (["1=-9"], 137, "sigkill_unexplained"),
    "segfault": (["1=-11"], 139, "segfault"),
}


def test_failures_are_judged_alike_live_and_afterwards():
    for name, (ends, code, cause, rank, words) in FAILED.items():
        seen, verdict, text = replay(name, *ends)
        equal(seen, code, f"{name}: exit code", text)
        equal(verdict["code"], cause, name, text)
        if rank is not None:
            equal(verdict["rank"], rank, f"{name}: rank", text)
        contains(told(verdict), words, name)
        equal(afterwards(name)["code"], cause, f"explain-log of {name}")


def test_ends_are_facts():
    for name, (ends, code, cause) in SILENT.items():
        seen, verdict, text = replay(name, *ends)
        equal(seen, code, f"{name}: exit code", text)
        equal((verdict["code"], verdict["rank"]), (cause, 1), name, text)


def test_a_run_that_succeeded_is_left_in_peace():
    seen, verdict, text = replay("ok", "0=0", "1=0")
    equal((seen, verdict["code"]), (0, "no_failure"), "ok", text)
    check("warning" not in text and "error" not in text, "a word of trouble", text)


def recorded_answers():
    """What each command line answered on that machine, by the line."""
    with open(os.path.join(RECORDED, "muster-facts.txt"), encoding="utf-8") as file:
        parts = file.read().split("\n$ ")
    return {part.split("\n", 1)[0].lstrip("$ "):
            part.split("\n", 1)[1].rsplit("[rc=", 1)[0] for part in parts}


def test_the_recorded_facts_are_planned_as_they_were():
    """Facts files of then are read now, and give the same network."""
    said = recorded_answers()
    with tempfile.NamedTemporaryFile("w", suffix=".json") as facts:
        facts.write(said["muster fabric show -o json"])
        facts.flush()
        for words in (["plan"], ["env"]):
            done = muster("fabric", *words, "--facts", facts.name)
            equal(done.returncode, 0, f"fabric {words}", done.stderr)
            for line in said["muster fabric " + words[0]].splitlines():
                # The advice is of the MPI here, which the file does not name.
                if line.strip() and not line.startswith("for an mpirun line"):
                    contains(done.stdout, line, f"fabric {words}")
        shown = muster("fabric", "show", "--facts", facts.name).stdout
        contains(shown, "GPUs: 1 x NVIDIA H200, driver 580.159.04, CUDA 13.0")


HANG = ["--hang-timeout", "2s", "--hang-action", "stop"]
SPINS = """#include <time.h>
int cudaStreamSynchronize(void) {
  struct timespec now;
  for (;;) clock_gettime(CLOCK_MONOTONIC, &now);
}
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def spinning():
    """A library in which a rank turns as one does in the driver."""
    os.makedirs(PROGRAMS, mode=0o755, exist_ok=True)
    path = os.path.join(PROGRAMS, "libspin.so")
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-x", "c", "-", "-o", path],
                   input=SPINS, text=True, check=True, timeout=120)
    return path


def test_nccl_names_the_rank_that_is_behind():
    seen, verdict, text = replay(
        "hang-stop", "0=waits", options=HANG, env={
            "SPIN": spinning(),
            "RAS": os.path.join(RECORDED, "ras-verbose-status.txt"),
            "NCCL_RAS_ADDR": f"127.0.0.1:{free_port()}"})
    equal((seen, verdict["code"]), (124, "hang"), "end", text)
    contains(verdict["summary"], "ank 1 holds up the rest")
    contains(told(verdict), "AllReduce rank 0 is at number 21, rank 1 at 20")


def test_the_first_difference_of_the_records_tells():
    seen, verdict, text = replay(
        "hang-mismatch", "0=waits", "1=waits", options=HANG, env={
            "SPIN": spinning(),
            "FLIGHT": os.path.join(RECORDED, "flight"),
            "TORCH_FR_DUMP_TEMP_FILE": "{shared}/flight_",
            "TORCH_NCCL_DEBUG_INFO_PIPE_FILE": "{shared}/flight_"})
    equal((seen, verdict["code"]), (124, "hang"), "end", text)
    for part in ("#26", "267786", "1048576"):
        contains(told(verdict), part)


if __name__ == "__main__":
    main(sys.modules[__name__])
