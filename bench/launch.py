#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How long `true` on every worker takes from the command to its end: muster
native, muster with the image's mpirun, and OpenSSH with the same mpirun.

    bench/launch.py [--pods 4,16] [--count 5] [--save]

All pods are ready before anything is measured, so that only the launch counts.
The three are measured in turn within one run, because a machine's load changes
between runs: trust the ratios, not the seconds. --save writes
bench/results/launch-DATE.json. Needs root (podnet) and build/prefix
(scripts/demo installs it there), or MUSTER_PREFIX.
"""
import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(ROOT, "tests"))
sys.dont_write_bytecode = True

from podnet import Cluster  # noqa: E402

PREFIX = os.environ.get("MUSTER_PREFIX", os.path.join(ROOT, "build", "prefix"))
MANIFEST = os.path.join(ROOT, "examples", "pi-openmpi.yaml")
LIMIT = 120  # seconds for one launch


def ways(pods):
    """name -> (needs muster in the pods, command in the launcher pod)."""
    return {
        "muster native": (True, ["muster", "launch", "--bootstrap", "pmix",
                                 "-n", str(pods), "--", "true"]),
        "muster mpirun": (True, ["muster", "launch", "--bootstrap", "mpirun",
                                 "-n", str(pods), "--", "true"]),
        "OpenSSH mpirun": (False, ["mpirun.openmpi", "-np", str(pods),
                                   "true"]),
    }


def start_job(cluster, pods, muster):
    """All workers ready, the launcher idle."""
    options = {"prefix": PREFIX} if muster else {}
    job = cluster.apply(MANIFEST, workers=pods,
                        launcher_command=["sleep", "infinity"], **options)
    job.wait_ready(120)
    return job


def one_launch(job, command):
    """Seconds until `command` has ended well in the launcher pod."""
    began = time.monotonic()
    done = job.launcher.exec(command, timeout=LIMIT)
    seconds = time.monotonic() - began
    if done.returncode != 0:
        raise SystemExit(f"{command} ended with {done.returncode}:\n"
                         f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return seconds


def measure(pods, count):
    """{way: [seconds]}; one launch of each in turn, the first round warms."""
    taken = {name: [] for name in ways(pods)}
    with Cluster(name=f"bench-m{pods}") as ours, \
            Cluster(name=f"bench-o{pods}") as theirs:
        jobs = {True: start_job(ours, pods, True),
                False: start_job(theirs, pods, False)}
        for round_number in range(count + 1):
            for name, (muster, command) in ways(pods).items():
                seconds = one_launch(jobs[muster], command)
                if round_number > 0:
                    taken[name].append(seconds)
    return taken


def machine():
    load = os.getloadavg()[0]
    cores = os.cpu_count()
    return {"cores": cores, "kernel": platform.release(),
            "load_at_start": round(load, 2),
            "state": "idle" if load < 0.3 * cores else "loaded"}


def show(pods, taken):
    base = statistics.median(taken["OpenSSH mpirun"])
    for name, seconds in taken.items():
        middle = statistics.median(seconds)
        print(f"{pods:3} pods  {name:15} median {middle:6.2f} s  "
              f"min {min(seconds):6.2f} s  "
              f"{middle / base:5.2f} of OpenSSH mpirun", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pods", default="4,16")
    parser.add_argument("--count", type=int, default=5)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    result = {"benchmark": "launch", "machine": machine(), "runs": []}
    print("machine:", json.dumps(result["machine"]), flush=True)
    for pods in map(int, options.pods.split(",")):
        taken = measure(pods, options.count)
        show(pods, taken)
        result["runs"].append({"pods": pods, "seconds": {
            name: [round(s, 3) for s in all_] for name, all_ in taken.items()}})
    result["load_at_end"] = round(os.getloadavg()[0], 2)
    if options.save:
        version = subprocess.run([f"{PREFIX}/bin/muster", "version"], text=True,
                                 capture_output=True, check=False)
        result["muster"] = version.stdout.strip()
        os.makedirs(os.path.join(HERE, "results"), exist_ok=True)
        path = os.path.join(HERE, "results",
                            time.strftime("launch-%Y%m%d-%H%M.json"))
        with open(path, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
            file.write("\n")
        print("saved", path)


if __name__ == "__main__":
    main()
