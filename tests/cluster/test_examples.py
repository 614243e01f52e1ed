# SPDX-License-Identifier: Apache-2.0
"""Every manifest of examples/ applied to pods and run to its end, GPUs and RDMA aside: for those a small program stands
in for the framework and is named as such. Images are this machine's root (or Debian 13's) with muster in it."""
import os
import subprocess
import sys

from harness import (EXAMPLES, HERE, NCCL_IN_IMAGE, PREFIX, apply, check, cluster, contains,
                     equal, finish, main, program, trixie)
from podnet import Manifest, load_manifest

PYTHON = {"/usr/local/bin/python": "/usr/bin/python3"}


def script(name):
    with open(os.path.join(HERE, "programs", name), encoding="utf-8") as f:
        return {"data": f.read(), "mode": "755"}


def done(job, code=0, timeout=90):
    status, out, err = finish(job, timeout)
    equal(status.code, code, "exit code", out, err, job.workers and
          job.workers[0].stderr())
    return out, err


def run_unchanged(c, manifest, **options):
    """As kubectl apply would; the command is the manifest's own, the user that
    of the images where the manifest names none, and nobody sets an fsGroup."""
    with open(os.path.join(EXAMPLES, manifest), encoding="utf-8") as text:
        if "runAsUser" not in text.read():
            options = {"uid": 1000, "gid": 0, **options}
    job = apply(c, manifest, launcher_command=None, **options)
    return (job, *done(job))


def pi(name, manifest, compiler, **options):
    path = program("pi", compiler, root=options.get("root"))
    with cluster(name) as c:
        _, out, _ = run_unchanged(
            c, manifest, binds=[(path, "/home/mpiuser/pi", True)], **options)
        contains(out, "pi of 2 ranks is 3.1")


def test_pi_open_mpi_4():
    pi("ex-ompi4", "pi-openmpi.yaml", "mpicc.openmpi")


def test_pi_open_mpi_5():
    pi("ex-ompi5", "pi-openmpi.yaml", "mpicc.openmpi", root=trixie())


def test_pi_mpich_4_0():
    pi("ex-mpich40", "pi-mpich.yaml", "mpicc.mpich",
       links={"/usr/local/bin/mpirun": "/usr/bin/mpirun.mpich"},
       extra_env={"SKIP_FINALIZE": "1"})


def test_pi_mpich_4_2():
    root = trixie()
    pi("ex-mpich42", "pi-mpich.yaml", "mpicc.mpich", root=root,
       links={"/usr/local/bin/mpirun": "/usr/bin/mpirun.mpich"})


def test_pi_intel_with_mpich_in_place_of_intel_mpi():
    root = trixie()
    pi("ex-intel", "pi-intel.yaml", "mpicc.mpich", root=root,
       links={"/usr/local/bin/mpirun": "/usr/bin/mpirun.mpich"})


def test_default_worker_command():
    with cluster("ex-default") as c:
        _, out, _ = run_unchanged(c, "default-worker-command.yaml", uid=0)
        for worker in ("hello-worker-0", "hello-worker-1"):
            contains(out, worker)


def test_restricted_openshift():
    with cluster("ex-restricted") as c:
        job, out, _ = run_unchanged(c, "openshift-restricted.yaml",
                                    uid=1000660000)
        for worker in range(4):
            contains(out, f"restricted-worker-{worker}")
        caps = job.workers[0].exec(
            ["grep", "-E", "CapBnd|NoNewPrivs", "/proc/self/status"]).stdout
        equal(caps.split(), ["CapBnd:", "0" * 16, "NoNewPrivs:", "1"],
              "a restricted pod")


def test_launcher_as_worker():
    path = program("pi")
    with cluster("ex-both") as c:
        _, out, _ = run_unchanged(c, "launcher-as-worker.yaml",
                                  binds=[(path, "/home/mpiuser/pi", True)])
        contains(out, "pi of 6 ranks is 3.1")


def test_trainjob():
    with cluster("ex-train") as c:
        _, out, _ = run_unchanged(c, "trainjob-deepspeed.yaml")
        for rank in range(6):
            contains(out, f"rank {rank} of 6")


def test_torch_ddp_with_a_stand_in_for_torch():
    with cluster("ex-ddp") as c:
        job, out, _ = run_unchanged(
            c, "torch-ddp.yaml", workers=2, links=PYTHON,
            files={"/opt/app/train.py": script("rendezvous.py")})
        for rank in range(16):
            contains(out, f"rank {rank} of 16, local {rank % 8}, met all")


def test_framework_env():
    with cluster("ex-env") as c:
        _, out, _ = run_unchanged(c, "framework-env.yaml")
        for rank in range(2):
            contains(out, f"process {rank} of 2")


def test_rl_profile_sets_what_it_promises():
    show = ("import os\nprint('IB', os.environ.get('NCCL_IB_DISABLE'),"
            " 'P2P', os.environ.get('NCCL_P2P_DISABLE'))\n")
    with cluster("ex-rl") as c:
        _, out, err = run_unchanged(
            c, "rl-profile.yaml", workers=2, links=PYTHON,
            files={**NCCL_IN_IMAGE, "/opt/app/grpo.py": show})
        equal(out.count("IB 1 P2P 1"), 16, "ranks with the profile", out, err)


def test_deepspeed_line_with_a_stand_in():
    with cluster("ex-ds") as c:
        _, out, _ = run_unchanged(
            c, "deepspeed.yaml", files={
                "/usr/local/bin/deepspeed": script("deepspeed_stand_in.py"),
                "/opt/app/train.py": script("rendezvous.py")})
        for rank in range(4):
            contains(out, f"rank {rank} of 4")


def test_horovod_line_with_a_stand_in_for_horovod():
    with cluster("ex-hvd") as c:
        _, out, _ = run_unchanged(
            c, "horovod.yaml", links=PYTHON, files={
                "/opt/app/train.py": script("rendezvous.py")})
        for rank in range(4):
            contains(out, f"rank {rank} of 4")


def test_elastic_horovod_with_a_stand_in():
    show = ("import os, socket\nprint('rank', os.environ['HOROVOD_RANK'],"
            " 'on', socket.gethostname())\n")
    with cluster("ex-elastic") as c:
        job = apply(c, "horovod-elastic.yaml", launcher_command=None,
                    links=PYTHON, files={
                        "/usr/local/bin/horovodrun":
                            script("horovodrun_stand_in.py"),
                        "/opt/app/train.py": show})
        out, _ = done(job)
        for rank in range(2):
            contains(out, f"rank {rank} on elastic-worker-{rank}")


def test_nccl_tests_with_an_mpi_program_in_its_place():
    path = program("pi")
    with cluster("ex-nccl") as c:
        _, out, _ = run_unchanged(
            c, "nccl-tests.yaml", workers=2, binds=[
                (path, "/opt/nccl-tests/all_reduce_perf_mpi", True)],
            extra_env={"OMPI_MCA_mpi_yield_when_idle": "1"})
        contains(out, "pi of 16 ranks is 3.1")


def test_rdma_profile_refuses_to_fall_back_to_tcp():
    """There is no RDMA here: the job must stop and say so."""
    with cluster("ex-rdma") as c:
        job = apply(c, "rdma-sriov.yaml", launcher_command=None, uid=0)
        _, err = done(job, code=101)
        contains(err, "RDMA", "stderr")


def with_secret(manifest):
    """The manifest and what `muster keygen -o yaml` makes for it."""
    made = subprocess.run(
        [f"{PREFIX}/bin/muster", "keygen", "-o", "yaml", "--name", "mpi-key"],
        capture_output=True, text=True, check=True, timeout=30)
    path = os.path.join("/tmp", f"muster-secret-{os.getpid()}.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(made.stdout)
    try:
        return Manifest(load_manifest(path).documents + load_manifest(
            os.path.join(EXAMPLES, manifest)).documents)
    finally:
        os.unlink(path)


def test_jobset_without_an_operator():
    hello = program("hello")
    with cluster("ex-jobset") as c:
        job = c.apply(with_secret("jobset.yaml"), prefix=PREFIX,
                      binds=[(hello, "/opt/app/hello", True)],
                      extra_env={"OMPI_MCA_mpi_yield_when_idle": "1"})
        out, _ = done(job)
        contains(out, "rank 7 of 8 on mpi-node-0-3")


def test_leader_worker_set_without_an_operator():
    serve = "import os\nprint('serving as', os.environ['RANK'])\n"
    with cluster("ex-lws") as c:
        job = c.apply(with_secret("leaderworkerset.yaml"), prefix=PREFIX,
                      links=PYTHON, files={"/serve.py": serve})
        out, _ = done(job)
        check(out.count("serving as") == 24, "24 ranks", out)


def test_plain_job_with_retry_rules():
    with cluster("ex-job") as c:
        job = c.apply(os.path.join(EXAMPLES, "retry-rules.yaml"),
                      prefix=PREFIX)
        out, _ = done(job)
        equal(out.count('"message":"retry-rules"'), 2, "lines", out)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
