# SPDX-License-Identifier: Apache-2.0
"""The control group that one cluster lies in, under every hierarchy that is
mounted: `plane` for the node's own programs, the pods' beside it.

On a version 1 machine each task outside, or each session, weighs as much as a
whole group, so a busy machine starves a cluster; the group therefore weighs
what four of them do, or one if its caller is nice. In it the node's own
programs weigh more than the pods, or a busy pod makes the node look dead.
"""
import os
import time

ROOT = "/sys/fs/cgroup"
PREFIX = "muster-kubernetes-"


def hierarchies():
    """Folders that hold a hierarchy: ROOT itself where all is version 2."""
    if os.path.exists(os.path.join(ROOT, "cgroup.controllers")):
        return [ROOT]
    return [os.path.join(ROOT, name) for name in sorted(os.listdir(ROOT))
            if os.path.exists(os.path.join(ROOT, name, "cgroup.procs"))]


def make(name):
    for top in hierarchies():
        for path in (os.path.join(top, name), os.path.join(top, name, "plane")):
            os.makedirs(path, exist_ok=True)
            for file in ("cpuset.cpus", "cpuset.mems"):
                # A new group has no processors until it is given some.
                inherit(path, file)
    weight(name, 1024 if os.nice(0) > 0 else 4096)
    weight(os.path.join(name, "plane"), 8192)


def weight(group, shares):
    path = os.path.join(ROOT, "cpu", group, "cpu.shares")
    if os.path.exists(path):
        write(path, shares)


def inherit(path, file):
    source = os.path.join(os.path.dirname(path), file)
    target = os.path.join(path, file)
    if os.path.exists(source) and os.path.exists(target):
        with open(source) as f:
            write(target, f.read().strip())


def join(name, controllers=("cpu", "cpuacct", "memory")):
    """Moves this process, and all that come of it, into the plane's group."""
    for controller in controllers:
        procs = os.path.join(ROOT, controller, name, "plane", "cgroup.procs")
        if os.path.exists(procs):
            write(procs, os.getpid())


def peak_memory(name):
    """Most bytes that the cluster has had at once, pods included, or None."""
    try:
        with open(os.path.join(ROOT, "memory", name,
                               "memory.max_usage_in_bytes")) as f:
            return int(f.read())
    except OSError:
        return None


def remove(name, limit=10):
    """Its processes are dead, but the kernel may need a moment to say so."""
    end = time.monotonic() + limit
    while left := [path for top in hierarchies()
                   for path in folders(os.path.join(top, name))]:
        for path in left:
            try:
                os.rmdir(path)
            except OSError:
                pass
        if time.monotonic() > end:
            return left
        time.sleep(0.05)
    return []


def folders(top):
    return [root for root, _, _ in os.walk(top, topdown=False)]


def stale():
    """Groups of clusters whose keeper is dead."""
    names = {name for top in hierarchies() for name in os.listdir(top)
             if name.startswith(PREFIX)}
    return [n for n in names if not is_keeper(n.removeprefix(PREFIX))]


def is_keeper(pid):
    """A zombie has no command line, and a number may be another's by now."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return b"keeper.py" in f.read()
    except OSError:
        return False


def write(path, value):
    with open(path, "w") as f:
        f.write(str(value))
