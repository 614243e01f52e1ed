#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a launcher's way of output costs: how late a line is, and how much a
computing rank is slowed down.

    bench/log_costs.py [--lines 1000] [--steps 400] [--rounds 5] [--save]

Latency: one rank in each of 2 pods prints a line with its time every 5 ms; the
reader of the launcher's stdout stamps it when it has it. Slow-down: as many
ranks as cores compute and print a line after each piece of work (some 9 ms);
their wall time is compared with the same program without a launcher, which
takes turns with it. Slow-down apart: one rank and its worker have a core of
their own, the launcher the other, as on two nodes of which one computes with
all it has. All need an otherwise idle machine. Needs what bench/logs.py needs.
"""
import argparse
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time

import logs

AT = re.compile(rb"at (\d{19})")
TOOK = re.compile(r"took (\d+) (\d+)")


def latencies(job, words, source, lines):
    """Microseconds of each line, from print to our read."""
    process = job.launcher.popen(
        [*words, source, "pace", str(lines), "5000"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL)
    late = []
    with process:
        while True:
            text = os.read(process.stdout.fileno(), 65536)
            now = time.time_ns()
            if not text:
                break
            late += [(now - int(at)) / 1000 for at in AT.findall(text)]
    return sorted(late)


def percentile(values, part):
    return values[min(int(len(values) * part), len(values) - 1)]


def slowest(text, ranks):
    took = [int(wall) / 1e9 for wall, _ in TOOK.findall(text)]
    if len(took) != ranks:
        raise RuntimeError(f"{len(took)} of {ranks} ranks: {text[-500:]}")
    return max(took)


def slow_down(job, words, source, steps, ranks, rounds):
    """Wall seconds of the slowest rank, without and with the launcher."""
    alone, launched = [], []
    one = f"{source} compute {steps}"
    bare = ["sh", "-c", f"( {one} > /dev/shm/a & {one} > /dev/shm/b; wait );"
            "cat /dev/shm/a /dev/shm/b"]
    for _ in range(rounds):
        alone.append(slowest(job.launcher.exec(bare, timeout=300).stdout,
                             ranks))
        done = job.launcher.exec([*words, source, "compute", str(steps)],
                                 timeout=300)
        launched.append(slowest(done.stdout, ranks))
    return alone, launched


def slow_down_apart(job, words, source, steps, rounds):
    """The same for one rank on core 1, with the launcher on core 0."""
    worker = job.workers[0]
    for pid in worker.pids():
        os.sched_setaffinity(pid, {1})
    alone, launched = [], []
    for _ in range(rounds):
        done = worker.exec(["taskset", "-c", "1", source, "compute",
                            str(steps)], timeout=300)
        alone.append(slowest(done.stdout, 1))
        done = job.launcher.exec(["taskset", "-c", "0", *words, source,
                                  "compute", str(steps)], timeout=300)
        launched.append(slowest(done.stdout, 1))
    return alone, launched


def percent_more(alone, launched):
    return round((statistics.median(launched) / statistics.median(alone) - 1)
                 * 100, 2)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    ranks = 2
    result = {"machine": platform.platform(), "cpus": os.cpu_count(),
              "latency_us": {}, "slow_down": {}, "slow_down_apart": {}}
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        os.chmod(folder, 0o777)
        source = logs.compiled(folder)
        wanted = ["muster text", "mpirun", "Hydra"]
        with logs.jobs(ranks, wanted, folder) as running:
            for name, (job, words) in running.items():
                if "no mask" in name:
                    continue
                late = latencies(job, words, source, options.lines)
                result["latency_us"][name] = {
                    "lines": len(late), "p50": percentile(late, 0.5),
                    "p99": percentile(late, 0.99), "max": late[-1]}
                print(name, "latency us:", result["latency_us"][name],
                      flush=True)
                alone, launched = slow_down(job, words, source, options.steps,
                                            ranks, options.rounds)
                more = percent_more(alone, launched)
                result["slow_down"][name] = {
                    "alone_s": alone, "launched_s": launched, "percent": more}
                print(f"{name} slow-down: {more} %", flush=True)
        with logs.jobs(1, wanted, folder) as running:
            for name, (job, words) in running.items():
                if "no mask" in name:
                    continue
                alone, launched = slow_down_apart(
                    job, words, source, options.steps, options.rounds)
                more = percent_more(alone, launched)
                result["slow_down_apart"][name] = {
                    "alone_s": alone, "launched_s": launched, "percent": more}
                print(f"{name} slow-down apart: {more} %", flush=True)
    if options.save:
        place = os.path.join(logs.HERE, "results",
                             time.strftime("log-costs-%Y%m%d-%H%M.json"))
        with open(place, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
            file.write("\n")
        print("saved", place)
    return 0


if __name__ == "__main__":
    sys.exit(main())
