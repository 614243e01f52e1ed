#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Memory that starting and watching a job takes, ranks aside: PSS summed over
the launcher pod and over the worker pods while all ranks sleep.

    bench/memory.py [--pods 4,16] --json FILE

muster native, muster with the image's mpirun, and OpenSSH with the same mpirun,
one rank per pod. Programs that pods share (a library mapped twice) count by
their share. Needs root (podnet) and build/prefix, or MUSTER_PREFIX.
"""
import argparse
import json
import os
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(ROOT, "tests"))
sys.dont_write_bytecode = True

from podnet import Cluster  # noqa: E402

PREFIX = os.environ.get("MUSTER_PREFIX", os.path.join(ROOT, "build", "prefix"))
MANIFEST = os.path.join(ROOT, "examples", "pi-openmpi.yaml")
NAP = "54321"  # seconds; found again by this number
WAYS = {
    "muster native": ["muster", "launch", "--bootstrap", "pmix"],
    "muster mpirun": ["muster", "launch", "--bootstrap", "mpirun"],
    "OpenSSH mpirun": ["mpirun.openmpi"],
}


def pss_kib(pid):
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            return sum(int(line.split()[1]) for line in file
                       if line.startswith("Pss:"))
    except OSError:
        return 0


def overhead_kib(pod):
    """All processes of the pod but the ranks and the idle container command."""
    return sum(pss_kib(pid) for pid, line in pod.processes().items()
               if line not in (f"sleep {NAP}", "sleep infinity"))


def sleepers(job):
    return sum(line == f"sleep {NAP}" for pod in job.workers
               for line in pod.processes().values())


def measure(pods, name, command):
    muster = name.startswith("muster")
    with Cluster(name=f"mem-{pods}") as cluster:
        job = cluster.apply(
            MANIFEST, workers=pods, launcher_command=["sleep", "infinity"],
            **({"prefix": PREFIX} if muster else {}))
        job.wait_ready(120)
        time.sleep(5)  # a worker without a probe is Ready before it listens
        idle = [overhead_kib(pod) for pod in job.workers]
        tail = ["--", "sleep", NAP] if muster else ["sleep", NAP]
        run = job.launcher.popen([*command, "-n", str(pods), *tail])
        end = time.monotonic() + 60
        while sleepers(job) < pods:
            if run.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"{name}: the ranks do not start")
            time.sleep(0.2)
        time.sleep(3)
        result = {"launcher_kib": overhead_kib(job.launcher),
                  "worker_kib": sum(map(overhead_kib, job.workers)) // pods,
                  "idle_worker_kib": sum(idle) // pods}
        run.kill()
        run.wait()
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pods", default="4,16")
    parser.add_argument("--json", required=True)
    options = parser.parse_args()
    runs = []
    for pods in map(int, options.pods.split(",")):
        ways = {}
        for name, command in WAYS.items():
            ways[name] = measure(pods, name, command)
            print(f"{pods:3} pods  {name:15} {ways[name]}", flush=True)
        runs.append({"pods": pods, "ways": ways})
    with open(options.json, "w", encoding="utf-8") as file:
        json.dump({"benchmark": "memory", "runs": runs}, file, indent=1)


if __name__ == "__main__":
    main()
