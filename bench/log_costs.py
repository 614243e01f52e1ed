#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a launcher's way of output costs: how late a line is, and how much a
computing rank is slowed down, with lines and without any.

    bench/log_costs.py [--what latency,together,apart] [--lines 1000]
                       [--seconds 3] [--rounds 5] [--rates 0,1,10,100]
                       [--save | --add FILE]

latency: one rank in each of 2 pods prints a line with its time every 5 ms; the
reader of the launcher's stdout stamps it when it has it.
together: as many ranks as cores compute, each with 100 lines a second; their
wall time is compared with the same program without a launcher, in turns.
apart: one rank and its worker have core 1 for themselves, the launcher core 0,
as on two nodes of which one computes with all it has. Launchers and the program
by itself take turns for each number of lines a second.
How fast a core is changes by some percent from second to second where others
share the machine. So the rank prints in every other tenth of a second, and what
its lines cost is told from its neighbours in time; what a launcher costs that
prints nothing, from the time that the rank was not on its core. Medians of the
rounds, with their standard errors.
--save writes bench/results/log-costs-DATE.json; --add puts the rounds to those
that FILE holds, for a machine whose quiet minutes are short. All need an
otherwise idle machine, and what bench/logs.py needs.
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
TOOK = re.compile(r"took (\d+) (\d+) (\d+) (\d+)")
WAYS = ["muster text", "mpirun", "Hydra"]


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


def took(text, ranks):
    """Of the slowest rank: seconds with lines, wall and CPU, and without."""
    found = [[int(one) / 1e9 for one in four] for four in TOOK.findall(text)]
    if len(found) != ranks:
        raise RuntimeError(f"{len(found)} of {ranks} ranks: {text[-500:]}")
    return max(found)


def work(source, options, rate):
    """The program and its arguments, for so many lines a second."""
    every = round(options.pace / rate) if rate else 0
    return [source, "compute", str(round(options.pace * options.seconds)),
            str(every)]


def alone(pod, program, ranks, cpus):
    """The program without a launcher; it prints to files."""
    one = " ".join(program)
    bare = " & ".join(f"{one} > /dev/shm/{i}" for i in range(ranks))
    done = pod.exec(["taskset", "-c", cpus, "sh", "-c",
                     f"{bare} & wait; cat /dev/shm/[0-9]"], timeout=300)
    return took(done.stdout, ranks)


def launched(job, words, program, ranks, cpus):
    done = job.launcher.exec(["taskset", "-c", cpus, *words, *program],
                             timeout=300)
    return took(done.stdout, ranks)


def turns(running, program, ranks, found, pod_of, cpus):
    """The program by itself, and once more with each launcher."""
    first = next(iter(running.values()))[0]
    bare = alone(pod_of(first), program, ranks, cpus[0])
    for name, (job, words) in running.items():
        found.setdefault(name, []).append(
            {"alone": bare,
             "launched": launched(job, words, program, ranks, cpus[1])})


def median(values):
    """And its standard error, from the median deviation."""
    middle = statistics.median(values)
    deviation = statistics.median(abs(one - middle) for one in values)
    return middle, 1.253 * 1.4826 * deviation / len(values) ** 0.5


def off_core(wall, cpu):
    return (wall - cpu) / cpu * 100


def slower_all_in_all(samples):
    return median([(sum(one["launched"][::2]) / sum(one["alone"][::2]) - 1)
                   * 100 for one in samples])


def slower_by_launcher(samples):
    """Where nothing is printed."""
    return median([off_core(*one["launched"][2:]) - off_core(*one["alone"][2:])
                   for one in samples])


def slower_by_lines(samples):
    return median([(one["launched"][0] / one["launched"][2] - 1) * 100
                   for one in samples])


def off_core_by_lines(samples):
    """The part of it in which others had the core: known far better."""
    return median([off_core(*one["launched"][:2]) -
                   off_core(*one["launched"][2:]) for one in samples])


def measure_latency(running, source, options, result):
    for name, (job, words) in running.items():
        late = latencies(job, words, source, options.lines)
        result["latency_us"][name] = {
            "lines": len(late), "p50": percentile(late, 0.5),
            "p99": percentile(late, 0.99), "max": late[-1]}


def measure_apart(running, source, options, result):
    for job, _ in running.values():
        for pid in job.workers[0].pids():
            os.sched_setaffinity(pid, {1})
    for _ in range(options.rounds):
        for rate in options.rates:
            turns(running, work(source, options, rate), 1,
                  result["apart"].setdefault(str(rate), {}),
                  lambda job: job.workers[0], ("1", "0"))


def measured(options, result):
    wanted = options.what.split(",")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        os.chmod(folder, 0o777)
        source = logs.compiled(folder)
        if "latency" in wanted or "together" in wanted:
            with logs.jobs(2, WAYS, folder) as running:
                running.pop("muster text, no mask")
                if "latency" in wanted:
                    measure_latency(running, source, options, result)
                for _ in range(options.rounds if "together" in wanted else 0):
                    turns(running, work(source, options, 100), 2,
                          result["together"], lambda job: job.launcher,
                          ("0-1", "0-1"))
        if "apart" in wanted:
            with logs.jobs(1, WAYS, folder) as running:
                running.pop("muster text, no mask")
                measure_apart(running, source, options, result)


def show(result):
    for name, one in result["latency_us"].items():
        print(name, "latency us:", one)
    for name, samples in result["together"].items():
        print("together: {} slower by {:.2f} +- {:.2f} %".format(
            name, *slower_all_in_all(samples)))
    for rate, found in result["apart"].items():
        for name, samples in found.items():
            print("apart, {:>3} lines/s: {:20} {:5.2f} +- {:.2f} % by the "
                  "launcher, {:5.2f} +- {:.2f} % by lines, {:5.2f} +- {:.2f} % "
                  "of it off the core ({} rounds)".format(
                      rate, name, *slower_by_launcher(samples),
                      *slower_by_lines(samples), *off_core_by_lines(samples),
                      len(samples)))


def pieces_a_second():
    """Of line_source's work, on an idle core of this machine."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        done = subprocess.run([logs.compiled(folder), "compute", "1000", "0"],
                              stdout=subprocess.PIPE, text=True, check=True)
    wall, _, quiet, _ = took(done.stdout, 1)
    return 1000 / (wall + quiet)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--what", default="latency,together,apart")
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rates", default="0,1,10,100",
                        type=lambda text: [int(one) for one in text.split(",")])
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--add")
    options = parser.parse_args()
    options.pace = pieces_a_second()
    result = {"machine": platform.platform(), "cpus": os.cpu_count(),
              "latency_us": {}, "together": {}, "apart": {}}
    if options.add and os.path.exists(options.add):
        with open(options.add, encoding="utf-8") as file:
            result = json.load(file)
    measured(options, result)
    show(result)
    place = options.add
    if options.save:
        place = os.path.join(logs.HERE, "results",
                             time.strftime("log-costs-%Y%m%d-%H%M.json"))
    if place:
        with open(place, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
            file.write("\n")
        print("saved", place)
    return 0


if __name__ == "__main__":
    sys.exit(main())
