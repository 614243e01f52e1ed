#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Where a launch's CPU goes: milliseconds a pod, by process and by cause.

    bench/launch_profile.py [--nodes 64] [--rounds 3] [--what true|hello|fence]
                            [--fences 200]

Of a fence: microseconds a pod, of launches with many and with two of them.

All pods are ready before; `perf record -a` samples every process of the machine
while muster launches, so nothing else may run, or not under these names. A
process is told from its forks: the launcher, pid 1 of a worker, the process of
a connection, the agent, the child that it forks for the pod's facts, the
program. A cause is the library for user code, and in the kernel what was asked
of it. Needs root, perf, and a muster as bench/launch.py does.
"""
import argparse
import collections
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import launch  # noqa: E402

HERTZ = 1000  # more would be a good part of what is seen
# The first that is anywhere in a kernel stack names the cause.
CAUSES = [
    ("asm_exc_page_fault", "page faults"), ("execve", "exec"),
    ("exit_mmap", "exit"), ("do_exit", "exit"), ("kernel_clone", "fork"),
    ("do_sys_open", "files"), ("getdents", "files"), ("newfstatat", "files"),
    ("sys_newfstat", "files"), ("statfs", "files"), ("access", "files"),
    ("readlink", "files"), ("unlink", "files"), ("mkdir", "files"),
    ("sys_close", "files"), ("ksys_read", "read"),
    ("sock_sendmsg", "network"), ("sys_sendto", "network"),
    ("sys_sendmsg", "network"), ("sys_recv", "network"),
    ("sys_setsockopt", "network"),
    ("sys_socket", "network"), ("sys_connect", "network"),
    ("ksys_write", "write"), ("poll", "waiting"), ("seccomp", "seccomp"),
    ("mmap", "memory"), ("munmap", "memory"), ("mprotect", "memory"),
]
LIBRARIES = [("libcrypto", "libcrypto"), ("libssh", "libssh"), ("ld-linux", "ld.so"),
             ("libc.so", "libc"), ("muster", "muster"), ("libpmix", "libpmix")]
COLUMNS = ["libcrypto", "libssh", "libc", "ld.so", "muster", "libpmix",
           "page faults", "files", "read", "write", "network", "waiting",
           "exec", "fork", "exit", "seccomp", "memory", "other"]
FORK = re.compile(r"PERF_RECORD_FORK\((\d+):\d+\):\((\d+):\d+\)")
EXEC = re.compile(r"PERF_RECORD_COMM exec: (.+):(\d+)/\d+")
SAMPLE = re.compile(r"\s*(.+?)\s+(\d+)/(\d+)\s*$")
FRAME = re.compile(r"\s+[0-9a-f]+ (.*) \((.*)\)$")


def cause_of(stack):
    function, where = stack[0]
    if "kernel" in where or where == "[unknown]" and function == "[unknown]":
        for part, cause in CAUSES:
            if any(part in name for name, _ in stack):
                return cause
        return "other"
    for part, library in LIBRARIES:
        if part in os.path.basename(where):
            return library
    return "other"


class Profile:
    """Samples of `perf script`, put to the parts of a launch."""

    def __init__(self, programs):
        self.programs = programs
        self.parents = {}
        self.executed = set()
        self.counts = collections.defaultdict(collections.Counter)
        self.by_pid = collections.Counter()
        self.samples = []

    def part_of(self, comm, pid, tid, launchers):
        if comm == "muster":
            return "launcher" if pid in launchers else "pid 1"
        if comm == "sshd":  # as the operator calls it
            return "pid 1"
        if comm == "muster-ssh":
            return "connection"
        if comm == "muster-agent":
            if tid != pid:
                return "agent: libpmix"
            return "agent" if pid in self.executed else "facts"
        return "program" if comm in self.programs else None

    def read(self, lines):
        head, stack = None, []
        for line in lines:
            if found := FORK.search(line):
                self.parents[int(found[1])] = int(found[2])
            elif found := EXEC.search(line):
                self.executed.add(int(found[2]))
            elif found := FRAME.match(line):
                stack.append((found[1], found[2]))
            elif not line.strip():
                if head and stack:
                    self.samples.append((*head, cause_of(stack)))
                head, stack = None, []
            elif found := SAMPLE.match(line):
                head = (found[1], int(found[2]), int(found[3]))

    def table(self, rounds, nodes):
        for comm, pid, _, _ in self.samples:
            if comm == "muster":
                self.by_pid[pid] += 1
        launchers = {pid for pid, _ in self.by_pid.most_common(rounds)}
        for comm, pid, tid, cause in self.samples:
            part = self.part_of(comm, pid, tid, launchers)
            if part:
                self.counts[part][cause] += 1
        unit = 1000 / HERTZ / rounds / nodes
        return {part: {cause: n * unit for cause, n in causes.items()}
                for part, causes in self.counts.items()}


def per_fence(many, few, fences):
    """Microseconds a pod, of two tables that differ by so many fences."""
    return {part: {cause: (n - few.get(part, {}).get(cause, 0)) * 1000 / fences
                   for cause, n in causes.items()}
            for part, causes in many.items()}


def number(value, unit):
    if unit == "ms":
        return f"{value:.2f}" if value >= 0.005 else ""
    return f"{value:.0f}" if value >= 0.5 else ""


def show(table, unit):
    print(f"| CPU {unit} a pod | all | " + " | ".join(COLUMNS) + " |")
    print("|---" + "|---:" * (len(COLUMNS) + 1) + "|")
    whole = collections.Counter()
    for causes in table.values():
        whole.update(causes)
    order = sorted(table, key=lambda part: -sum(table[part].values()))
    for part, causes in [*((p, table[p]) for p in order), ("all", whole)]:
        cells = [number(causes.get(c, 0), unit) for c in COLUMNS]
        print(f"| {part} | {number(sum(causes.values()), unit)} | "
              + " | ".join(cells) + " |")


def program_of(what, nodes, fences, programs):
    if what == "fence":
        return [programs[-1], str(nodes), str(fences)]
    return [programs[0] if what == "hello" else "true"]


def record(options, fences, directory):
    """Launches under perf; its data and the names of the ranks' programs."""
    programs = [launch.compiled(c, directory)
                for c in ("mpicc.openmpi", "mpicc.mpich")]
    programs.append(launch.fence_program(directory) or "true")
    data = os.path.join(directory, f"perf-{fences}.data")
    command = ["muster", "launch", "--slots-per-node", "1", "-n",
               str(options.nodes), "--bootstrap", "pmix", "--",
               *program_of(options.what, options.nodes, fences, programs)]
    with contextlib.ExitStack() as stack:
        pods = stack.enter_context(launch.Cluster(name="bench-profile"))
        job = launch.start_job(pods, options.nodes, 1, "muster", directory,
                               None)
        launch.one_launch(job, command, 0)
        perf = subprocess.Popen(
            ["perf", "record", "-a", "-g", "-F", str(HERTZ), "-o", data],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.5)
        for _ in range(options.rounds):
            result = launch.one_launch(job, command, 0)
            if result is None:
                sys.exit("a launch did not end well")
            print(f"{result['exit']:.3f} s, {result['cpu']:.3f} CPU s",
                  flush=True)
        perf.send_signal(signal.SIGINT)
        perf.wait()
    return data, {os.path.basename(p)[:15] for p in programs} | {"true"}


def profiled(options, fences=0):
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        data, programs = record(options, fences, directory)
        profile = Profile(programs)
        script = subprocess.run(
            ["perf", "script", "-i", data, "--show-task-events", "-F",
             "comm,pid,tid,ip,sym,dso"], stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, errors="replace", check=True)
        profile.read(script.stdout.splitlines())
    return profile.table(options.rounds, options.nodes)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nodes", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--what", default="true",
                        choices=["true", "hello", "fence"])
    parser.add_argument("--fences", type=int, default=200)
    options = parser.parse_args()
    if options.what != "fence":
        return show(profiled(options), "ms")
    many, few = (profiled(options, n) for n in (options.fences + 2, 2))
    show(per_fence(many, few, options.fences), "µs")


if __name__ == "__main__":
    main()
