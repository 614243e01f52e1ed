# SPDX-License-Identifier: Apache-2.0
"""What passes between the launcher pod and its workers while a job runs: on
muster's own channel no variable, argument, input or output in clear."""
import shutil
import subprocess
import sys
import tempfile

from harness import (Skip, apply, check, cluster, equal, launch,
                     listening, main, until)

# Once more in capitals from each rank: the output is in no argument.
MARKS = {"variable": "variable-zq81ht", "argument": "argument-zq81ht",
         "input": "input-zq81ht"}
SCRIPT = "cat; echo $TOKEN $0 | tr a-z A-Z"
LAST = b"SSH-2.0-the-last-word\r\n"


class Capture:
    """All packets of a pod's interfaces, while the body runs."""

    def __init__(self, pod, *filters):
        self.pod, self.filters = pod, filters

    def __enter__(self):
        self.file = tempfile.TemporaryFile()
        self.dump = self.pod.popen(
            ["tcpdump", "-i", "any", "--immediate-mode", "-U", "-s0", "-w",
             "-", "-Z", "root", *self.filters], user="root",
            stdout=self.file, stderr=subprocess.PIPE)
        while b"listening" not in (line := self.dump.stderr.readline()):
            if not line:
                raise Skip("tcpdump cannot listen here")
        return self

    def packets(self):
        self.file.seek(0)
        return self.file.read()

    def complete(self, worker):
        """Packets are written in their order: behind this word are none."""
        say = (f"import socket; s = socket.create_connection(('{worker.ip}', "
               f"2222)); s.sendall({LAST!r}); s.recv(1)")
        self.pod.exec(["/usr/bin/python3", "-c", say], timeout=60)
        check(until(lambda: LAST in self.packets()), "the last word is missing")
        return self.packets()

    def __exit__(self, *_):
        self.dump.kill()
        self.dump.wait()
        self.dump.stderr.close()
        self.file.close()


def run_under(name, bootstrap, filters):
    """A job whose ranks have seen all marks, and what was on the wire."""
    if not shutil.which("tcpdump"):
        raise Skip("no tcpdump")
    with cluster(name) as c:
        job = apply(c, workers=2)
        listening(job.workers)
        with Capture(job.launcher, *filters) as capture:
            run = launch(job, "-n", "2", "--bootstrap", bootstrap, "-x",
                         "TOKEN=" + MARKS["variable"], "--", "sh", "-c",
                         SCRIPT, MARKS["argument"],
                         stdin=MARKS["input"].encode() + b"\n")
            packets = capture.complete(job.workers[0])
        equal(run.code, 0, "exit code", run.out, run.err)
        ranks = run.lines()
        said = f"{MARKS['variable']} {MARKS['argument']}".upper()
        equal(ranks, {0: [MARKS["input"], said], 1: [said]}, "output")
        # Two agents answered, on connections that were captured whole.
        check(packets.count(b"SSH-2.0-muster") >= 2 and len(packets) > 10000,
              f"{len(packets)} bytes captured")
        return packets


def in_clear(packets):
    return [what for what, mark in MARKS.items()
            for form in (mark, mark.upper())
            if form.encode() in packets]


def test_native_start_is_encrypted():
    """Whatever the port: nothing but SSH passes between the pods."""
    packets = run_under("wi-native", "pmix", ["tcp"])
    equal(in_clear(packets), [], "in clear")


def test_own_channel_under_mpirun():
    """The daemons of an mpirun have channels of their own, which are its."""
    packets = run_under("wi-mpirun", "mpirun", ["tcp", "port", "2222"])
    equal(in_clear(packets), [], "in clear")


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
