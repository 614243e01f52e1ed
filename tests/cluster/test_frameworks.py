# SPDX-License-Identifier: Apache-2.0
"""The real launchers of frameworks over the drop-ins: DeepSpeed's (openmpi,
pdsh), Accelerate's (mpirun, pdsh) and horovodrun (MPI, Gloo), their lines as
users write them. The ranks are small Python programs, so no GPU is needed.

The packages come from MUSTER_FRAMEWORKS, a directory for PYTHONPATH, or from
the system's Python; what is not there is skipped. Horovod may lie there as
source alone: then "is MPI built in?" is answered with yes, since its starter
needs no more.
"""
import os
import subprocess
import sys

from harness import Launch, Skip, apply, check, cluster, contains, equal, main

PLACE = os.environ.get("MUSTER_FRAMEWORKS", "")
ANY = ["muster", "worker", "--allow-any-command"]
HOSTFILE = "--hostfile /etc/mpi/hostfile"
WORKERS = "deepspeed-worker-0.deepspeed:2,deepspeed-worker-1.deepspeed:2"
MEET = "--main_process_ip deepspeed-worker-0.deepspeed --main_process_port 29511"
TWO = f"--num_machines 2 --num_processes 4 {MEET}"
BOTH = ("deepspeed-worker-0", "deepspeed-worker-1")

ENTRY = "#!/usr/bin/python3\nfrom {} import main\nmain()\n"
HOROVODRUN = """#!/usr/bin/python3
import horovod.common.util as util
if util.mpi_built() is None:
    util.mpi_built = util.gloo_built = lambda verbose=False: True
if __name__ == "__main__":
    from horovod.runner.launch import run_commandline
    run_commandline()
"""
# torch's own rendezvous over Gloo: wrong variables would hang or miscount. One
# write a line, since ranks of DeepSpeed and horovodrun share a pipe.
SUM = """import os, socket, sys, torch, torch.distributed as dist
dist.init_process_group("gloo")
one = torch.ones(1)
dist.all_reduce(one)
os.write(1, f"rank {dist.get_rank()} of {int(one.item())} on "
            f"{socket.gethostname()} {sys.argv[1:]}\\n".encode())
"""
WHERE = """import os, socket, sys
names = ("OMPI_COMM_WORLD_RANK", "HOROVOD_RANK", "RANK")
rank = next((os.environ[n] for n in names if n in os.environ), "none")
os.write(1, f"rank {rank} on {socket.gethostname()} {sys.argv[1:]}\\n".encode())
"""


def needs(*modules):
    for module in modules:
        found = subprocess.run(
            ["/usr/bin/python3", "-c", "import " + module],
            env={**os.environ, "PYTHONPATH": PLACE}, capture_output=True,
            timeout=120, check=False)
        if found.returncode != 0:
            raise Skip(f"no {module} in /usr/bin/python3 or MUSTER_FRAMEWORKS")


def job_with(c, **options):
    """uid 0: pdsh wants the user to have a name."""
    scripts = {"deepspeed": ENTRY.format("deepspeed.launcher.runner"),
               "accelerate": ENTRY.format("accelerate.commands.accelerate_cli"),
               "horovodrun": HOROVODRUN}
    files = {f"/usr/local/bin/{name}": {"data": text, "mode": "755"}
             for name, text in scripts.items()}
    files |= {"/opt/app/sum.py": SUM, "/opt/app/where.py": WHERE}
    env = {"PYTHONDONTWRITEBYTECODE": "1"}
    binds = [(PLACE, "/opt/frameworks", True)] if PLACE else []
    if PLACE:
        env["PYTHONPATH"] = "/opt/frameworks"
    job = apply(c, "deepspeed.yaml", files=files, binds=binds, extra_env=env,
                links={"/usr/local/bin/python": "/usr/bin/python3"}, uid=0,
                **options)
    check(job.wait_ready(60), "workers are not ready")
    equal(Launch(job, ["muster", "launch", "--", "true"]).wait(60).code, 0,
          "exit code of true")
    return job


def runs(job, line, *wanted):
    """The line as a user types it; four ranks, two on each worker."""
    done = job.launcher.exec(["sh", "-c", "cd /tmp && " + line], timeout=150)
    text = done.stdout + done.stderr
    equal(done.returncode, 0, line, text)
    for rank, worker in enumerate((BOTH[0], BOTH[0], BOTH[1], BOTH[1])):
        check(any(f"rank {rank} " in said and f"on {worker} [" in said
                  for said in done.stdout.splitlines()),
              f"no rank {rank} on {worker}: {line}", text)
    for part in wanted:
        contains(done.stdout, part)


def test_deepspeed_by_mpirun():
    """Before it calls mpirun DeepSpeed asks a worker for its name over ssh: a
    worker that allows nothing by option answers that."""
    needs("deepspeed", "torch")
    with cluster("fw-ds") as c:
        job = job_with(c)
        runs(job, f"deepspeed {HOSTFILE} --launcher openmpi /opt/app/sum.py "
             "--deepspeed 'a b'", "rank 3 of 4")
        runs(job, f"muster launch -- deepspeed {HOSTFILE} --launcher openmpi "
             "/opt/app/where.py")


def test_deepspeed_by_pdsh():
    needs("deepspeed", "torch")
    if not os.path.exists("/usr/bin/pdsh"):
        raise Skip("no pdsh here")
    with cluster("fw-pdsh") as c:
        runs(job_with(c, worker_command=ANY),
             f"deepspeed {HOSTFILE} /opt/app/sum.py --deepspeed", "rank 3 of 4")


def test_accelerate_by_mpirun():
    needs("accelerate", "torch")
    with cluster("fw-acc") as c:
        job = job_with(c)
        line = ("accelerate launch --cpu --mpirun_hostfile /etc/mpi/hostfile "
                f"{TWO} /opt/app/sum.py")
        runs(job, line, "rank 3 of 4")
        runs(job, "muster launch -- " + line, "rank 3 of 4")


def test_accelerate_with_deepspeed_by_pdsh():
    needs("accelerate", "deepspeed", "torch")
    with cluster("fw-accds") as c:
        runs(job_with(c, worker_command=ANY),
             "accelerate launch --use_deepspeed --deepspeed_multinode_launcher "
             "pdsh --deepspeed_hostfile /etc/mpi/hostfile --machine_rank 0 "
             f"{TWO} /opt/app/sum.py", "rank 3 of 4")


def test_horovodrun_by_mpirun():
    needs("horovod.runner.launch")
    with cluster("fw-hvd") as c:
        job = job_with(c)
        nic = "--network-interface eth0"
        runs(job, f"horovodrun --mpi -np 4 -H {WORKERS} {nic} "
             "python /opt/app/where.py")
        # The operator's hosts, without any in the line.
        runs(job, "muster launch -- horovodrun -np 4 python /opt/app/where.py")


def test_horovodrun_by_gloo():
    needs("horovod.runner.launch")
    with cluster("fw-gloo") as c:
        runs(job_with(c, worker_command=ANY),
             f"horovodrun --gloo -np 4 -H {WORKERS} --network-interface eth0 "
             "python /opt/app/where.py")


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
