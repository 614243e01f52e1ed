# SPDX-License-Identifier: Apache-2.0
"""One child of scripts/test and what came of it, and the count of all."""
import os
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


class Tally:
    """What came of it: counts, and the names behind them."""

    def __init__(self):
        self.passed = 0
        self.failed = 0
        self.failures = []
        self.skips = []
        self.times = []

    def fail(self, name, count=1):
        self.failed += count
        self.failures.append(name)

    def skip(self, name, reason):
        print(f"skip  {name}: {reason}", flush=True)
        self.skips.append(name)


class Step:
    """The end of one child: exit status (None: out of time) and its output."""

    def __init__(self, status, output):
        self.status = status
        self.output = output

    @property
    def ok(self):
        return self.status == 0


def end_group(child):
    """Whoever is left of the child's process group gets TERM, and KILL after
    10 s: podnet needs a moment to take its pods down."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(child.pid, number)
            end = time.monotonic() + 10
            while time.monotonic() < end:
                child.poll()
                os.killpg(child.pid, 0)
                time.sleep(0.05)
        except ProcessLookupError:
            break
    child.poll()


class Child:
    """One running child in a process group of its own, its output in a log.
    Exactly one finish() or stop() per child leaves nothing of it behind."""

    def __init__(self, argv, env=None, log="step", patient=False):
        """A patient child takes only the processor time nobody else wants."""
        self.log = log
        self.path = os.path.join(ROOT, "build", "logs", log + ".log")
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        if patient:
            # A new session may be scheduled as a group, whose own niceness
            # counts then, not its members'.
            argv = ["sh", "-c", "echo 19 2>/dev/null >/proc/self/autogroup; "
                    'exec nice -n 19 "$@"', "sh", *argv]
        with open(self.path, "wb") as out:
            self.process = subprocess.Popen(
                argv, cwd=ROOT, env={**os.environ, **(env or {})},
                stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.STDOUT, start_new_session=True)

    def finish(self, limit, show=True):
        """Waits for its end, at most `limit` seconds from now."""
        status = None
        try:
            status = follow(self.process, self.path, limit, show)
        finally:
            self.stop()
        with open(self.path, errors="replace") as f:
            output = f.read()
        if status is None:
            print(f"{self.log}: not over after {limit:.0f} s, ended",
                  flush=True)
        return Step(status, output)

    def stop(self):
        end_group(self.process)


def run(argv, limit, env=None, log="step", show=True):
    """Runs a child for at most `limit` seconds; copies its output to `log`."""
    return Child(argv, env, log).finish(limit, show)


def follow(child, path, limit, show):
    """Prints the growing log until the child ends. Its exit status, or None."""
    end = time.monotonic() + limit
    with open(path, errors="replace") as f:
        while True:
            status = child.poll()
            text = f.read()
            if show and text:
                sys.stdout.write(text)
                sys.stdout.flush()
            if status is not None:
                return status
            if time.monotonic() > end:
                return None
            time.sleep(0.1)
