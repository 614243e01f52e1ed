#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Lines of ranks per second through launchers, and what they damage.

    bench/logs.py [--pods 8] [--lines 10000000] [--rounds 1] [--ways json]
                  [--congestion cubic] [--save]

One rank in each of 8 pods (podnet, on this machine) prints lines of 100 bytes
through 4 KiB of stdio as fast as it can. muster over its own SSH (tagged text
and JSON, default settings: masking and levels on), `mpirun --tag-output` and
Hydra `-prepend-rank` over OpenSSH and, where Slurm is installed, `srun -l`, in
turn within one run, to /dev/null and to a file in memory. Wall seconds include the launch, which is told beside; CPU is
that of all pods, the ranks' own included. Every line of the file is checked. A
run that fails is made again, three times at most, and counted.
--congestion: the TCP of all pods, where the machine's own is another.
--save writes bench/results/logs-DATE.json. Needs root,
and build/prefix or MUSTER_PREFIX with a release build.
"""
import argparse
import contextlib
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(ROOT, "tests"))
sys.dont_write_bytecode = True

import slurm_pods  # noqa: E402
from podnet import Cluster  # noqa: E402

PREFIX = os.environ.get("MUSTER_PREFIX", os.path.join(ROOT, "build", "prefix"))
MANIFEST = os.path.join(ROOT, "examples", "pi-openmpi.yaml")
LIMIT = 600  # seconds for one run
TRIES = 4


def ways(pods):
    """name -> (what the pods are given, words before the program)."""
    muster = ["muster", "launch", "-n", str(pods), "--bootstrap", "pmix",
              "--log-level", "error"]
    return {
        "muster text": ("muster", [*muster, "--log-format", "text", "--"]),
        "muster json": ("muster", [*muster, "--log-format", "json", "--"]),
        "muster text, no mask": ("muster", [*muster, "--no-mask", "--log-format",
                                        "text", "--"]),
        "mpirun --tag-output": ("openssh", [
            "mpirun.openmpi", "-np", str(pods), "--tag-output"]),
        "Hydra -prepend-rank": ("openssh", [
            "mpiexec.hydra", "-launcher", "ssh", "-iface", "eth0", "-f",
            "/tmp/hosts", "-ppn", "1", "-n", str(pods), "-prepend-rank"]),
        "srun -l": ("slurm", ["srun", "-N", str(pods), "-n", str(pods), "-l",
                              "--mpi=none"]),
    }


def compiled(folder):
    source = os.path.join(folder, "line_source")
    subprocess.run(["gcc", "-O2", "-o", source,
                    os.path.join(HERE, "line_source.c")], check=True)
    return source


def start_job(cluster, pods, kind, folder):
    options = {"prefix": PREFIX} if kind == "muster" else {}
    job = cluster.apply(MANIFEST, workers=pods,
                        launcher_command=["sleep", "infinity"],
                        binds=[(folder, folder, False)], **options)
    job.wait_ready(120)
    job.launcher.exec(["sh", "-c", "awk '{print $1 \":1\"}' "
                       "/etc/mpi/hostfile > /tmp/hosts"], check=True)
    job.bench_env = {}
    if kind == "slurm":
        job.bench_env = slurm_pods.start(job, folder, 1)
    return job


def choose_congestion(job, name):
    """For connections that begin from now on."""
    for pod in job.pods:
        subprocess.run(["nsenter", "-t", str(pod.pid), "-n", "sysctl", "-qw",
                        f"net.ipv4.tcp_congestion_control={name}"], check=True)


@contextlib.contextmanager
def jobs(pods, wanted, folder):
    """name -> the job it runs in, for the ways that are wanted."""
    chosen = {name: way for name, way in ways(pods).items()
              if any(part in name for part in wanted)
              and (way[0] != "slurm" or slurm_pods.is_installed())}
    with contextlib.ExitStack() as stack:
        made = {}
        for kind in sorted({way[0] for way in chosen.values()}):
            cluster = stack.enter_context(Cluster(name=f"logs-{kind}"))
            made[kind] = start_job(cluster, pods, kind, folder)
        yield {name: (made[way[0]], way[1]) for name, way in chosen.items()}


def cpu_of(job):
    return sum(pod.usage()["cpu_seconds"] for pod in job.pods)


def one_run(job, words, target, entry):
    """Wall and CPU seconds of all pods."""
    for _ in range(TRIES):
        before, began = cpu_of(job), time.monotonic()
        done = job.launcher.exec(["sh", "-c",
                                  'out=$1; shift; exec "$@" > "$out"',
                                  "sh", target, *words], timeout=LIMIT,
                                 env=job.bench_env)
        seconds = time.monotonic() - began
        if done.returncode == 0:
            return seconds, cpu_of(job) - before
        entry["failed"] += 1
    raise RuntimeError(f"{words[:3]}: {done.stderr[-500:]}")


def damage(source, path, lines):
    with open(path, "rb") as log:
        text = subprocess.run([source, "check"], stdin=log, text=True,
                              capture_output=True, check=True).stdout
    whole, damaged = map(int, text.split())
    return {"whole": whole, "damaged": damaged, "lost": lines - whole - damaged}


def measure(options, folder):
    source = compiled(folder)
    each = options.lines // options.pods
    lines = each * options.pods
    log = os.path.join(folder, "log")
    found = {}
    with jobs(options.pods, options.ways.split(","), folder) as running:
        for job, _ in running.values():
            if options.congestion:
                choose_congestion(job, options.congestion)
        for number in range(options.rounds):
            for name, (job, words) in running.items():
                entry = found.setdefault(
                    name, {"launch_s": [], "null_s": [], "null": [],
                           "file": [], "cpu_us": [], "failed": 0})
                entry["launch_s"].append(
                    one_run(job, [*words, source, "write", "1"],
                            "/dev/null", entry)[0])
                line = [*words, source, "write", str(each)]
                seconds, used = one_run(job, line, "/dev/null", entry)
                entry["null_s"].append(seconds)
                entry["null"].append(lines / seconds)
                entry["cpu_us"].append(used / lines * 1e6)
                if options.null_only:
                    continue
                seconds, _ = one_run(job, line, log, entry)
                entry["file"].append(lines / seconds)
                if number == 0:
                    entry.update(damage(source, log, lines))
                os.unlink(log)
    return found


def show(found):
    print(f"{'':24} {'launch s':>9} {'null M/s':>9} {'file M/s':>9} "
          f"{'CPU us/line':>12} {'damaged':>9} {'lost':>7} "
          f"{'failed':>6}")
    for name, entry in found.items():
        middle = {key: statistics.median(values)
                  for key, values in entry.items() if isinstance(values, list)
                  and values}
        print(f"{name:24} {middle['launch_s']:9.2f} "
              f"{middle['null'] / 1e6:9.2f} {middle.get('file', 0) / 1e6:9.2f} "
              f"{middle['cpu_us']:12.2f} {entry.get('damaged', -1):9d} "
              f"{entry.get('lost', -1):7d} {entry['failed']:6d}", flush=True)


def own_congestion():
    place = "/proc/sys/net/ipv4/tcp_congestion_control"
    with open(place, encoding="utf-8") as file:
        return file.read().strip()


def save(options, found):
    place = os.path.join(HERE, "results", time.strftime("logs-%Y%m%d-%H%M.json"))
    os.makedirs(os.path.dirname(place), exist_ok=True)
    with open(place, "w", encoding="utf-8") as file:
        json.dump({"machine": platform.platform(), "cpus": os.cpu_count(),
                   "load_at_end": round(os.getloadavg()[0], 2),
                   "congestion": options.congestion or own_congestion(),
                   "pods": options.pods, "lines": options.lines,
                   "rounds": options.rounds, "results": found}, file, indent=1)
        file.write("\n")
    print("saved", place)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pods", type=int, default=8)
    parser.add_argument("--lines", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--ways", default="", help="parts of their names")
    parser.add_argument("--congestion", default="")
    parser.add_argument("--null-only", action="store_true")
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        os.chmod(folder, 0o777)
        found = measure(options, folder)
    show(found)
    if options.save:
        save(options, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
