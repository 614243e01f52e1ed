# SPDX-License-Identifier: Apache-2.0
"""The demo's cluster: the MPIJob of examples/pi-openmpi.yaml on 4 workers with
2 slots each, once well and once with a crash on rank 5."""
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests"))

from test_steps import no_pods_because  # noqa: E402


def show(prefix, programs, command, title):
    from podnet import Cluster, load_manifest
    print(f"\n=== {title}")
    print("    kubectl apply -f examples/pi-openmpi.yaml   "
          "(4 workers, slotsPerWorker: 2)")
    print("    launcher command: " + " ".join(
        os.path.basename(w) if w.startswith("/") else w for w in command))

    manifest = load_manifest(os.path.join(ROOT, "examples", "pi-openmpi.yaml"))
    manifest.job["spec"]["slotsPerWorker"] = 2
    with Cluster(name="demo") as cluster:
        job = cluster.apply(
            manifest, prefix=prefix, workers=4, launcher_command=command,
            binds=[(programs, programs, True)])
        status = job.launcher.wait(120)
        print("--- kubectl logs launcher")
        print(job.launcher.combined().rstrip())
        print(f"--- exit code {status.code}; terminationMessagePath says:")
        print("\n".join(
            job.launcher.termination_log().rstrip().splitlines()[:6]))
        return status.code


def main():
    if sys.argv[1] == "--check":
        reason = no_pods_because()
        print(reason, end="")
        return 1 if reason else 0
    prefix = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="muster-demo-") as programs:
        os.chmod(programs, 0o755)
        hello = os.path.join(programs, "hello")
        subprocess.run(
            ["mpicc.openmpi", "-o", hello,
             os.path.join(ROOT, "tests", "cluster", "programs", "hello.c")],
            check=True)
        good = show(prefix, programs, ["mpirun", "-np", "8", hello],
                    "A launcher and 4 workers; 8 ranks of a real MPI program")
        bad = show(prefix, programs, ["mpirun", "-np", "8", hello, "5"],
                   "The same, and rank 5 reads where there is nothing")
    if (good, bad) != (0, 139):
        print(f"demo: exit codes {good} and {bad} instead of 0 and 139")
        return 1
    print("\nThe exit code is 128 + SIGSEGV (11), as of the first rank that "
          "failed.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
