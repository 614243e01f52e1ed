# SPDX-License-Identifier: Apache-2.0
"""Slurm in a job's pods, for comparison: slurmctld in the launcher, a slurmd
that stays in every worker, nothing that authenticates (Slurm's own auth/none,
so its figures have no munge in them). Needs Debian's slurm-wlm."""
import os
import shutil
import time

CONFIGURATION = """ClusterName=bench
SlurmctldHost={launcher}({address})
AuthType=auth/none
CredType=cred/none
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation=/tmp/slurmctld
SlurmdSpoolDir=/tmp/slurmd
SlurmctldPidFile=/tmp/slurmctld.pid
SlurmdPidFile=/tmp/slurmd.pid
SlurmctldLogFile=/tmp/slurmctld.log
SlurmdLogFile=/tmp/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
SlurmdParameters=config_overrides
ReturnToService=2
MpiDefault=none
{nodes}
PartitionName=all Nodes=ALL Default=YES State=UP MaxTime=INFINITE
"""


def is_installed():
    return bool(shutil.which("slurmctld") and shutil.which("srun"))


def said(pod, *command):
    return pod.exec(list(command), check=True).stdout.split()[0]


def start(job, directory, slots):
    """All nodes idle. `directory` is seen by all pods under its own name.
    The environment that srun needs."""
    lines = job.launcher.exec(["cat", "/etc/mpi/hostfile"]).stdout.split("\n")
    hosts = [line.split()[0] for line in lines if line.strip()]
    path = os.path.join(directory, "slurm.conf")
    with open(path, "w", encoding="ascii") as file:
        file.write(CONFIGURATION.format(
            user=said(job.launcher, "id", "-un"),
            launcher=said(job.launcher, "hostname"),
            address=said(job.launcher, "hostname", "-I"),
            nodes="\n".join(
                f"NodeName={name.split('.')[0]} NodeAddr={name} "
                f"CPUs={slots} State=UNKNOWN" for name in hosts)))
    os.chmod(path, 0o644)
    with open(os.path.join(directory, "cgroup.conf"), "w",
              encoding="ascii") as file:
        file.write("CgroupPlugin=cgroup/v1\n")
    env = {"SLURM_CONF": path}
    job.launcher.exec(["slurmctld"], check=True, env=env)
    for worker in job.workers:
        worker.exec(["slurmd"], check=True, env=env)
    deadline = time.monotonic() + 60
    while True:
        seen = job.launcher.exec(["sinfo", "-h", "-o", "%D %T"], env=env)
        if seen.stdout.split() == [str(len(job.workers)), "idle"]:
            return env
        if time.monotonic() > deadline:
            raise RuntimeError(f"Slurm is not up: {seen.stdout}{seen.stderr}")
        time.sleep(0.5)
