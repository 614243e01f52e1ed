# SPDX-License-Identifier: Apache-2.0
"""What the interop tests share: a worker of ours on 127.0.0.1, keys, checks.

The program under test: --muster PATH, else $MUSTER, else the one of ../../build.
Every test program ends with the line "N passed, N failed, N skipped" and exits
with 1 if something failed. Nothing is left running: workers die with the test.
"""
import argparse
import ctypes
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PR_SET_PDEATHSIG = 1
HANG_GUARD = 60  # seconds; nothing is measured with it


def find_muster(given=None):
    places = [given, os.environ.get("MUSTER"), ROOT / "build/src/muster", ROOT / "build/src/cli/muster"]
    for place in places:
        if place and os.access(place, os.X_OK):
            return str(pathlib.Path(place).absolute())
    sys.exit("no muster found: build it in build/, or name it with --muster or $MUSTER")


def arguments(description, **extra):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--muster")
    parser.add_argument("--long", action="store_true", help="full sizes (1 GB, 2 minutes)")
    for name, options in extra.items():
        parser.add_argument("--" + name, **options)
    out = parser.parse_args()
    out.muster = find_muster(out.muster)
    return out


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def free_port():
    """One below those that the kernel hands out by itself: no connection of
    somebody else's takes it before the worker does."""
    for port in random.sample(range(15000, 30000), 100):
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    sys.exit("no free port between 15000 and 30000")


def until(condition, limit=HANG_GUARD):
    """Waits for it; whether it came. The limit is for what never comes."""
    end = time.monotonic() + limit
    while not (met := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return met


class Tally:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def check(self, good, what, detail=""):
        if good:
            self.passed += 1
            print(f"ok    {what}", flush=True)
        else:
            self.failed += 1
            print(f"FAIL  {what}  {detail}", flush=True)
        return good

    def skip(self, what, why):
        self.skipped += 1
        print(f"skip  {what}: {why}", flush=True)

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped")
        sys.exit(1 if self.failed else 0)


class Scratch:
    """A directory that goes with the program."""

    def __init__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="muster-interop-"))

    def __enter__(self):
        return self.path

    def __exit__(self, *ignored):
        shutil.rmtree(self.path, ignore_errors=True)


def make_keys(muster, directory, kind="ecdsa-p256"):
    subprocess.run([muster, "keygen", "--type", kind, "-o", str(directory)], check=True)
    return pathlib.Path(directory)


class Worker:
    """`muster worker`, listening; its audit records in a file. `muster` may be a
    list: what it is started by, and it."""

    def __init__(self, muster, keys, *options, address="127.0.0.1", env=None):
        command = muster if isinstance(muster, list) else [muster]
        self.port = free_port()
        self.keys = pathlib.Path(keys)
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="muster-worker-"))
        self.audit_file = self.dir / "audit"
        self.log_file = self.dir / "log"
        environment = dict(os.environ if env is None else env)
        environment.pop("MUSTER_LOG_FORMAT", None)
        self.process = subprocess.Popen(
            [*command, "worker", "--port", str(self.port), "--address", address, "--key-dir", str(keys),
             "--audit-log", str(self.audit_file), *options],
            stderr=self.log_file.open("w"), stdin=subprocess.DEVNULL, env=environment,
            preexec_fn=die_with_parent)
        deadline = time.monotonic() + HANG_GUARD
        while "ready on port" not in self.log():
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise RuntimeError("the worker did not start: " + self.log())
            time.sleep(0.02)

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)

    def log(self):
        return self.log_file.read_text()

    def audit(self, event=None):
        records = [json.loads(line) for line in self.audit_file.read_text().splitlines()]
        return [r for r in records if event is None or r["audit"] == event]

    def children(self):
        path = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in path.read_text().split()]

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def memory_kib(self, pid=None, fields=("Pss",)):
        try:
            text = pathlib.Path(f"/proc/{pid or self.process.pid}/smaps_rollup").read_text()
        except OSError:
            return 0  # it has just ended
        return sum(int(line.split()[1]) for line in text.splitlines() if line.split(":")[0] in fields)

    def private_kib(self, pid):
        return self.memory_kib(pid, ("Private_Clean", "Private_Dirty"))

    def wait_no_children(self):
        return until(lambda: not self.children())


def our_ssh(muster, worker, *command, keys=None, **options):
    env = {k: v for k, v in os.environ.items() if k != "MUSTER_LAUNCHER_SOCKET"}
    env["MUSTER_KEY_DIR"] = str(keys or worker.keys)
    options.setdefault("timeout", 60)
    options.setdefault("capture_output", True)
    if "input" not in options:
        options.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run([muster, "ssh", "-p", str(worker.port), "127.0.0.1", *command], env=env, **options)
