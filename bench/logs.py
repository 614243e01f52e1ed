#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Lines of ranks per second through launchers, and what they damage.

    bench/logs.py [--ranks 8] [--lines 10000000] [--rounds 3] [--save]

8 ranks on this machine print lines of 100 bytes as fast as they can. muster
(tagged text and JSON, default settings: masking and levels on), `mpirun
--tag-output`, Hydra `-prepend-rank`, in turn within one run, to /dev/null and
to a file in memory. CPU is that of everything, the ranks' own included.
srun -l is not run: it needs a cluster with slurmd. --save writes
bench/results/logs-DATE.json. Needs build/prefix, or MUSTER_PREFIX.
"""
import argparse
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(HERE)
PREFIX = os.environ.get("MUSTER_PREFIX", os.path.join(ROOT, "build", "prefix"))
LIMIT = 900  # seconds for one run
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1",
               "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def ways(ranks, source, each):
    work = [source, "write", str(each)]
    muster = [os.path.join(PREFIX, "bin", "muster"), "launch", "--local",
              f"1x{ranks}", "--bootstrap", "pmix", "--log-level", "error"]
    return {
        "muster text": [*muster, "--log-format", "text", "--", *work],
        "muster json": [*muster, "--log-format", "json", "--", *work],
        "muster text, no mask": [*muster, "--no-mask", "--log-format", "text",
                                 "--", *work],
        "mpirun --tag-output": ["mpirun.openmpi", "--oversubscribe", "-np",
                                str(ranks), "--tag-output", *work],
        "Hydra -prepend-rank": ["mpiexec.hydra", "-np", str(ranks),
                                "-prepend-rank", *work],
    }


def cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def one_run(argv, target):
    with open(target, "wb") as out:
        before, began = cpu(), time.monotonic()
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=out,
                              stderr=subprocess.PIPE, timeout=LIMIT,
                              env=ENVIRONMENT, check=False)
        seconds = time.monotonic() - began
    if done.returncode != 0:
        raise RuntimeError(f"{argv[0]}: {done.stderr.decode()[-500:]}")
    return seconds, cpu() - before


def damage(source, path, lines):
    with open(path, "rb") as log:
        text = subprocess.run([source, "check"], stdin=log, text=True,
                              capture_output=True, check=True).stdout
    whole, damaged = map(int, text.split())
    return {"whole": whole, "damaged": damaged, "lost": lines - whole}


def measure(options, source, folder):
    each = options.lines // options.ranks
    lines = each * options.ranks
    log = os.path.join(folder, "log")
    found = {}
    for number in range(options.rounds):
        for name, argv in ways(options.ranks, source, each).items():
            if not (os.path.exists(argv[0]) or shutil.which(argv[0])):
                continue
            entry = found.setdefault(name, {"null": [], "file": [], "cpu": []})
            seconds, used = one_run(argv, "/dev/null")
            entry["null"].append(lines / seconds)
            entry["cpu"].append(used / lines * 1e6)
            seconds, _ = one_run(argv, log)
            entry["file"].append(lines / seconds)
            if number == 0:
                entry.update(damage(source, log, lines))
            os.unlink(log)
    return found


def show(found):
    print(f"{'':24} {'null M/s':>9} {'file M/s':>9} {'CPU us/line':>12} "
          f"{'damaged':>9}")
    for name, entry in found.items():
        print(f"{name:24} {statistics.median(entry['null']) / 1e6:9.2f} "
              f"{statistics.median(entry['file']) / 1e6:9.2f} "
              f"{statistics.median(entry['cpu']):12.2f} "
              f"{entry['damaged'] + max(entry['lost'], 0):9d}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--lines", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        source = os.path.join(folder, "line_source")
        subprocess.run(["gcc", "-O2", "-o", source,
                        os.path.join(HERE, "line_source.c")], check=True)
        found = measure(options, source, folder)
    show(found)
    if options.save:
        place = os.path.join(HERE, "results",
                             time.strftime("logs-%Y-%m-%d.json"))
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w", encoding="utf-8") as file:
            json.dump({"machine": platform.platform(),
                       "cpus": os.cpu_count(),
                       "load": os.getloadavg()[0],
                       "ranks": options.ranks, "lines": options.lines,
                       "rounds": options.rounds, "results": found}, file,
                      indent=1)
            file.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
