#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a launch costs, from the command to its end: `true`, an MPI hello and a
PMIx client that fences, on every worker, by muster natively, by muster with the
image's mpirun, by mpirun and Hydra over OpenSSH, and by srun where Slurm is.

    bench/launch.py [--shapes 4x1,16x1,8x8] [--count 5] [--ways native] [--save]
                    [--what true,hello,fence] [--fences 10] [--rest 0]

All pods are ready before anything is measured, so that only the launch counts.
Wall seconds until the last rank is in main, past MPI_Init, and until the exit;
CPU seconds of all pods together (cgroups). For a fence: milliseconds from the
last rank that began to wait to the last that was let go, median of fences of
500 bytes a rank (the first, which meets ranks still starting, left out); for
muster also the most memory that the launcher held and the bytes that its
network took in and gave out. The ways take turns within one run,
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

import slurm_pods  # noqa: E402
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
FENCES = re.compile(r"fence (\d+) (\d+) (\d+)")


def compiled(compiler, where):
    target = os.path.join(where, "stamps-" + compiler.split(".")[-1])
    subprocess.run([compiler, "-O1", "-o", target,
                    os.path.join(HERE, "launch_stamps.c")], check=True)
    os.chmod(target, 0o755)
    return target


def fence_program(where):
    """The PMIx client; None without libpmix' headers."""
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "pmix"],
                           capture_output=True, text=True, check=False)
    if flags.returncode != 0:
        return None
    target = os.path.join(where, "fence")
    subprocess.run(["gcc", "-O1", "-o", target,
                    os.path.join(HERE, "launch_fence.c"),
                    *flags.stdout.split()], check=True)
    os.chmod(target, 0o755)
    return target


def fence_ms(text, ranks):
    """None unless every rank has been through every fence."""
    rounds = {}
    for number, begun, released in FENCES.findall(text):
        rounds.setdefault(int(number), []).append((int(begun), int(released)))
    if len(rounds) < 2 or any(len(r) != ranks for r in rounds.values()):
        return None
    return statistics.median(
        (max(b for _, b in seen) - max(a for a, _ in seen)) / 1e6
        for number, seen in rounds.items() if number > 0)


def ways(nodes, slots, programs):
    """name -> (what must be in the pods, words before the program, hello,
    whether it serves PMIx)."""
    ranks = str(nodes * slots)
    muster = ["muster", "launch", "--slots-per-node", str(slots), "-n", ranks]
    mpirun = ["mpirun.openmpi", "-np", ranks, "--oversubscribe"]
    srun = ["srun", "-N", str(nodes), "-n", ranks]
    ours, hydra = [programs[0]], ["env", "SKIP_FINALIZE=1", programs[1]]
    return {
        "muster native": ("muster", [*muster, "--bootstrap", "pmix", "--"], ours,
                          True),
        "muster native, MPICH": ("muster", [*muster, "--bootstrap", "pmix", "--"],
                                 hydra, False),
        "muster mpirun": ("muster", [*muster, "--bootstrap", "mpirun", "--"],
                          ours, True),
        "OpenSSH mpirun": ("sshd", mpirun, ours, True),
        "OpenSSH mpirun, curve25519": (
            "sshd", [*mpirun, "--mca", "plm_rsh_args", CURVE], ours, True),
        "OpenSSH Hydra": ("sshd", [
            "mpiexec.hydra", "-launcher", "ssh", "-iface", "eth0", "-f",
            "/tmp/hosts", "-ppn", str(slots), "-n", ranks], hydra, False),
        "srun": ("slurm", [*srun, "--mpi=pmix"], ours, False),
        "srun, MPICH": ("slurm", [*srun, "--mpi=pmi2"], hydra, False),
    }


def start_job(cluster, nodes, slots, kind, programs, launcher_cpu):
    """All workers ready, the launcher idle, Slurm up if it is wanted."""
    options = {"prefix": PREFIX} if kind == "muster" else {}

    def request(specs):
        for spec in specs:
            if spec["role"] == "launcher":
                spec["cpu_request"] = launcher_cpu

    job = cluster.apply(MANIFEST, workers=nodes,
                        launcher_command=["sleep", "infinity"],
                        binds=[(programs, programs, True)], edit=request,
                        **options)
    job.wait_ready(120)
    job.launcher.exec(["sh", "-c", "awk '{print $1 \":%d\"}' "
                       "/etc/mpi/hostfile > /tmp/hosts" % slots], check=True)
    job.bench_env = dict(PLAIN)
    if kind == "slurm":
        job.bench_env.update(slurm_pods.start(job, programs, slots))
    return job


def cpu_by_pod(job):
    return {pod.name: pod.usage()["cpu_seconds"] for pod in job.pods}


def network_bytes(pod):
    """(taken in, given out) by its eth0 so far."""
    for line in pod.exec(["cat", "/proc/net/dev"]).stdout.splitlines():
        name, _, numbers = line.partition(":")
        if name.strip() == "eth0":
            counts = numbers.split()
            return int(counts[0]), int(counts[8])
    return 0, 0


def peak_megabytes(job, command):
    """Of the largest process of the launcher, in a launch of its own."""
    look = ("import resource, subprocess, sys; "
            "subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, "
            "stderr=subprocess.DEVNULL); "
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    done = job.launcher.exec(["/usr/bin/python3", "-c", look, *command],
                             timeout=LIMIT, env=job.bench_env)
    return int(done.stdout.split()[-1]) / 1024


def one_launch(job, command, stamps, fences=0):
    """Seconds by stage, and CPU seconds; None if it did not end well."""
    wire_before = network_bytes(job.launcher)
    before = cpu_by_pod(job)
    began = time.time()
    try:
        done = job.launcher.exec(command, timeout=LIMIT, env=job.bench_env)
    except subprocess.TimeoutExpired:
        return None
    wall = time.time() - began
    time.sleep(SETTLE)
    after = cpu_by_pod(job)
    spent = {name: after[name] - before[name] for name in after}
    wire = network_bytes(job.launcher)
    result = {"exit": wall, "cpu": sum(spent.values()),
              "launcher_cpu": spent[job.launcher.name],
              "bytes_in": wire[0] - wire_before[0],
              "bytes_out": wire[1] - wire_before[1]}
    if fences:
        result["fence_ms"] = fence_ms(done.stdout, fences)
        if result["fence_ms"] is None:
            return None
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


def program_of(what, hello, fence, ranks, options):
    """Its words, and how many ranks it makes print stamps, and fences."""
    if what == "hello":
        return hello, ranks, 0
    if what == "fence":
        return [fence, str(ranks), str(options.fences),
                str(options.rest)], 0, ranks
    return ["true"], 0, 0


def measure(nodes, slots, count, programs, directory, options):
    """{way: {"true"|"hello"|"fence": [result]}}; the first round warms."""
    all_ways = {name: way for name, way in ways(nodes, slots, programs).items()
                if any(part in name for part in options.ways.split(","))
                and (way[0] != "slurm" or slurm_pods.is_installed())}
    kinds = options.what.split(",")
    taken = {name: {what: [] for what in kinds} for name in all_ways}
    failed = set()
    with contextlib.ExitStack() as stack:
        jobs = {}
        for kind in sorted({way[0] for way in all_ways.values()}):
            pods = stack.enter_context(Cluster(name=f"bench-{nodes}"))
            jobs[kind] = start_job(pods, nodes, slots, kind, directory,
                                   options.launcher_cpu)
        for turn in range(count + 1):
            for name, (kind, words, hello, pmix) in all_ways.items():
                for what in kinds:
                    if (name, what) in failed:
                        continue
                    if what == "fence" and not (pmix and programs[2]):
                        continue
                    program, stamps, fences = program_of(
                        what, hello, programs[2], nodes * slots, options)
                    result = one_launch(jobs[kind], [*words, *program],
                                        stamps, fences)
                    if result is None:
                        failed.add((name, what))
                        print(f"{name}, {what}: did not end well", flush=True)
                    elif turn > 0:
                        taken[name][what].append(result)
        if options.memory:
            for name, (kind, words, _, _) in all_ways.items():
                if kind == "muster" and taken[name][kinds[0]]:
                    taken[name][kinds[0]][0]["peak_mb"] = peak_megabytes(
                        jobs[kind], [*words, "true"])
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
            more = "".join(
                f"  {key} {middle(results, key) / scale:.1f}{unit}"
                for key, scale, unit in (("fence_ms", 1, " ms"),
                                         ("bytes_in", 1024, " KiB"),
                                         ("bytes_out", 1024, " KiB"))
                if key in results[0])
            if "peak_mb" in results[0]:
                more += f"  launcher {results[0]['peak_mb']:.1f} MiB"
            print(f"{nodes:3}x{slots}  {name:27} {what:5} " + "  ".join(
                f"{key} {middle(results, key):6.3f} s" for key in keys) + more,
                flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--shapes", default="4x1,16x1")
    parser.add_argument("--count", type=int, default=5)
    parser.add_argument("--ways", default="", help="parts of their names")
    parser.add_argument("--what", default="true,hello,fence")
    parser.add_argument("--fences", type=int, default=10)
    parser.add_argument("--rest", type=int, default=0,
                        help="milliseconds between fences")
    parser.add_argument("--launcher-cpu", type=float,
                        help="CPUs that the launcher's pod requests; all pods"
                        " have the same share without")
    parser.add_argument("--memory", action="store_true",
                        help="one more launch for the launcher's memory")
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    result = {"benchmark": "launch", "machine": machine(), "runs": []}
    print("machine:", json.dumps(result["machine"]), flush=True)
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        programs = [compiled(c, directory)
                    for c in ("mpicc.openmpi", "mpicc.mpich")]
        programs.append(fence_program(directory))
        for shape in options.shapes.split(","):
            nodes, slots = map(int, shape.split("x"))
            taken = measure(nodes, slots, options.count, programs, directory,
                            options)
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
