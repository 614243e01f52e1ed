#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Logs as the runtime and the kubelet keep them: lines in parts of 16 KiB, and
files that are rotated (10 MiB by default, looked at every 10 s). `kubectl logs
-f` shows all; `kubectl logs` only what is in the newest file."""
import re
import subprocess
import sys

import kube
from kube import MUSTER, Follower, MpiJob, check, mpijob, namespace, part

SIZES = (16383, 16384, 16385, 32768, 40000)
# Both streams at once; the launcher's own prefix moves the borders.
LONG = f"""
import os, sys
rank = os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ["RANK"]
for i, size in enumerate({SIZES!r}):
    head = f"<{{rank}}.{{i}}:"
    for stream in (sys.stdout, sys.stderr):
        name = "e" if stream is sys.stderr else "o"
        print(head + name * (size - len(head) - 1) + ">", file=stream,
              flush=True)
"""
BURST, COUNT = 15000, 4
# More than a file in each burst, and time for the kubelet to look in between.
MUCH = f"""
import os, time
rank = os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ["RANK"]
for burst in range({COUNT}):
    for i in range(burst * {BURST}, (burst + 1) * {BURST}):
        print(f"<{{rank}}.{{i:06d}} " + "x" * 400 + ">")
    print(f"<{{rank}}.long{{burst}} " + "y" * 50000 + ">", flush=True)
    time.sleep(12)
print(f"<{{rank}}.end>", flush=True)
"""
WAYS = {"native": ["muster", "launch", "-n", "2", "--bootstrap", "pmix", "--"],
        "mpirun": ["mpirun", "-n", "2"]}


def program(way, text):
    return [*WAYS[way], "python3", "-c", text]


def as_text(log):
    """Through `muster logs`, which takes either form."""
    check(MUSTER != "", "no muster here")
    done = subprocess.run([MUSTER, "logs"], input=log, capture_output=True,
                          text=True, timeout=kube.PATIENCE, check=False)
    check(done.returncode == 0, "muster logs", done.stderr)
    return done.stdout


def test_lines_in_parts():
    """What is longer than 16 KiB, and the sizes around it, is whole again,
    beside lines of another rank and of the other stream."""
    with namespace("parts") as ns:
        jobs = {way: MpiJob(ns, way, mpijob(way, program(way, LONG)))
                for way in WAYS}
        for way, job in jobs.items():
            end = job.finish()
            log = job.log(job.launcher())
            check(end == "Succeeded", f"the job {end}", log)
            # A cluster's own collector would read the same as kubectl does.
            for form, text in (("log", log), ("muster logs", as_text(log))):
                if way == "native" and form == "log":
                    continue  # records
                for rank in range(2):
                    for i, size in enumerate(SIZES):
                        head = f"<{rank}.{i}:"
                        for name in "oe":
                            line = head + name * (size - len(head) - 1) + ">"
                            check(len(re.findall(
                                rf"\] {line}$", text, re.M)) == 1,
                                f"{way}, {form}: not once whole: {head}{name}",
                                text[:3000])


def numbers(text, rank):
    return [int(n) for n in re.findall(rf"\] <{rank}\.(\d+) x{{400}}>$", text,
                                       re.M)]


def rotated(ns, way):
    name = f"much-{way}"
    manifest = mpijob(name, program(way, MUCH))
    part(manifest, "Launcher")["containers"][0]["env"] = [
        {"name": "MUSTER_LOG_FORMAT",
         "value": "json" if way == "native" else "text"}]
    job = MpiJob(ns, name, manifest)
    pod = job.launcher()["metadata"]["name"]
    with Follower(ns, pod) as follower:
        end = job.finish(2 * kube.PATIENCE)
        follower.process.wait(kube.PATIENCE)
        followed = follower.text()
    check(end == "Succeeded", f"the job {end}", followed[-3000:])
    text = as_text(followed)
    for rank in range(2):
        seen = numbers(text, rank)
        check(seen == list(range(BURST * COUNT)),
              f"{way}: of rank {rank} {len(seen)} lines of {BURST * COUNT}, "
              f"first wrong {first_wrong(seen)}")
        for burst in range(COUNT):
            line = f"<{rank}.long{burst} " + "y" * 50000 + ">"
            check(text.count(line) == 1, f"{way}: long line {burst} of {rank}")
    newest = ns.told("logs", pod)
    check(len(newest) < len(followed), "the kubelet did not rotate the log")
    kept = as_text(newest)
    for rank in range(2):
        seen = numbers(kept, rank)
        check(seen == list(range(BURST * COUNT - len(seen), BURST * COUNT)),
              f"{way}: a gap in the newest file, rank {rank}, "
              f"{first_wrong(seen)}")
        check(f"<{rank}.end>" in kept, f"{way}: no end of rank {rank}")
    check("ended well" in kept, f"{way}: no end of the launcher", kept[-2000:])


def first_wrong(seen):
    start = seen[0] if seen else 0
    return next((f"{start + i}: {n}" for i, n in enumerate(seen)
                 if n != start + i), f"none, from {start} to "
                f"{start + len(seen) - 1}")


def test_rotated_while_it_runs():
    """Followed, nothing is lost and nothing joined; read afterwards, there is
    the end, whole, with the launcher's last words."""
    with namespace("rotated") as ns:
        for way in WAYS:
            rotated(ns, way)


if __name__ == "__main__":
    kube.main(sys.modules[__name__])
