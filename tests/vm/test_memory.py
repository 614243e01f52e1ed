# SPDX-License-Identifier: Apache-2.0
"""Memory limits as kubelet sets them on cgroup v2, which the machine that
builds may lack: a kernel's kill of one process, of a whole pod with its agent
(memory.oom.group), and one that comes between two heartbeats; memory pressure
(PSI) as evidence. Real worker, agent and launcher, in namespaces inside of an
emulated machine."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "cluster"))
sys.path.insert(0, HERE)

from harness import check, equal, main  # noqa: E402
from machine import LIMIT, run, step  # noqa: E402

# step, exit code, confidence, what the evidence says
KILLS = [
    ("alone", 137, "proven", "oom_kill counter rose"),
    ("group", 204, "likely", "at its memory limit"),
    ("sudden", 204, "likely", "at its memory limit"),
]


def add_pods(disk):
    with tempfile.TemporaryDirectory() as folder:
        target = os.path.join(folder, "eat")
        subprocess.run(["gcc", "-O1", "-static", "-o", target,
                        os.path.join(HERE, "eat.c")], check=True, timeout=60)
        disk.copy_stripped(target, "/bin/eat")
    disk.program(shutil.which("unshare"), "/sbin/unshare")
    disk.file("/etc/passwd", "root:x:0:0:root:/tmp:/bin/sh\n", 0o644)
    disk.file("/etc/nsswitch.conf", "passwd: files\nhosts: files\n", 0o644)
    disk.folder("/etc/netns")


def report(steps, name, console):
    code, text = step(steps, name, console)
    lines = [s for s in text.splitlines() if s.startswith("{")]
    check(lines, f"step {name} wrote no report", text)
    return code, json.loads(lines[-1]), text


def test_memory_kills():
    steps, console = run("memory.sh", ["veth", "bridge"], add_pods,
                         ["unshare", "gcc"])
    for name, exit_code, confidence, words in KILLS:
        code, found, text = report(steps, name, console)
        verdict = found["verdict"]
        equal((code, verdict["code"], verdict["rank"], verdict["host"],
               verdict["confidence"]),
              (exit_code, "host_oom_kill", 1, "w1", confidence), name, text)
        check(any(words in line for line in verdict["evidence"]),
              f"{name}: {words!r} is no evidence", text)
    _, _, text = report(steps, "starved", console)
    check("stood still for lack of memory, share of the time: w1 " in text,
          "starved: no word of it", text)


test_memory_kills.hang_guard = LIMIT + 120

if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
