# SPDX-License-Identifier: Apache-2.0
"""Stock OpenSSH and stock mpirun in these pods: the bed is fair only if the things of today work in it as they do elsewhere."""
import os
import subprocess

from .. import Cluster
from . import Skip, example, same, true
from ..security import OPENSHIFT_UID

HERE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def _need(*programs, root=""):
    for p in programs:
        if not os.path.exists(root + p):
            raise Skip(f"no {root}{p} on this machine")


def _trixie():
    r = subprocess.run([f"{HERE}/trixie_root", "--path"], capture_output=True, text=True)
    if r.returncode:
        raise Skip("no Debian 13 root; tests/podnet/trixie_root builds it")
    return r.stdout.strip()


def _both(job):
    e = job.launcher.wait(120)
    same((e.code, sorted(job.launcher.stdout().split())), (0, [w.hostname for w in job.workers]),
         job.launcher.stderr()[-2000:] + job.workers[0].stderr()[-1000:])
    return f"{e.duration:.2f} s"


def check_openmpi4_over_openssh_as_root():
    """The shortest MPIJob unchanged: sshd -De as root with a plain cluster's capabilities, mpirun of Open MPI 4."""
    _need("/usr/sbin/sshd", "/usr/bin/mpirun.openmpi")
    with Cluster("st-i1") as c:
        job = c.apply(example("default-worker-command.yaml"), profile="kubernetes", start={"launcher": 1},
                      launcher_command=["mpirun.openmpi", "--allow-run-as-root", "-np", "2", "/bin/hostname"])
        return _both(job)


def check_openmpi4_over_openssh_non_root():
    """The operator's non-root example: user 1000, no capability, sshd with the user's configuration."""
    _need("/usr/sbin/sshd", "/usr/bin/mpirun.openmpi")
    with Cluster("st-i2") as c:
        job = c.apply(example("pi-openmpi.yaml"), start={"launcher": 1},
                      launcher_command=["mpirun.openmpi", "-np", "2", "/bin/hostname"])
        return _both(job)


def check_mpich_over_openssh():
    """MPICH: the proxies call back to the launcher's short name, which the workers' search list resolves."""
    _need("/usr/sbin/sshd", "/usr/bin/mpiexec.hydra")
    with Cluster("st-i3") as c:
        job = c.apply(example("pi-mpich.yaml"), start={"launcher": "never"},
                      launcher_command=["mpiexec.hydra", "-n", "2", "/bin/hostname"])
        true(job.wait_ready(120), "workers are not ready")       # earlier, mpiexec hangs for ever
        job.launcher.start()
        return _both(job)


def check_openssh_fails_as_restricted_root_path():
    """OpenShift restricted with the default command: stock sshd cannot work, as users report."""
    _need("/usr/sbin/sshd")
    with Cluster("st-i4") as c:
        job = c.apply(example("default-worker-command.yaml"), launcher_command=["/bin/true"], uid=OPENSHIFT_UID)
        e = job.workers[0].wait()
        true(e.code, "sshd should fail")
        return job.workers[0].stderr().strip().splitlines()[-1]


def check_openmpi5_runs_on_one_node_and_says_nothing():
    """Open MPI 5 ignores the operator's variables: all ranks in the launcher, exit code 0, workers idle."""
    root = _trixie()
    with Cluster("st-i5") as c:
        job = c.apply(example("pi-openmpi.yaml"), root=root, start={"launcher": 1},
                      launcher_command=["mpirun", "-np", "2", "--oversubscribe", "/bin/hostname"])
        e = job.launcher.wait(120)
        same((e.code, set(job.launcher.stdout().split())), (0, {"pi-launcher"}), job.launcher.stderr()[-1500:])


def check_openmpi5_with_a_hostfile_over_openssh10():
    """The same with --hostfile, Debian 13's OpenSSH 10: both workers."""
    root = _trixie()
    with Cluster("st-i6") as c:
        job = c.apply(example("pi-openmpi.yaml"), root=root, start={"launcher": 1}, launcher_command=[
            "mpirun", "--hostfile", "/etc/mpi/hostfile", "--prtemca", "prte_keep_fqdn_hostnames", "true", "-np", "2", "/bin/hostname"])
        return _both(job)
