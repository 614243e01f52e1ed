#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How soon a launch that waits for its workers goes on, and what its waiting
costs the DNS server.

    bench/waiting.py [--nodes 2,8,30] [--count 7] [--prefix NAME=DIR …]
                     [--never 1,8,128] [--seconds 300] [--json FILE]

The launcher is there first. Then, by kind:
  names   all workers listen; their names come into DNS together
  apart   the same, but one name after the other, 0.1 s apart
  ports   the names are in DNS; the workers begin to listen
  hand    everything is there before the launcher starts
Milliseconds from the last name being in DNS and the last port being open (from
the start of the launcher for `hand`) to "ready", which is the last agent's
answer to the launcher's greeting, and to the first rank running. Several
installations (--prefix, by default build/prefix) take turns. --never counts the
queries of a launch whose workers never come. Needs root (podnet).
"""
import argparse
import contextlib
import datetime
import json
import os
import random
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(ROOT, "tests"))
sys.dont_write_bytecode = True

from podnet import Cluster  # noqa: E402

MANIFEST = os.path.join(ROOT, "examples", "pi-openmpi.yaml")
REPORT = "/tmp/report.json"
LIMIT = 120
KINDS = ("names", "apart", "ports", "hand")
PORT_ROW = ":08AE"  # 2222, in /proc/net/tcp


def edit(kind):
    """Workers that begin to listen when somebody writes to /tmp/go."""
    def change(specs):
        for spec in specs:
            if spec["role"] == "worker" and kind == "ports":
                spec["argv"] = ["sh", "-c", "mkfifo /tmp/go; read x </tmp/go; "
                                'exec "$@"', "sh", *spec["argv"]]
    return change


def is_listening(pod):
    for table in ("tcp", "tcp6"):
        with open(f"/proc/{pod.pid}/net/{table}", encoding="ascii") as file:
            for row in file:
                words = row.split()
                if words[1].endswith(PORT_ROW) and words[3] == "0A":
                    return True
    return False


def until_all(pods, condition):
    end = time.time() + LIMIT
    waiting = list(pods)
    while waiting:
        if time.time() > end:
            raise SystemExit(f"{waiting[0].name} does not come up")
        waiting = [pod for pod in waiting if not condition(pod)]
        time.sleep(0.001)


def let_come(cluster, job, kind):
    """Brings what the launch waits for; when the last of it was there."""
    if kind == "ports":
        for pod in job.workers:
            with open(f"/proc/{pod.pid}/root/tmp/go", "w",
                      encoding="ascii") as gate:
                gate.write("go\n")
        until_all(job.workers, is_listening)
        return time.time()
    if kind == "apart":
        for pod in job.workers:
            time.sleep(0.1)
            last = time.time()
            cluster.dns.clear(pod.name)
        return last
    last = time.time()
    cluster.dns.clear()
    return last


def start(job, nodes):
    return job.launcher.popen(
        ["muster", "launch", "-n", str(nodes), "--bootstrap", "pmix", "--",
         "true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={"MUSTER_REPORT_JSON": REPORT})


def seconds_of(text):
    """Of a report's time stamp, which has nanoseconds."""
    whole, part = text.rstrip("Z").split(".")
    moment = datetime.datetime.fromisoformat(whole + "+00:00")
    return moment.timestamp() + float("0." + part)


def one_round(cluster, prefix, nodes, kind):
    job = cluster.apply(MANIFEST, prefix=prefix, workers=nodes,
                        launcher_command=["sleep", "infinity"],
                        edit=edit(kind))
    try:
        if kind == "ports":
            until_all(job.workers, lambda pod: os.path.exists(
                f"/proc/{pod.pid}/root/tmp/go"))
        else:
            until_all(job.workers, is_listening)
        if kind in ("names", "apart"):
            for pod in job.workers:
                cluster.dns.nxdomain(pod.name)
        began = time.time()
        run = start(job, nodes)
        if kind != "hand":
            time.sleep(random.uniform(1, 2))
            began = let_come(cluster, job, kind)
        if run.wait(LIMIT) != 0:
            raise SystemExit(f"the launch ended with {run.returncode}")
        report = json.loads(job.launcher.exec(["cat", REPORT]).stdout)
        ready = seconds_of(report["started"])
        for phase in report["phases"]:
            ready += phase["ms"] / 1000
            if phase["name"] == "connect":
                break
        return {"ready": round(1000 * (ready - began)),
                "first_rank": round(1000 * (ready - began)
                                    + report["first_rank_ms"])}
    finally:
        job.remove()


def measure(prefixes, nodes, count):
    taken = {kind: {name: [] for name in prefixes} for kind in KINDS}
    with contextlib.ExitStack() as stack:
        clusters = {name: stack.enter_context(Cluster(name=f"wait-{i}"))
                    for i, name in enumerate(prefixes)}
        for turn in range(count + 1):  # the first one warms
            for kind in KINDS:
                for name, prefix in prefixes.items():
                    result = one_round(clusters[name], prefix, nodes, kind)
                    if turn > 0:
                        taken[kind][name].append(result)
    for kind, by_name in taken.items():
        for name, results in by_name.items():
            middle = {key: statistics.median(r[key] for r in results)
                      for key in results[0]}
            worst = max(r["ready"] for r in results)
            print(f"{nodes:3} workers  {kind:6} {name:10} "
                  f"ready {middle['ready']:6.0f} ms (worst {worst}), "
                  f"first rank {middle['first_rank']:6.0f} ms", flush=True)
    return taken


def count_queries(prefixes, nodes, seconds):
    """{name: queries in the first 10 s, and in all, of names that never come}"""
    counted = {}
    for name, prefix in prefixes.items():
        with Cluster(name=f"never-{nodes}") as cluster:
            job = cluster.apply(
                MANIFEST, prefix=prefix, workers=nodes,
                launcher_command=["sleep", "infinity"],
                start={f"worker-{i}": "never" for i in range(nodes)})
            began = time.monotonic()
            run = start(job, nodes)
            time.sleep(seconds)
            run.terminate()
            run.wait(LIMIT)
            times = [q.time - began for q in cluster.dns.queries(since=began)]
        counted[name] = {"first_10_s": sum(t < 10 for t in times),
                         "all": sum(t < seconds for t in times)}
        print(f"{nodes:3} names that never come  {name:10} {counted[name]} "
              f"in {seconds} s", flush=True)
    return counted


def numbers(text):
    return [int(word) for word in text.split(",") if word]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nodes", type=numbers, default=[2, 8, 30])
    parser.add_argument("--count", type=int, default=7)
    parser.add_argument("--prefix", action="append", default=[])
    parser.add_argument("--never", type=numbers, default=[1, 8, 128])
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--json")
    options = parser.parse_args()
    prefixes = dict(word.split("=", 1) for word in options.prefix) or {
        "muster": os.environ.get("MUSTER_PREFIX",
                                 os.path.join(ROOT, "build", "prefix"))}
    random.seed(1)
    result = {"benchmark": "waiting", "load": os.getloadavg()[0],
              "milliseconds": {n: measure(prefixes, n, options.count)
                               for n in options.nodes},
              "queries": {n: count_queries(prefixes, n, options.seconds)
                          for n in options.never}}
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)


if __name__ == "__main__":
    main()
