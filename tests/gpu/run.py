#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""muster on a real GPU: facts against the driver's own, a small training run
with a planned failure in each scenario, what muster says of it, what it costs
per step. Two to eight ranks share one GPU, which NCCL takes for machines of
their own (train.py).

    tests/gpu/run.py [--prefix DIR] [--python PROGRAM] [--record DIR] [NAME...]

Needs an NVIDIA GPU, its driver, a Python with PyTorch (the default: python3 on
PATH) and an installed muster (MUSTER_PREFIX, or build/prefix); no network.
CuPy is used where it is. Takes under four minutes with one H100. --record keeps
what ranks and muster wrote. --on-cpu runs over gloo what needs no GPU.
The last line: "N passed, N failed[, N skipped]"; exit status 77 and a sentence
where something is missing.
"""
import argparse
import concurrent.futures
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.request

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

from nvml import Nvml  # noqa: E402

TRAIN = os.path.join(HERE, "train.py")
HANG_GUARD = 150  # seconds of one launch; nothing is measured with it
# {dir}: of the launch. PyTorch writes a record when a line comes by the pipe.
RECORDS = {"TORCH_FR_BUFFER_SIZE": "2000",
           "TORCH_NCCL_TRACE_BUFFER_SIZE": "2000",
           "TORCH_FR_DUMP_TEMP_FILE": "{dir}/flight_",
           "TORCH_NCCL_DEBUG_INFO_TEMP_FILE": "{dir}/flight_",
           "TORCH_NCCL_DEBUG_INFO_PIPE_FILE": "{dir}/flight_"}
STOPS = ["--hang-timeout", "6s", "--hang-action", "stop", "--grace", "2s"]


class Skip(Exception):
    pass


def check(condition, what, *details):
    if not condition:
        raise AssertionError("\n".join([what, *(str(d)[-3000:] for d in details)]))


def has(text, pattern, what="what muster says"):
    check(re.search(pattern, text), f"{what} lacks /{pattern}/", text)


def lacks(text, pattern, what="what muster says"):
    check(not re.search(pattern, text), f"{what} has /{pattern}/", text)


class Bed:
    """What all tests share."""

    def __init__(self, options, where):
        self.muster = os.path.join(options.prefix, "bin", "muster")
        self.python = shutil.which(options.python)
        self.on_cpu = options.on_cpu
        self.where = where
        self.record = options.record
        self.environment = {k: v for k, v in os.environ.items()
                            if not k.startswith(("NCCL_", "MUSTER_", "TORCH_"))}
        # Recorded as the image gives it: muster must not take it for a fact.
        if "NCCL_VERSION" in os.environ:
            self.environment["NCCL_VERSION"] = os.environ["NCCL_VERSION"]

    def run(self, *words, env=None, timeout=HANG_GUARD):
        return subprocess.run([self.muster, *words], capture_output=True, text=True,
                              env={**self.environment, **(env or {})},
                              timeout=timeout, check=False, cwd=self.where)

    def json(self, *words):
        done = self.run(*words)
        check(done.returncode == 0, f"{words} exits with {done.returncode}",
              done.stdout, done.stderr)
        return json.loads(done.stdout)


class Launch:
    """One launch in a directory of its own, which is its TMPDIR, too."""

    def __init__(self, bed, name, scenario, options=(), env=None, local="2x1",
                 program=None):
        self.bed, self.name = bed, name
        self.directory = os.path.join(bed.where, name)
        os.makedirs(self.directory)
        self.report_file = os.path.join(self.directory, "report.json")
        self.environment = {
            **bed.environment, "TMPDIR": self.directory,
            **({"ON_CPU": "1"} if bed.on_cpu else {}),
            **{n: v.replace("{dir}", self.directory) for n, v in (env or {}).items()}}
        names = [x for n in (env or {}) for x in ("-x", n)]
        program = program or [bed.python, TRAIN, scenario]
        self.stdout = open(os.path.join(self.directory, "stdout"), "wb")
        self.stderr = open(os.path.join(self.directory, "stderr"), "wb")
        self.process = subprocess.Popen(
            [bed.muster, "launch", "--local", local, "--bootstrap", "pmix",
             "--log-format", "text", "--report-json", self.report_file,
             *options, *names, *(["-x", "ON_CPU"] if bed.on_cpu else []), "--",
             *program],
            stdout=self.stdout, stderr=self.stderr, env=self.environment,
            cwd=self.directory)

    def ask(self, *words):
        return subprocess.run([self.bed.muster, *words], capture_output=True,
                              text=True, env=self.environment, timeout=60,
                              check=False).stdout

    def read(self, name):
        with open(os.path.join(self.directory, name), errors="replace",
                  encoding="utf-8") as file:
            return file.read()

    def until(self, text, count=1):
        end = time.monotonic() + HANG_GUARD
        while self.read("stdout").count(text) < count:
            check(self.process.poll() is None, f"ended before {text!r}",
                  self.read("stderr"), self.read("stdout"))
            check(time.monotonic() < end, f"no {text!r}", self.read("stdout"))
            time.sleep(0.1)

    def wait(self):
        try:
            self.code = self.process.wait(HANG_GUARD)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(60)
            raise AssertionError("the launch does not end\n" + self.read("stderr"))
        finally:
            self.stdout.close()
            self.stderr.close()
            if self.bed.record:
                kept = os.path.join(self.bed.record, self.name)
                shutil.copytree(self.directory, kept, dirs_exist_ok=True,
                                ignore=lambda _, names: [
                                    n for n in names if n not in
                                    ("stdout", "stderr", "report.json")])
        self.out, self.err = self.read("stdout"), self.read("stderr")
        self.report = {}
        if os.path.exists(self.report_file):
            self.report = json.loads(self.read("report.json"))
        self.verdict = self.report.get("verdict") or {}
        self.told = "\n".join([
            self.verdict.get("summary", ""), self.verdict.get("cause", ""),
            *self.verdict.get("evidence", []), *self.verdict.get("remedies", [])])
        return self

    def exits(self, code):
        check(self.code == code, f"exit code {self.code} instead of {code}",
              self.err, self.out)
        return self

    def judged(self, code, rank=None):
        check(re.fullmatch(code, self.verdict.get("code", "none")),
              f"verdict {self.verdict.get('code')} instead of {code}",
              self.err, self.out)
        if rank is not None:
            check(self.verdict.get("rank") == rank,
                  f"rank {self.verdict.get('rank')} instead of {rank}", self.err)
        return self


# Of tests: ALONE runs with nothing beside it, since it takes the whole GPU, or
# what it does to the GPU shows in others, or it is a measurement.
TESTS = {}
ALONE, CPU = set(), set()


def test(alone=False, cpu=False):
    def add(function):
        name = function.__name__
        TESTS[name] = function
        ALONE.update([name] if alone else [])
        CPU.update([name] if cpu else [])
        return function
    return add


# What is known of the machine.

@test(alone=True)
def facts_are_the_drivers(bed):
    nvml = Nvml()
    pod = bed.json("fabric", "show", "-o", "json")["pods"][0]
    check(pod["gpu_driver"] == nvml.driver(), "driver", pod["gpu_driver"])
    own = nvml.gpus()
    check(len(pod["gpus"]) == len(own) or any(g["mig"] for g in own),
          "number of GPUs", pod["gpus"])
    for mine, theirs in zip(pod["gpus"], own):
        for key, wanted in (("name", theirs["name"]), ("pci", theirs["pci"]),
                            ("memory_bytes", theirs["total"]),
                            ("mig", theirs["mig"])):
            check(mine[key] == wanted, f"{key}: {mine[key]} instead of {wanted}")
        # The driver's reserve is nobody's use.
        check(mine["memory_used_bytes"] < max(64 << 20, theirs["used"] * 2),
              f"used {mine['memory_used_bytes']}, NVML: {theirs}")


@test(alone=True)
def doctor_says_facts_as_json(bed):
    found = bed.json("doctor", "-o", "json")
    check(isinstance(found["facts"], dict), "facts are a string", found["facts"])


def torch_nccl(bed):
    done = subprocess.run(
        [bed.python, "-c", "import torch; print(*torch.cuda.nccl.version(), sep='.')"],
        capture_output=True, text=True, check=True, timeout=HANG_GUARD)
    return done.stdout.strip()


@test()
def the_nccl_that_counts_is_the_programs(bed):
    loaded = torch_nccl(bed)
    pod = bed.json("fabric", "show", "-o", "json", "--", bed.python, TRAIN, "ok")
    check(pod["pods"][0]["nccl_version"] == loaded,
          f"NCCL {pod['pods'][0]['nccl_version']} instead of {loaded}")
    done = bed.run("doctor", "--program", f"{bed.python} {TRAIN} ok")
    has(done.stdout, re.escape(loaded), "doctor --program")


@test()
def mig_instances_count_as_gpus(bed):
    if not any(g["mig"] for g in Nvml().gpus()):
        raise Skip("no GPU here is in MIG mode")
    pod = bed.json("fabric", "show", "-o", "json")["pods"][0]
    check(any("MIG" in json.dumps(g) for g in pod["gpus"]), "no MIG instance",
          pod["gpus"])


@test(alone=True)
def nccl_runs_with_two_ranks_on_one_gpu(bed):
    run = Launch(bed, "nccl", "", local="2x1", program=[
        "sh", "-c", f'NCCL_HOSTID=h$RANK exec {bed.muster} fabric nccl-rank'])
    run.wait().exits(0)
    has(run.out, r"2 ranks: *[0-9.]+ ?(GB|MB)/s", "fabric nccl")


# Runs that succeed.

@test(cpu=True)
def two_ranks_train(bed):
    run = Launch(bed, "ok", "ok").wait().exits(0)
    check(run.out.count("done,") == 2, "two ranks are done", run.out)
    lacks(run.err, "warning|error", "a run that succeeds")


@test()
def eight_ranks_train(bed):
    run = Launch(bed, "ok8", "ok", local="8x1").wait().exits(0)
    check(run.out.count("done,") == 8, "eight ranks are done", run.out)
    # Eight pods see the same GPU: it is one.
    lacks(run.err, r"GPU use .* of [2-9]", "the GPU counted once")


@test(cpu=True)
def a_long_import_is_no_hang(bed):
    run = Launch(bed, "import", "import", STOPS).wait().exits(0)
    check(run.out.count("imported") == 2, "both are done", run.out)


@test(cpu=True)
def long_computing_is_no_hang(bed):
    run = Launch(bed, "compute", "compute", STOPS).wait().exits(0)
    check(run.out.count("done,") == 2, "both are done", run.out)


# Ranks that fail.

def fails(bed, name, code, verdict, *patterns, rank=1, options=(), env=None,
          local="2x1"):
    run = Launch(bed, name, name, options, env, local).wait()
    run.exits(code).judged(verdict, rank)
    for pattern in patterns:
        has(run.told, pattern)
    return run


@test(cpu=True)
def an_exception(bed):
    fails(bed, "exception", 1, "python_exception", "bad sample in shard 17")


@test(cpu=True)
def a_segmentation_fault(bed):
    fails(bed, "segfault", 139, "segfault")


@test(cpu=True)
def a_silent_exit(bed):
    fails(bed, "exit3", 3, "exit_nonzero_silent")


@test(cpu=True)
def an_exit_of_python(bed):
    fails(bed, "sysexit5", 5, "exit_nonzero_silent")


@test(cpu=True)
def a_kill_from_outside(bed):
    fails(bed, "kill9", 137, "sigkill_unexplained")


@test(cpu=True)
def a_loss_that_is_nan(bed):
    fails(bed, "nan", 1, "python_exception", "loss is nan")


@test(alone=True)
def gpu_memory_runs_out(bed):
    fails(bed, "oom", 1, "gpu_oom", r"8\.00 GiB")


@test()
def host_memory_runs_out(bed):
    group = "/sys/fs/cgroup/muster-gpu-test"
    try:
        os.makedirs(group, exist_ok=True)
        with open(f"{group}/memory.max", "w", encoding="ascii") as file:
            file.write(str(12 << 30))
    except OSError as error:
        raise Skip(f"no control group can be made here: {error.strerror}")
    enter = f'echo $$ > {group}/cgroup.procs; exec "$@"'
    directory = os.path.join(bed.where, "hostoom")
    try:
        run = subprocess.run(
            ["sh", "-c", enter, "sh", bed.muster, "launch", "--local", "2x1",
             "--bootstrap", "pmix", "--report-json", directory + ".json", "--",
             bed.python, TRAIN, "hostoom"], env=bed.environment,
            capture_output=True, text=True, timeout=HANG_GUARD, check=False)
        check(run.returncode == 137, f"exit code {run.returncode}", run.stderr)
        has(run.stderr, "out of memory|memory limit")
    finally:
        time.sleep(0.5)
        os.rmdir(group)


def has_xid(run, number):
    has(run.told + run.err, rf"Xid {number}\b")
    found = run.report.get("xids") or []
    check(any(x.get("xid") == number for x in found),
          f"the report lacks Xid {number}", found)


@test(alone=True)
def a_device_side_assert(bed):
    run = fails(bed, "assertion", 1, "cuda_illegal_access", r"srcIndex < srcSelectDimSize")
    has_xid(run, 43)


@test(alone=True)
def an_illegal_access(bed):
    needs_cupy(bed)
    run = fails(bed, "illegal", 1, "cuda_illegal_access", "illegal")
    has_xid(run, 31)


@test()
def two_ranks_on_one_gpu(bed):
    fails(bed, "duplicate", 1, "nccl_duplicate_gpu", rank=None, local="1x2")


@test()
def a_gpu_that_the_pod_lacks(bed):
    fails(bed, "ordinal", 1, "cuda_device_ordinal", local="1x2")


@test()
def gpus_hidden_by_a_variable(bed):
    run = Launch(bed, "nogpu", "ok", env={"CUDA_VISIBLE_DEVICES": ""}).wait()
    run.exits(1).judged("gpus_hidden")
    has(run.told, "CUDA_VISIBLE_DEVICES")


@test()
def an_interface_that_no_pod_has(bed):
    run = Launch(bed, "noiface", "ok", env={"NCCL_SOCKET_IFNAME": "ib0"}).wait()
    has(run.told + run.err, "ib0")
    lacks(run.out, "step 0", "the ranks' output: they must not start")
    run.exits(101)


# Jobs that stand still.

def needs_cupy(bed):
    done = subprocess.run([bed.python, "-c", "import cupy"], check=False,
                          capture_output=True, timeout=HANG_GUARD)
    if done.returncode != 0:
        raise Skip("no CuPy here")


def hangs(bed, name, scenario, *patterns, env=None, rank=1):
    run = Launch(bed, name, scenario, STOPS, env).wait().exits(124)
    run.judged("hang")
    if rank is not None:
        has(run.verdict["summary"], rf"[Rr]ank {rank} holds up")
    for pattern in patterns:
        has(run.told, pattern)
    # A sentence for people.
    check(max(map(len, run.told.split("\n"))) < 1200, "a line too long", run.told)
    lacks(run.told, r"_ZN", "names for people")
    return run


@test()
def a_late_rank_by_records(bed):
    hangs(bed, "late-records", "late", "all_reduce #26", env=RECORDS)


@test()
def a_late_rank_by_nccl(bed):
    hangs(bed, "late-nccl", "late", "NCCL", env={"TORCH_FR_BUFFER_SIZE": "0",
                                                "TORCH_NCCL_TRACE_BUFFER_SIZE": "0"})


@test()
def a_late_rank_by_stacks(bed):
    hangs(bed, "late-stacks", "late", env={"NCCL_RAS_ENABLE": "0",
                                          "TORCH_FR_BUFFER_SIZE": "0",
                                          "TORCH_NCCL_TRACE_BUFFER_SIZE": "0"})


@test()
def a_kernel_that_stands(bed):
    needs_cupy(bed)
    hangs(bed, "kernelhang", "kernelhang", env=RECORDS)


@test()
def sizes_that_differ(bed):
    hangs(bed, "mismatch-records", "mismatch", "#26", "267786", "1048576",
          env=RECORDS, rank=None)


@test()
def sizes_that_differ_without_records(bed):
    hangs(bed, "mismatch", "mismatch", rank=None)


@test()
def the_watchdog_names_who_was_missing(bed):
    run = Launch(bed, "watchdog", "late", ["--grace", "2s"],
                 {**RECORDS, "PG_TIMEOUT": "8",
                  "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": "20"}).wait()
    run.judged("nccl_timeout", 1)
    has(run.told, "all_reduce #26")


@test()
def the_watchdog_of_a_mismatch(bed):
    run = Launch(bed, "watchdog-mismatch", "mismatch", ["--grace", "2s"],
                 {**RECORDS, "PG_TIMEOUT": "8",
                  "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": "20"}).wait()
    run.judged("collective_mismatch")
    after = bed.run("explain-log", "-o", "json",
                    os.path.join(run.directory, "stdout"))
    has(after.stdout, "collective_mismatch", "what explain-log says")


@test()
def asked_while_it_hangs(bed):
    run = Launch(bed, "asked", "late", ["--metrics-port", "29417"], RECORDS)
    try:
        run.until("reads its data for ever")
        time.sleep(6)  # GPU samples come every 5 s
        told = {" ".join(words): run.ask(*words) for words in (
            ["status"], ["ps"], ["stack"], ["stack", "--nccl"],
            ["stack", "-o", "json"], ["stack", "--nccl", "-o", "json"])}
        with urllib.request.urlopen("http://127.0.0.1:29417/metrics",
                                    timeout=20) as answer:
            told["metrics"] = answer.read().decode()
    finally:
        run.process.send_signal(signal.SIGTERM)
        run.wait()
    if bed.record:
        with open(os.path.join(bed.record, "asked.txt"), "w",
                  encoding="utf-8") as file:
            for words, text in told.items():
                file.write(f"$ muster {words}\n{text}\n")
    has(told["stack --nccl"], "rank 1 has not entered all_reduce #26", "stack --nccl")
    json.loads(told["stack -o json"])
    lacks(told["stack"], "_ZN", "stack")
    has(told["metrics"], r"muster_worker_gpus\{.*\} 1", "metrics")


# What it costs.

@test(alone=True)
def a_worker_learns_before_the_launcher_comes(bed):
    """inspect of a launch through a worker on this machine."""
    keys = os.path.join(bed.where, "keys")
    made = bed.run("keygen", "-o", keys)
    check(made.returncode == 0, "keygen", made.stderr)
    environment = {**bed.environment, "TMPDIR": bed.where}
    with open(os.path.join(bed.where, "worker.log"), "wb") as log:
        worker = subprocess.Popen(
            [bed.muster, "worker", "--port", "29422", "--address", "127.0.0.1",
             "--key-dir", keys], env=environment, stderr=log, stdout=log)
        try:
            time.sleep(4)  # as long as a launcher needs at least to come
            figures = []
            for i in range(3):
                report = os.path.join(bed.where, f"start-{i}.json")
                done = subprocess.run(
                    [bed.muster, "launch", "-H", "127.0.0.1:1", "--ssh-port",
                     "29422", "--key-dir", keys, "--bootstrap", "pmix",
                     "--report-json", report, "--", "true"], env=environment,
                    capture_output=True, text=True, timeout=HANG_GUARD, check=False)
                check(done.returncode == 0, "launch", done.stderr)
                with open(report, encoding="utf-8") as file:
                    told = json.load(file)
                check(told["workers"][0].get("drivers_age_ms") is not None,
                      "the drivers were asked in the launch", told["workers"])
                figures += [p["ms"] for p in told["phases"] if p["name"] == "inspect"]
            print(f"  inspect with a worker: {figures} ms", flush=True)
        finally:
            worker.send_signal(signal.SIGTERM)
            worker.wait(60)


STEP = re.compile(r"done, ([0-9.]+) ms a step")


def plain_steps(bed, port):
    ranks = []
    for rank in range(2):
        ranks.append(subprocess.Popen(
            [bed.python, TRAIN, "ok"], stdout=subprocess.PIPE, text=True,
            env={**bed.environment, "STEPS": "400", "RANK": str(rank),
                 "WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1",
                 "MASTER_PORT": str(port)}))
    return [STEP.search(r.communicate(timeout=HANG_GUARD)[0]).group(1) for r in ranks]


@test(alone=True)
def steps_in_turns(bed):
    figures = {"muster": [], "plain": []}
    for turn in range(2):
        run = Launch(bed, f"steps-{turn}", "ok", env={"STEPS": "400"}).wait().exits(0)
        figures["muster"] += STEP.findall(run.out)
        figures["plain"] += plain_steps(bed, 29431 + turn)
    print("  ms a step, 2 ranks, in turns: "
          + "; ".join(f"{k} {', '.join(v)}" for k, v in figures.items()), flush=True)
    check(all(len(v) == 4 for v in figures.values()), "every rank told", figures)


def one(bed, name):
    begun = time.monotonic()
    try:
        TESTS[name](bed)
        state, text = "passed", ""
    except Skip as why:
        state, text = "skipped", str(why)
    except AssertionError as error:
        state, text = "failed", str(error)
    except Exception:  # pylint: disable=broad-except
        state, text = "failed", traceback.format_exc()
    print(f"{state} {name} ({time.monotonic() - begun:.1f} s)"
          + (f": {text}" if text else ""), flush=True)
    return state


def missing(options):
    if not os.access(os.path.join(options.prefix, "bin", "muster"), os.X_OK):
        return f"no muster in {options.prefix}: name its prefix with --prefix"
    if not shutil.which(options.python):
        return f"no {options.python} on PATH: name a Python with --python"
    if not options.on_cpu:
        try:
            if not Nvml().gpus():
                return "the driver has no GPU"
        except OSError as error:
            return f"no NVIDIA GPU here: {error}; --on-cpu runs what needs none"
    done = subprocess.run([options.python, "-c", "import torch"], check=False,
                          capture_output=True)
    return None if done.returncode == 0 else f"{options.python} has no PyTorch"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--prefix", default=os.environ.get(
        "MUSTER_PREFIX", os.path.join(ROOT, "build", "prefix")))
    parser.add_argument("--python", default="python3")
    parser.add_argument("--record", help="keep what was written, in this directory")
    parser.add_argument("--on-cpu", action="store_true")
    parser.add_argument("--lanes", type=int, default=5,
                        help="scenarios side by side (default: 5)")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    options.prefix = os.path.realpath(options.prefix)
    unknown = set(options.names) - set(TESTS)
    why = f"no test {unknown.pop()}" if unknown else missing(options)
    if why:
        print(why)
        return 77  # skipped, as scripts/test reads it
    if options.record:
        options.record = os.path.realpath(options.record)
        os.makedirs(options.record, exist_ok=True)
    names = [n for n in TESTS if (not options.names or n in options.names)
             and (not options.on_cpu or n in CPU)]
    states = []
    with tempfile.TemporaryDirectory(prefix="gpu-") as where:
        bed = Bed(options, where)
        for name in (n for n in names if n in ALONE):
            states.append(one(bed, name))
        with concurrent.futures.ThreadPoolExecutor(options.lanes) as lanes:
            states += lanes.map(lambda n: one(bed, n),
                                (n for n in names if n not in ALONE))
    count = {s: states.count(s) for s in ("passed", "failed", "skipped")}
    print(f"{count['passed']} passed, {count['failed']} failed"
          + (f", {count['skipped']} skipped" if count["skipped"] else ""))
    return 1 if count["failed"] or not count["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
