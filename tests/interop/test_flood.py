#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Floods from peers that never log in, while the job's launcher logs in again
and again: every login works, and the worker stays small.

    test_flood.py [--muster PATH] [--long] [--only KIND] [--source ADDRESS]

Ordinary: 500 connections for 4 s and 20 logins, of each kind. --long: 2,000
connections that are opened again as they are lost, for 2 minutes, 100 logins of
which the 99th percentile has 1 s; run it on a machine that does nothing else.
KIND also: churn, of two processes that reopen without a pause; few, of kex with
the 1,024 descriptors that a node may give a pod.
Every login has to work at its first try, from whatever address the flood comes:
`muster ssh` proves at the door that it has the job's key.
"""
import ctypes
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import threading
import time

import bed

HERE = pathlib.Path(__file__).parent
KINDS = (("silent", "127.0.0.1"), ("version", "127.0.0.9"),
         ("kex", "127.0.0.9"), ("version", "127.0.0.1"), ("kex", "127.0.0.1"))
# The server has 64 places for strangers, and at most 8 that were killed and have
# not quite gone. One more is the login under way.
MOST_CHILDREN = 64 + 8 + 1
KCMP_VM = 1  # from <linux/kcmp.h>


class Watch(threading.Thread):
    """Looks at a worker all the time and keeps the highest of what it saw."""

    def __init__(self, worker):
        super().__init__(daemon=True)
        self.worker = worker
        self.over = threading.Event()
        self.children = self.memory = self.each = self.descriptors = 0

    def run(self):
        looks = 0
        while not self.over.wait(0.02):
            children = self.worker.children()
            alive = [pid for pid in children if not ended(pid)]
            self.children = max(self.children, len(alive))
            looks += 1
            if looks % 25 == 1:
                self.look_inside(alive)

    def look_inside(self, alive):
        self.memory = max(self.memory, self.worker.memory_kib())
        self.descriptors = max(self.descriptors, self.worker.descriptors())
        # What a child has to itself. One that is about to exec borrows the
        # worker's memory until then.
        own = [pid for pid in alive if not shares_memory(pid, self.worker.process.pid)]
        for pid in own[:4]:
            self.each = max(self.each, self.worker.private_kib(pid))

    def end(self):
        self.over.set()
        self.join()


def ended(pid):
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True
    return stat.rsplit(")", 1)[1].split()[0] in "ZX"


def shares_memory(pid, other):
    """Whether both run in one address space, as after vfork; True as well for
    who has gone, and where the kernel does not tell."""
    kcmp = {"x86_64": 312, "aarch64": 272}.get(os.uname().machine)
    if kcmp is None:
        return True
    return ctypes.CDLL(None).syscall(kcmp, pid, other, KCMP_VM, 0, 0) <= 0


class Flood:
    def __init__(self, port, count, kind, source):
        self.process = subprocess.Popen(
            [sys.executable, "-B", str(HERE / "flood.py"), str(port),
             str(count), kind, source], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, preexec_fn=bed.die_with_parent)

    def end(self):
        return int(self.process.communicate("", timeout=60)[0])


def log_in_times(args, worker, count, seconds):
    times, failed = [], []
    begin = time.monotonic()
    for i in range(count):
        start = time.monotonic()
        done = bed.our_ssh(args.muster, worker, "muster-agent version",
                           timeout=60)
        times.append(time.monotonic() - start)
        if done.returncode != 0:
            failed.append(done.stderr.decode()[-200:])
        time.sleep(max(0, begin + seconds * (i + 1) / count - time.monotonic()))
    return sorted(times), failed


def flood(tally, args, keys, kind, source):
    count, seconds, logins = (2000, 120, 100) if args.long else (500, 4, 20)
    same = source == "127.0.0.1"
    name = (f"{count} {kind} connections from "
            + ("the launcher's address" if same else "another address"))
    begin = time.monotonic()
    with bed.Worker(args.muster, keys) as worker:
        peers = Flood(worker.port, count, kind, source)
        watch = Watch(worker)
        watch.start()
        time.sleep(1.5)
        times, failed = log_in_times(args, worker, logins, seconds)
        watch.end()
        opened = peers.end()
        audit = worker.audit()
        lived = time.monotonic() - begin
    p99 = times[min(len(times) - 1, int(len(times) * 0.99))]
    figures = (f"median {statistics.median(times) * 1000:.0f} ms, "
               f"p99 {p99 * 1000:.0f} ms")
    tally.check(not failed, f"{name} ({opened} opened): {logins - len(failed)} of {logins} "
                f"logins, {figures}", failed[:2])
    if args.long:
        tally.check(p99 <= 1, f"{name}: p99 within 1 s", figures)
    tally.check(watch.children <= MOST_CHILDREN,
                f"{name}: {watch.children} children at most")
    tally.check(watch.memory < 32 * 1024 and watch.each < 2 * 1024
                and watch.descriptors < 2 * count + 200,
                f"{name}: {watch.memory} KiB, {watch.each} KiB a child, "
                f"{watch.descriptors} descriptors")
    # A burst of 20, one a second, and what each login leaves.
    most = 60 + 3 * lived + 5 * logins
    tally.check(len(audit) < most, f"{name}: {len(audit)} audit records")
    if kind == "kex":  # the others cost no process, or hardly any
        gone = [r for r in audit if r["audit"] == "gave-way"]
        left_out = sum(r.get("left_out", 0) for r in audit)
        tally.check(gone or left_out, f"{name}: some had to give way")


def churn(tally, args, keys):
    """Strangers who come and go as fast as two processes can: those who are
    here get their turn all the same."""
    with bed.Worker(args.muster, keys) as worker:
        peers = [Flood(worker.port, 1000, "churn", f"127.0.0.{9 + i}") for i in range(2)]
        time.sleep(1)
        times, failed = log_in_times(args, worker, 5, 5)
        opened = sum(peer.end() for peer in peers)
        tally.check(not failed, f"{opened} connections that come and go: {5 - len(failed)} of 5 logins, "
                    f"the slowest {times[-1]:.1f} s", failed[:2])


def few_descriptors(tally, args, keys):
    """More strangers than the worker has descriptors: some are left for who has
    the key, and for its program."""
    limited = ["prlimit", "--nofile=1024:1024", args.muster]
    with bed.Worker(limited, keys) as worker:
        peers = Flood(worker.port, 2000, "kex", "127.0.0.1")
        time.sleep(1.5)
        _, failed = log_in_times(args, worker, 20, 4)
        peers.end()
        tally.check(not failed and "Too many open files" not in worker.log(),
                    f"2000 kex connections, 1024 descriptors: {20 - len(failed)} of 20 logins", failed[:2])


def main():
    args = bed.arguments(__doc__, only={}, source={})
    tally = bed.Tally()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with bed.Scratch() as scratch:
        keys = bed.make_keys(args.muster, scratch / "keys", "ecdsa-p521")
        for kind, source in KINDS:
            if args.only in (None, kind) and args.source in (None, source):
                flood(tally, args, keys, kind, source)
        for name, part in (("churn", churn), ("few", few_descriptors)):
            if args.only in (None, name) and args.source is None:
                part(tally, args, keys)
    tally.finish()


main()
