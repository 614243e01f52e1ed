# SPDX-License-Identifier: Apache-2.0
"""What every cluster test shares: clusters with the installed muster, the
programs that run on them, checks with readable failures, the last line.

A test is a function `test_*(cluster_name)`; main() runs those of its module,
each under a hang guard, and prints "N passed, N failed[, N skipped]".
"""
import json
import os
import re
import secrets
import shutil
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

os.umask(0o022)  # pods run as other users, who read what is made here
# A test in the background, or under nohup, has these ignored, and so would all
# that it starts.
for _number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, signal.SIG_DFL)

PREFIX = os.environ.get("MUSTER_PREFIX", os.path.join(ROOT, "build", "prefix"))
EXAMPLES = os.path.join(ROOT, "examples")
PROGRAMS = os.environ.get(
    "MUSTER_TEST_PROGRAMS",
    os.path.join(tempfile.gettempdir(), "muster-test-programs"))
# Seconds, for what never comes; nothing is measured with them.
HANG_GUARD = 480  # of one test
PATIENCE = 120    # of one step
# An image with NCCL, as muster sees one: by the name of the library's file, in
# the first directory that the loader's configuration names. So pods have the
# same NCCL whatever the machine has.
NCCL_IN_IMAGE = {"/etc/ld.so.conf.d/000-nccl.conf": "/opt/nccl/lib\n",
                 "/opt/nccl/lib/libnccl.so.2.28.3": ""}


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


def until(condition, timeout=PATIENCE):
    """Waits for it; what it gave last."""
    end = time.monotonic() + timeout
    while not (met := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return met


def is_listening(pod, port):
    """Whether the pod's kernel has a listener on the TCP port."""
    for table in ("tcp", "tcp6"):
        try:
            with open(f"/proc/{pod.pid}/net/{table}", encoding="ascii") as f:
                rows = [line.split() for line in f]
        except OSError:  # not started, or gone
            continue
        if any(row[1].endswith(f":{port:04X}") and row[3] == "0A"
               for row in rows[1:]):
            return True
    return False


def listening(pods, port=2222):
    """Waits until all listen: a worker without a probe is Ready before."""
    for pod in pods:
        check(until(lambda p=pod: is_listening(p, port)),
              f"nothing listens on port {port} of {pod.name}", pod.stderr())


def program(name, compiler="mpicc.openmpi", flags=(), root=None):
    """Compiles tests/cluster/programs/NAME.c once; the path for the pods.
    With `root`: by the compiler, and for the libraries, of that root."""
    os.makedirs(PROGRAMS, mode=0o755, exist_ok=True)
    source = os.path.join(HERE, "programs", name + ".c")
    kind = compiler.split(".")[-1] + ("-root" if root else "")
    target = os.path.join(PROGRAMS, f"{name}-{kind}")
    if (os.path.exists(target)
            and os.path.getmtime(target) > os.path.getmtime(source)):
        return target
    if not root:
        subprocess.run([compiler, "-O1", "-o", target, source, *flags],
                       check=True, timeout=120)
        return target
    with tempfile.TemporaryDirectory(dir=os.path.join(root, "tmp")) as inside:
        shutil.copy(source, inside)
        place = os.path.join("/tmp", os.path.basename(inside))
        subprocess.run(
            ["chroot", root, compiler, "-O1", "-o", f"{place}/program",
             f"{place}/{name}.c", *flags], check=True, timeout=120,
            env={**os.environ, "HOME": "/tmp"})  # Open MPI 5 wants one
        shutil.copy(os.path.join(inside, "program"), target)
    return target


def trixie():
    """The Debian 13 root that tests/podnet/trixie_root has built."""
    if reason := os.environ.get("MUSTER_NO_TRIXIE"):
        raise Skip("no Debian 13 root: " + reason)
    tool = os.path.join(ROOT, "tests", "podnet", "trixie_root")
    asked = subprocess.run([tool, "--path"], capture_output=True, text=True,
                           check=False)
    if asked.returncode != 0:
        asked = subprocess.run([tool], capture_output=True, text=True,
                               check=False)
    lines = asked.stdout.split()
    if asked.returncode != 0 or not lines:
        raise Skip("no Debian 13 root: " + asked.stderr.strip()[-200:])
    return lines[-1]


def cluster(name, **options):
    return Cluster(name=name, **options)


def apply(c, manifest="pi-openmpi.yaml", **options):
    """A job from examples/; without launcher_command its launcher idles and
    launch() starts muster in it."""
    options.setdefault("prefix", PREFIX)
    options.setdefault("launcher_command", ["sleep", "infinity"])
    options["binds"] = [(PROGRAMS, PROGRAMS, True),
                        *options.get("binds", ())]
    os.makedirs(PROGRAMS, mode=0o755, exist_ok=True)
    return c.apply(os.path.join(EXAMPLES, manifest), **options)


def finish(job, timeout=PATIENCE):
    """Waits for the launcher: exit status, stdout, stderr."""
    status = job.launcher.wait(timeout)
    return status, job.launcher.stdout(), job.launcher.stderr()


class Launch:
    """muster started in an idle launcher pod, as by kubectl exec. Text logs;
    `.report` is its report.json. stdin: bytes, or None for /dev/null."""

    def __init__(self, job, words, stdin=None, env=None, pod=None):
        self.pod = pod or job.launcher
        self.report_path = f"/tmp/report-{secrets.token_hex(4)}.json"
        self._out, self._err = (tempfile.TemporaryFile() for _ in range(2))
        self._in = tempfile.TemporaryFile()
        self._in.write(stdin or b"")
        self._in.seek(0)
        # An operator may start it after the workers.
        until(lambda: self.pod.phase == "Running")
        self.began = time.monotonic()
        self.process = self.pod.popen(
            list(words), stdin=self._in, stdout=self._out, stderr=self._err,
            env={"MUSTER_REPORT_JSON": self.report_path,
                 "MUSTER_LOG_FORMAT": "text", **(env or {})})
        self.code = None
        self.seconds = None
        self.report = None

    @staticmethod
    def _text(file):
        # pread: the offset is shared with the process that still writes.
        size = os.fstat(file.fileno()).st_size
        return os.pread(file.fileno(), size, 0).decode(errors="replace")

    @property
    def out(self):
        return self._text(self._out)

    @property
    def err(self):
        return self._text(self._err)

    def until(self, text, timeout=PATIENCE, count=1):
        """Waits until stdout or stderr holds `text`, `count` times."""
        end = time.monotonic() + timeout
        while (self.out + self.err).count(text) < count:
            if self.process.poll() is not None or time.monotonic() > end:
                self.process.kill()
                raise AssertionError(
                    f"no {text!r}\n{self.out[-2000:]}\n{self.err[-3000:]}")
            time.sleep(0.02)
        return self

    def wait(self, timeout=PATIENCE):
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(
                f"the launcher hangs: not over after {timeout} s\n"
                f"{self.out[-2000:]}\n{self.err[-3000:]}") from None
        self.code = 128 - code if code < 0 else code
        self.seconds = time.monotonic() - self.began
        self.report = read_json(self.pod, self.report_path)
        return self

    def verdict(self):
        return (self.report or {}).get("verdict", {})

    def phase_ms(self, name):
        return sum(p["ms"] for p in self.report["phases"]
                   if p["name"] == name)

    def lines(self):
        """{rank: [line]} of the text format."""
        found = {}
        for line in self.out.splitlines():
            match = re.match(r"\[(\d+)\|[^\]]+\] ?(.*)", line)
            if match:
                found.setdefault(int(match[1]), []).append(match[2])
        return found


def read_json(pod, path):
    try:
        return json.loads(pod.exec(["cat", path], timeout=20).stdout)
    except (ValueError, ProcessLookupError):
        return None


def launch(job, *words, timeout=PATIENCE, **options):
    """Runs `muster launch WORDS` to its end."""
    return Launch(job, ["muster", "launch", *words], **options).wait(timeout)


def expect(run, code, *parts):
    """The exit code, and what the launcher's stderr must say."""
    equal(run.code, code, "exit code", run.out, run.err)
    for part in parts:
        contains(run.err, part, "stderr")
    return run


def sentences_only(run):
    """No traceback, no sanitizer report, no assertion in what people read."""
    for word in ("terminate called", "Sanitizer", "Assertion", "what():"):
        check(word not in run.err + run.out, f"{word!r} in the output",
              run.err)


PLACES = ("/tmp", "/dev/shm", "/run")


def job_processes(pod):
    """{pid: command line} of a pod without its pid 1, helpers and zombies."""
    own = pod.pid
    return {pid: line for pid, line in pod.processes().items()
            if pid != own and line and line != "sleep infinity"}


def files_of_jobs(pod):
    return pod.exec(["find", *PLACES, "-xdev", "-newermt", "@1",
                     "(", "-name", "*muster*", "-o", "-name", "ompi.*",
                     "-o", "-name", "prte.*", "-o", "-name", "*.sock",
                     "-o", "-name", "vader*", ")",
                     "-not", "-path", PROGRAMS + "*"]).stdout.strip()


def nothing_left(job, pods=None, files=True):
    """No process and no file of a job is left in any pod that still lives."""
    deadline = time.monotonic() + PATIENCE
    for pod in pods or job.pods:
        if pod.phase not in ("Running",):
            continue
        while left := job_processes(pod):
            check(time.monotonic() < deadline,
                  f"left behind in {pod.name}: {left}")
            time.sleep(0.05)
        while files and (found := files_of_jobs(pod)):
            check(time.monotonic() < deadline, f"files left in {pod.name}",
                  found)
            time.sleep(0.05)


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
