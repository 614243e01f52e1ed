#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a launch costs, from the command to its end: `true` and an MPI hello on
every worker, by muster natively, by muster with the image's mpirun, and by
mpirun and Hydra over OpenSSH.

    bench/launch.py [--shapes 4x1,16x1,8x8] [--count 5] [--ways native] [--save]

All pods are ready before anything is measured, so that only the launch counts.
Wall seconds until the last rank is in main, past MPI_Init, and until the exit;
CPU seconds of all pods together (cgroups). The ways take turns within one run,
because a machine's load changes between runs: trust the ratios, and CPU more
than wall. --save writes bench/results/launch-DATE.json. Needs root (podnet),
mpicc.openmpi, mpicc.mpich, and build/prefix (scripts/demo installs it there)
or MUSTER_PREFIX.
"""
import argparse
import contextlib
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(ROOT, "tests"))
sys.dont_write_bytecode = True

from podnet import Cluster  # noqa: E402

PREFIX = os.environ.get("MUSTER_PREFIX", os.path.join(ROOT, "build", "prefix"))
MANIFEST = os.path.join(ROOT, "examples", "pi-openmpi.yaml")
LIMIT = 180  # seconds for one launch
SETTLE = 0.4  # seconds after the exit that still count as CPU of the launch
CURVE = "-oConnectionAttempts=10 -oKexAlgorithms=curve25519-sha256"
# What muster sets by itself, for the others, too: no probing of fabrics that
# are not there, so that the launch is compared and not MPI_Init.
PLAIN = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "tcp,self,vader",
         "UCX_TLS": "tcp,self"}
STAMPS = re.compile(r"stamp (\d+) (\d+)")


def compiled(compiler, where):
    target = os.path.join(where, "stamps-" + compiler.split(".")[-1])
    subprocess.run([compiler, "-O1", "-o", target,
                    os.path.join(HERE, "launch_stamps.c")], check=True)
    os.chmod(target, 0o755)
    return target


def ways(nodes, slots, programs):
    """name -> (needs muster in the pods, words before the program, hello)."""
    ranks = str(nodes * slots)
    muster = ["muster", "launch", "--slots-per-node", str(slots), "-n", ranks]
    mpirun = ["mpirun.openmpi", "-np", ranks, "--oversubscribe"]
    ours, hydra = [programs[0]], ["env", "SKIP_FINALIZE=1", programs[1]]
    return {
        "muster native": (True, [*muster, "--bootstrap", "pmix", "--"], ours),
        "muster native, MPICH": (True, [*muster, "--bootstrap", "pmix", "--"],
                                 hydra),
        "muster mpirun": (True, [*muster, "--bootstrap", "mpirun", "--"],
                          ours),
        "OpenSSH mpirun": (False, mpirun, ours),
        "OpenSSH mpirun, curve25519": (
            False, [*mpirun, "--mca", "plm_rsh_args", CURVE], ours),
        "OpenSSH Hydra": (False, [
            "mpiexec.hydra", "-launcher", "ssh", "-iface", "eth0", "-f",
            "/tmp/hosts", "-ppn", str(slots), "-n", ranks], hydra),
    }


def start_job(cluster, nodes, slots, muster, programs):
    """All workers ready, the launcher idle."""
    options = {"prefix": PREFIX} if muster else {}
    job = cluster.apply(MANIFEST, workers=nodes,
                        launcher_command=["sleep", "infinity"],
                        binds=[(programs, programs, True)], **options)
    job.wait_ready(120)
    job.launcher.exec(["sh", "-c", "awk '{print $1 \":%d\"}' "
                       "/etc/mpi/hostfile > /tmp/hosts" % slots], check=True)
    return job


def cpu_by_pod(job):
    return {pod.name: pod.usage()["cpu_seconds"] for pod in job.pods}


def one_launch(job, command, stamps):
    """Seconds by stage, and CPU seconds; None if it did not end well."""
    before = cpu_by_pod(job)
    began = time.time()
    try:
        done = job.launcher.exec(command, timeout=LIMIT, env=PLAIN)
    except subprocess.TimeoutExpired:
        return None
    wall = time.time() - began
    time.sleep(SETTLE)
    after = cpu_by_pod(job)
    spent = {name: after[name] - before[name] for name in after}
    result = {"exit": wall, "cpu": sum(spent.values()),
              "launcher_cpu": spent[job.launcher.name]}
    if stamps:
        found = [(int(a), int(b)) for a, b in STAMPS.findall(done.stdout)]
        if len(found) != stamps:
            return None
        result["main"] = max(a for a, _ in found) / 1e9 - began
        result["init"] = max(b for _, b in found) / 1e9 - began
    if done.returncode != 0:
        print(f"{command[:6]} ended with {done.returncode}:\n"
              f"{done.stdout[-300:]}\n{done.stderr[-900:]}", flush=True)
        return None
    return result


def measure(nodes, slots, count, programs, directory, wanted):
    """{way: {"true"|"hello": [result]}}; the first round only warms."""
    all_ways = {name: way for name, way in ways(nodes, slots, programs).items()
                if any(part in name for part in wanted)}
    taken = {name: {"true": [], "hello": []} for name in all_ways}
    failed = set()
    with contextlib.ExitStack() as stack:
        jobs = {}
        for muster in {way[0] for way in all_ways.values()}:
            pods = stack.enter_context(Cluster(name=f"bench-{nodes}"))
            jobs[muster] = start_job(pods, nodes, slots, muster, directory)
        for turn in range(count + 1):
            for name, (muster, words, hello) in all_ways.items():
                for what in ("true", "hello"):
                    if (name, what) in failed:
                        continue
                    stamps = nodes * slots if what == "hello" else 0
                    result = one_launch(
                        jobs[muster],
                        [*words, *(hello if stamps else ["true"])], stamps)
                    if result is None:
                        failed.add((name, what))
                        print(f"{name}, {what}: did not end well", flush=True)
                    elif turn > 0:
                        taken[name][what].append(result)
    return taken


def machine():
    load = os.getloadavg()[0]
    cores = os.cpu_count()
    return {"cores": cores, "kernel": platform.release(),
            "load_at_start": round(load, 2),
            "state": "idle" if load < 0.3 * cores else "loaded"}


def middle(results, key):
    return statistics.median(r[key] for r in results)


def show(nodes, slots, taken):
    for name, by_program in taken.items():
        for what, results in by_program.items():
            if not results:
                continue
            keys = [key for key in ("main", "init", "exit", "cpu",
                                    "launcher_cpu") if key in results[0]]
            print(f"{nodes:3}x{slots}  {name:27} {what:5} " + "  ".join(
                f"{key} {middle(results, key):6.2f} s" for key in keys),
                flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--shapes", default="4x1,16x1")
    parser.add_argument("--count", type=int, default=5)
    parser.add_argument("--ways", default="", help="parts of their names")
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    result = {"benchmark": "launch", "machine": machine(), "runs": []}
    print("machine:", json.dumps(result["machine"]), flush=True)
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        programs = [compiled(c, directory)
                    for c in ("mpicc.openmpi", "mpicc.mpich")]
        for shape in options.shapes.split(","):
            nodes, slots = map(int, shape.split("x"))
            taken = measure(nodes, slots, options.count, programs, directory,
                            options.ways.split(","))
            show(nodes, slots, taken)
            result["runs"].append({
                "nodes": nodes, "slots": slots,
                "load": round(os.getloadavg()[0], 2), "ways": taken})
    result["load_at_end"] = round(os.getloadavg()[0], 2)
    if options.save:
        version = subprocess.run([f"{PREFIX}/bin/muster", "version"], text=True,
                                 capture_output=True, check=False)
        result["muster"] = version.stdout.strip()
        os.makedirs(os.path.join(HERE, "results"), exist_ok=True)
        path = os.path.join(HERE, "results",
                            time.strftime("launch-%Y%m%d-%H%M.json"))
        with open(path, "w", encoding="utf-8") as file:
            text = json.dumps(result, indent=1)
            # Microseconds are noise.
            file.write(re.sub(r"(\d+\.\d{4})\d+", r"\1", text) + "\n")
        print("saved", path)


if __name__ == "__main__":
    main()
