# SPDX-License-Identifier: Apache-2.0
"""What every cluster test shares: clusters with the installed muster, the
programs that run on them, checks with readable failures, the last line.

A test is a function `test_*(cluster_name)`; main() runs those of its module,
each under a hang guard, and prints "N passed, N failed[, N skipped]".
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests"))

from podnet import Cluster, cleanup  # noqa: E402

PREFIX = os.environ.get("MUSTER_PREFIX", os.path.join(ROOT, "build", "prefix"))
EXAMPLES = os.path.join(ROOT, "examples")
PROGRAMS = os.environ.get(
    "MUSTER_TEST_PROGRAMS",
    os.path.join(tempfile.gettempdir(), "muster-test-programs"))
HANG_GUARD = 240  # seconds for one test; nothing is measured with it


class Skip(Exception):
    pass


def check(condition, text, *details):
    if not condition:
        shown = "\n".join(str(d)[-4000:] for d in details)
        raise AssertionError(text + ("\n" + shown if shown else ""))


def equal(seen, wanted, what, *details):
    check(seen == wanted, f"{what}: {seen!r} instead of {wanted!r}", *details)


def contains(text, part, what="output"):
    check(part in text, f"{what} lacks {part!r}", text)


def program(name, compiler="mpicc.openmpi", flags=()):
    """Compiles tests/cluster/programs/NAME.c once; the path for the pods."""
    os.makedirs(PROGRAMS, mode=0o755, exist_ok=True)
    source = os.path.join(HERE, "programs", name + ".c")
    target = os.path.join(PROGRAMS, f"{name}-{compiler.split('.')[-1]}")
    if (not os.path.exists(target)
            or os.path.getmtime(target) < os.path.getmtime(source)):
        subprocess.run([compiler, "-O1", "-o", target, source, *flags],
                       check=True, timeout=120)
    return target


def cluster(name, **options):
    return Cluster(name=name, **options)


def apply(c, manifest="pi-openmpi.yaml", **options):
    options.setdefault("prefix", PREFIX)
    options.setdefault("binds", [(PROGRAMS, PROGRAMS, True)])
    os.makedirs(PROGRAMS, mode=0o755, exist_ok=True)
    return c.apply(os.path.join(EXAMPLES, manifest), **options)


def finish(job, timeout=60):
    """Waits for the launcher: exit status, stdout, stderr."""
    status = job.launcher.wait(timeout)
    return status, job.launcher.stdout(), job.launcher.stderr()


def report(job, path="/tmp/report.json"):
    done = job.launcher.exec(["cat", path])
    return json.loads(done.stdout)


def no_processes_left(job, allowed=("muster", "sshd", "sh", "sleep")):
    """Nothing of a job is left in its workers but pid 1 and its helpers."""
    deadline = time.monotonic() + 15
    while True:
        left = []
        for pod in job.workers:
            for process in pod.processes():
                name = os.path.basename(str(process.get("argv", ["?"])[0])
                                        if isinstance(process, dict)
                                        else str(process))
                left.append((pod.name, name))
        if all(name in allowed for _, name in left):
            return
        if time.monotonic() > deadline:
            raise AssertionError(f"left behind: {left}")
        time.sleep(0.2)


def guarded(function, seconds):
    """Runs `function`; a hang becomes TimeoutError with the place."""
    def alarm(_signal, _frame):
        raise TimeoutError(f"still running after {seconds} s")
    signal.signal(signal.SIGALRM, alarm)
    signal.alarm(seconds)
    try:
        function()
    finally:
        signal.alarm(0)


def main(module):
    wanted = sys.argv[1:]
    tests = [(n, f) for n, f in vars(module).items()
             if n.startswith("test_") and callable(f)]
    if wanted:
        tests = [(n, f) for n, f in tests
                 if any(w in n for w in wanted)]
    passed = failed = skipped = 0
    for name, function in tests:
        began = time.monotonic()
        try:
            guarded(function, getattr(function, "hang_guard", HANG_GUARD))
            passed += 1
            outcome = "ok"
        except Skip as reason:
            skipped += 1
            outcome = f"skipped: {reason}"
        except BaseException as error:  # a KeyboardInterrupt ends the run
            failed += 1
            outcome = "FAILED"
            traceback.print_exc()
            if isinstance(error, KeyboardInterrupt):
                break
        print(f"{name}: {outcome} ({time.monotonic() - began:.1f} s)",
              flush=True)
    skips = f", {skipped} skipped" if skipped else ""
    print(f"{passed} passed, {failed} failed{skips}", flush=True)
    return 1 if failed else 0
