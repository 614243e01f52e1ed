# SPDX-License-Identifier: Apache-2.0
"""One child of scripts/test and what came of it, the count of all, and whether
this machine has room for pods."""
import os
import re
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

    def finish(self, limit, show=True, progress=None):
        """Waits for its end, at most `limit` seconds from now."""
        status = None
        try:
            status = follow(self.process, self.path, limit, show, progress)
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


class Progress:
    """How far a build of ninja's is, from the `[12/345]` in its output."""

    def __init__(self, name, every=30):
        self.name = name
        self.every = every
        self.first = None    # time and steps done, as first seen
        self.printed = None  # when

    def line(self, text, now):
        """What to print after this much new output, or None."""
        counts = re.findall(r"^\[(\d+)/(\d+)\]", text, re.M)
        if counts:
            self.last = done, steps = tuple(map(int, counts[-1]))
            if self.first is None:
                self.first = (now, done)
        if self.first is None or (self.printed is not None
                                  and now < self.printed + self.every):
            return None
        self.printed = now
        done, steps = self.last
        begun, before = self.first
        line = (f"   {self.name}: step {done} of {steps} after "
                f"{(now - begun) / 60:.1f} minutes")
        if done > before and now > begun:
            # The last steps link the programs: they are the slow ones.
            rest = (steps - done) * (now - begun) / (done - before)
            line += f", at least {rest / 60:.1f} more"
        return line


def follow(child, path, limit, show, progress=None):
    """Waits for the child's end and prints its growing log, or how far it is.
    Its exit status, or None."""
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
            if progress and (line := progress.line(text, time.monotonic())):
                print(line, flush=True)
            if time.monotonic() > end:
                return None
            time.sleep(0.1)


def no_pods_because():
    """Why pods cannot be made here, in words; "" where they can."""
    if os.geteuid() != 0:
        return "pods from namespaces need root"
    probe = subprocess.run(
        ["unshare", "--mount", "--net", "--pid", "--uts", "--ipc", "--fork",
         "mount", "-t", "tmpfs", "tmpfs", "/mnt"],
        capture_output=True, text=True, check=False, timeout=20)
    if probe.returncode == 0:
        return ""
    try:
        with open("/proc/self/mountinfo") as f:
            if all(line.split()[4] != "/" for line in f):
                return ("/ is not a mount point, as in a chroot; run `mount "
                        "--bind DIR DIR` on its directory before the chroot")
    except OSError:
        return "/proc is not mounted"
    return ("this machine does not allow namespaces: "
            + (probe.stderr.strip() or f"status {probe.returncode}"))
