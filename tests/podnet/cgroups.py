# SPDX-License-Identifier: Apache-2.0
"""One cgroup per pod: memory limit, CPU quota, cpuset, freezer, list of processes.

Does: cgroup v1 (one directory per controller, as on a hybrid machine) and pure v2 (one directory).
Refuses: nothing silently: limits() returns a list of sentences about what this machine could not set.
Owns: podnet/<cluster>/<pod> under every controller; remove() leaves none of it, the parents included when empty.
"""
import os
import time

ROOT = "/sys/fs/cgroup"
_V1 = ("memory", "freezer", "cpu", "cpuacct", "pids", "cpuset")


def is_v2():
    return os.path.exists(f"{ROOT}/cgroup.controllers")


def controllers():
    if is_v2():
        return [""]
    return [c for c in _V1 if os.path.exists(f"{ROOT}/{c}/cgroup.procs")]


def _write(path, value):
    with open(path, "w") as f:
        f.write(str(value))


def _read(path, default=""):
    try:
        with open(path) as f:
            return f.read()
    except OSError:
        return default


class PodCgroup:
    def __init__(self, cluster, pod):
        self.rel = f"podnet/{cluster}/{pod}"
        self.dirs = {c: os.path.join(ROOT, c, self.rel) for c in controllers()}

    def _file(self, controller, name):
        return os.path.join(self.dirs.get("" if is_v2() else controller, "/nonexistent"), name)

    def create(self):
        for controller, path in self.dirs.items():
            os.makedirs(path, exist_ok=True)
            if controller == "":
                for parent in (f"{ROOT}", f"{ROOT}/podnet", os.path.dirname(path)):
                    for c in ("memory", "cpu", "pids", "cpuset"):
                        try:
                            _write(f"{parent}/cgroup.subtree_control", f"+{c}")
                        except OSError:
                            pass
            if controller == "cpuset":      # v1: a new cpuset has no CPU until it is told
                at = f"{ROOT}/cpuset"
                for part in self.rel.split("/"):
                    parent, at = at, f"{at}/{part}"
                    for name in ("cpuset.mems", "cpuset.cpus"):
                        if not _read(f"{at}/{name}").strip():
                            _write(f"{at}/{name}", _read(f"{parent}/{name}").strip())

    def limits(self, memory=None, cpu=None, cpus=None, pids=None, cpu_request=None):
        """memory in bytes, cpu in cores, cpus a cpuset list, pids a count;
        cpu_request in cores is a share, as a kubelet makes one of it. Returns what could not be done."""
        v2, todo, refused = is_v2(), [], []
        if memory:
            todo += [("memory", "memory.max" if v2 else "memory.limit_in_bytes", int(memory))]
            swap = "memory.swap.max" if v2 else "memory.memsw.limit_in_bytes"
            if os.path.exists(self._file("memory", swap)):
                todo += [("memory", swap, 0 if v2 else int(memory))]
        if cpu:
            quota = max(1000, int(cpu * 100000))
            todo += [("cpu", "cpu.max", f"{quota} 100000")] if v2 else [("cpu", "cpu.cfs_quota_us", quota)]
        if cpu_request:
            shares = max(2, min(262144, int(cpu_request * 1024)))
            weight = 1 + (shares - 2) * 9999 // 262142
            todo += [("cpu", "cpu.weight", weight)] if v2 else [("cpu", "cpu.shares", shares)]
        if cpus:
            todo += [("cpuset", "cpuset.cpus", cpus)]
        if pids:
            todo += [("pids", "pids.max", int(pids))]
        for controller, name, value in todo:
            try:
                _write(self._file(controller, name), value)
            except OSError as e:
                refused.append(f"this machine cannot set {name}={value}: {e.strerror}")
        return refused

    def procs_files(self):
        return [f"{d}/cgroup.procs" for d in self.dirs.values()]

    def join(self):
        """Move the calling process in ("0" = self, valid in any pid namespace)."""
        for path in self.procs_files():
            _write(path, 0)

    def pids(self):
        return [int(p) for p in _read(self._file("freezer", "cgroup.procs")).split()]

    def freeze(self, timeout=5.0):
        if is_v2():
            _write(self._file("", "cgroup.freeze"), 1)
            done = lambda: "frozen 1" in _read(self._file("", "cgroup.events"))
        else:
            _write(self._file("freezer", "freezer.state"), "FROZEN")
            done = lambda: _read(self._file("freezer", "freezer.state")).strip() == "FROZEN"
        end = time.monotonic() + timeout
        while not done():
            if time.monotonic() > end:
                raise TimeoutError("the freezer did not stop every process in time")
            time.sleep(0.005)

    def thaw(self):
        if is_v2():
            _write(self._file("", "cgroup.freeze"), 0)
        elif os.path.exists(self._file("freezer", "freezer.state")):
            _write(self._file("freezer", "freezer.state"), "THAWED")

    def oom_kills(self):
        text = _read(self._file("memory", "memory.events" if is_v2() else "memory.oom_control"))
        return sum(int(l.split()[1]) for l in text.splitlines() if l.split()[:1] == ["oom_kill"])

    def memory(self):
        v2 = is_v2()
        used = _read(self._file("memory", "memory.current" if v2 else "memory.usage_in_bytes"), "0")
        return int(used.strip() or 0)

    def cpu_seconds(self):
        if is_v2():
            for line in _read(self._file("", "cpu.stat")).splitlines():
                if line.startswith("usage_usec"):
                    return int(line.split()[1]) / 1e6
            return 0.0
        return int(_read(self._file("cpuacct", "cpuacct.usage"), "0") or 0) / 1e9

    def remove(self):
        for path in self.dirs.values():
            remove_tree(path)


def remove_tree(path):
    """rmdir a cgroup, its children first; a cgroup of a process that is just dying is busy for a moment."""
    if not os.path.isdir(path):
        return
    for name in os.listdir(path):
        if os.path.isdir(f"{path}/{name}"):
            remove_tree(f"{path}/{name}")
    for _ in range(200):
        try:
            os.rmdir(path)
            return
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.01)


def remove_cluster(cluster):
    for c in controllers():
        remove_tree(os.path.join(ROOT, c, "podnet", cluster))
        try:
            os.rmdir(os.path.join(ROOT, c, "podnet"))
        except OSError:
            pass      # other clusters are still in it


def cluster_pids(cluster):
    """Every process of a cluster, the freezer's word."""
    found = set()
    base = os.path.join(ROOT, "" if is_v2() else "freezer", "podnet", cluster)
    for directory, _, files in os.walk(base):
        if "cgroup.procs" in files:
            found |= {int(p) for p in _read(f"{directory}/cgroup.procs").split()}
    return found
