# SPDX-License-Identifier: Apache-2.0
"""Removal of what a cluster leaves when its kubelet was killed, and the proof that nothing is left.

Does: kills the processes in the cluster's cgroups, removes cgroups and state directory; network namespaces and veths
      go with their processes. traces() lists whatever belongs to podnet on this machine.
Refuses: to touch a cluster whose kubelet lives, unless told to end that one (down_all).
"""
import os
import shutil
import signal
import time

from . import cgroups


def _run_dir():
    from .cluster import RUN
    return RUN


def kubelet_pids(cluster_id=None, anywhere=False):
    """{pid: state directory} of kubelet processes, found by their command line."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                argv = f.read().decode(errors="replace").split("\0")
        except OSError:
            continue
        if argv[1:3] == ["-m", "podnet.kubelet"] and (anywhere or argv[3].startswith(_run_dir() + "/")):
            if cluster_id is None or os.path.basename(argv[3]) == cluster_id:
                found[int(pid)] = argv[3]
    return found


def remove(cluster_id):
    """After the kubelet is gone."""
    for _ in range(100):
        pids = cgroups.cluster_pids(cluster_id)
        if not pids:
            break
        for c in ("freezer", ""):
            base = os.path.join(cgroups.ROOT, c, "podnet", cluster_id)
            for d in os.listdir(base) if os.path.isdir(base) else []:
                pod = cgroups.PodCgroup(cluster_id, d)
                try:
                    pod.thaw()
                except OSError:
                    pass
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.02)
    cgroups.remove_cluster(cluster_id)
    shutil.rmtree(f"{_run_dir()}/{cluster_id}", ignore_errors=True)


def down_all():
    """Every cluster of this machine, living or not. Returns their ids."""
    run = _run_dir()
    for pid in kubelet_pids():
        os.kill(pid, signal.SIGTERM)
    end = time.monotonic() + 20
    while (left := kubelet_pids()) and time.monotonic() < end:
        time.sleep(0.02)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    ids = set(os.listdir(run)) if os.path.isdir(run) else set()
    ids = {i for i in ids if os.path.isdir(f"{run}/{i}")}
    for c in cgroups.controllers():
        base = os.path.join(cgroups.ROOT, c, "podnet")
        ids |= {d for d in os.listdir(base) if os.path.isdir(f"{base}/{d}")} if os.path.isdir(base) else set()
    ids -= {os.path.basename(d) for d in kubelet_pids(anywhere=True).values()}    # another PODNET_RUN's living ones
    for i in ids:
        remove(i)
    from .machine import Settings
    Settings(run).restore()
    return sorted(ids)


def traces(cluster_id=None):
    """What is left of one cluster, or of all: sentences; empty when nothing is."""
    out, key = [], cluster_id or "podnet"
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cgroup") as f:
                if f"/podnet/{cluster_id or ''}" in f.read():
                    out.append(f"process {pid} in a podnet cgroup")
        except OSError:
            continue
    out += [f"kubelet {p} of {d}" for p, d in kubelet_pids(cluster_id).items()]
    for c in cgroups.controllers():
        path = os.path.join(cgroups.ROOT, c, "podnet", cluster_id or "")
        if os.path.isdir(path):
            out.append(f"cgroup {path}")
    with open("/proc/self/mountinfo") as f:
        out += [f"mount {line.split()[4]}" for line in f if f"{_run_dir()}/{cluster_id or ''}" in line]
    run = _run_dir()
    if os.path.isdir(run):
        out += [f"directory {run}/{d}" for d in os.listdir(run) if os.path.isdir(f"{run}/{d}") and key in (d, "podnet")]
    return out
