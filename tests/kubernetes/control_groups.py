# SPDX-License-Identifier: Apache-2.0
"""The control group that one cluster lies in, under every hierarchy that is
mounted: in it one of each node, in these `plane` for the node's own programs
and the pods' beside it. A node sees its group as the root of all.

On a version 1 machine each task outside, or each session, weighs as much as a
whole group, so a busy machine starves a cluster; the group therefore weighs
what four of them do, or one if its caller is nice. In it the node's own
programs weigh more than the pods, or a busy pod makes the node look dead.
"""
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

from podnet import linux  # noqa: E402

ROOT = "/sys/fs/cgroup"
PREFIX = "muster-kubernetes-"


def hierarchies():
    """Folders that hold a hierarchy: ROOT itself where all is version 2."""
    if os.path.exists(os.path.join(ROOT, "cgroup.controllers")):
        return [ROOT]
    return [os.path.join(ROOT, name) for name in sorted(os.listdir(ROOT))
            if os.path.exists(os.path.join(ROOT, name, "cgroup.procs"))]


def make(name):
    make_group(name)
    weight(name, 1024 if os.nice(0) > 0 else 4096)


def make_node(group):
    """`group` is one in the cluster's."""
    make_group(group)
    make_group(os.path.join(group, "plane"))
    weight(os.path.join(group, "plane"), 8192)


def make_group(name):
    for top in hierarchies():
        path = os.path.join(top, name)
        os.makedirs(path, exist_ok=True)
        hand_on(os.path.dirname(path))
        for file in ("cpuset.cpus", "cpuset.mems"):
            # A new group has no processors until it is given some.
            inherit(path, file)


def hand_on(path):
    """Where all is version 2, a group has the controllers that the one above
    hands on to it, and the root of a node hands them on to its pods."""
    if hierarchies() == [ROOT]:
        with open(os.path.join(path, "cgroup.controllers")) as f:
            write(os.path.join(path, "cgroup.subtree_control"),
                  " ".join("+" + name for name in f.read().split()))


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


def enter(group):
    """Makes a node's group the root of all groups that this process and its
    children see, and moves them into its plane. The mount namespace is to be
    their own."""
    tops = hierarchies()
    mounts = mounted()
    for top in tops:
        move(os.path.join(top, group))
    linux.unshare(linux.CLONE_NEWCGROUP)
    for top in tops:
        place = os.path.realpath(top)
        kind, options = mounts[place]
        linux.umount(place, linux.MNT_DETACH)
        linux.mount(kind, place, kind, 0, options)
        move(os.path.join(place, "plane"))


def move(path):
    with open(os.path.join(path, "cgroup.procs"), "w") as f:
        f.write("0")  # 0: the process that writes


def mounted():
    """Kind and options of each hierarchy, by the place of its mount."""
    found = {}
    with open("/proc/self/mountinfo") as f:
        for line in f:
            fields = line.split()
            kind, _, options = fields[fields.index("-") + 1:]
            if kind in ("cgroup", "cgroup2"):
                found[fields[4]] = kind, of_super(options)
    return found


def of_super(options):
    """What to mount a hierarchy with again, from what mountinfo says of it."""
    words = [w for w in options.split(",") if w not in ("rw", "ro")]
    if any(w.startswith("name=") for w in words):
        words.insert(0, "none")
    known = [w for w in words if w not in (
        "nsdelegate", "favordynmods", "memory_recursiveprot")]
    return ",".join(known) or None


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
