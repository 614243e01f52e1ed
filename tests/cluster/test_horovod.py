# SPDX-License-Identifier: Apache-2.0
"""Horovod's own collectives, training a small model on torch: by native start,
by the operators' mpirun line and by horovodrun over the drop-ins; and one rank
that raises in the middle.

Horovod comes from MUSTER_FRAMEWORKS, a directory for PYTHONPATH, or from the
system's Python; without its compiled half all of it is skipped.
"""
import functools
import os
import re
import subprocess
import sys

from harness import (HERE, Skip, apply, check, cluster, contains, equal,
                     expect, finish, launch, main, nothing_left)

PLACE = os.environ.get("MUSTER_FRAMEWORKS", "")
ANY = ["muster", "worker", "--allow-any-command"]
BOTH = ("horovod-worker-0", "horovod-worker-1")
HOSTS = ",".join(f"{worker}.horovod:2" for worker in BOTH)
TRAIN = "/opt/app/train.py"
HOROVODRUN = """#!/usr/bin/python3
from horovod.runner.launch import run_commandline
if __name__ == "__main__":
    run_commandline()
"""


@functools.cache
def has_horovod():
    found = subprocess.run(
        ["/usr/bin/python3", "-c", "import horovod.torch as hvd; "
         "assert hvd.mpi_built() and hvd.gloo_built()"],
        env={**os.environ, "PYTHONPATH": PLACE}, capture_output=True,
        timeout=120, check=False)
    return found.returncode == 0


def pods(name):
    if not has_horovod():
        raise Skip("no horovod.torch in /usr/bin/python3 or MUSTER_FRAMEWORKS")
    return cluster(name)


def job_with(c, manifest="horovod.yaml", **options):
    with open(os.path.join(HERE, "programs", "horovod_train.py"),
              encoding="utf-8") as file:
        files = {TRAIN: file.read(),
                 "/usr/local/bin/horovodrun": {"data": HOROVODRUN,
                                               "mode": "755"}}
    # horovodrun keeps a cache in its home.
    env = {"PYTHONDONTWRITEBYTECODE": "1", "HOME": "/tmp",
           "OMPI_MCA_mpi_yield_when_idle": "1"}  # the pods share two cores
    binds = [(PLACE, "/opt/frameworks", True)] if PLACE else []
    if PLACE:
        env["PYTHONPATH"] = "/opt/frameworks"
    return apply(c, manifest, files=files, binds=binds, extra_env=env,
                 links={"/usr/local/bin/python": "/usr/bin/python3"}, **options)


def ready(c, **options):
    job = job_with(c, **options)
    check(job.wait_ready(60), "workers are not ready")
    expect(launch(job, "--", "true"), 0)
    return job


def trained(out, by, workers=BOTH, slots=2):
    """Ranks where they belong, all with the same last loss."""
    seen = re.findall(r"rank (\d+) of (\d+) on (\S+) local (\d+) of (\d+) "
                      r"mpi (\w+) gloo (\w+) loss (\S+)", out)
    size = len(workers) * slots
    mpi = (str(by == "mpi"), str(by == "gloo"))
    wanted = [(str(rank), str(size), workers[rank // slots],
               str(rank % slots), str(slots), *mpi) for rank in range(size)]
    equal(sorted(s[:-1] for s in seen), wanted, "ranks", out)
    equal(len({s[-1] for s in seen}), 1, "different losses", out)


def test_native_start():
    with pods("hvd-native") as c:
        job = ready(c)
        run = expect(launch(job, "--", "python", TRAIN), 0)
        equal(run.report["bootstrap"], "pmix", "bootstrap")
        trained(run.out, "mpi")
        nothing_left(job)


def test_the_example_as_it_is():
    with pods("hvd-example") as c:
        status, out, err = finish(job_with(c, launcher_command=None))
        equal(status.code, 0, "exit code", out, err)
        trained(out, "mpi")


def horovodrun(job, words, code=0):
    done = job.launcher.exec(["sh", "-c", f"cd /tmp && {words}"], timeout=150)
    equal(done.returncode, code, words, done.stdout, done.stderr)
    return done.stdout, done.stderr


def test_horovodrun_by_mpirun():
    with pods("hvd-run") as c:
        job = ready(c)
        for words in (
                f"horovodrun --mpi -np 4 -H {HOSTS} --network-interface eth0",
                "muster launch -- horovodrun -np 4"):
            trained(horovodrun(job, f"{words} python {TRAIN}")[0], "mpi")


def test_horovodrun_that_looks_for_interfaces():
    """Without an interface in the line it starts Python on the workers."""
    with pods("hvd-look") as c:
        job = ready(c, worker_command=ANY)
        out, _ = horovodrun(
            job, f"horovodrun --mpi -np 4 -H {HOSTS} python {TRAIN}")
        trained(out, "mpi")


def test_horovodrun_by_gloo():
    with pods("hvd-gloo") as c:
        job = ready(c, worker_command=ANY)
        out, _ = horovodrun(
            job, f"horovodrun --gloo -np 4 -H {HOSTS} --network-interface "
            f"eth0 python {TRAIN}")
        trained(out, "gloo")


def test_elastic_example_as_it_is():
    with pods("hvd-elastic") as c:
        status, out, err = finish(
            job_with(c, "horovod-elastic.yaml", launcher_command=None))
        equal(status.code, 0, "exit code", out, err)
        trained(out, "gloo", ("elastic-worker-0", "elastic-worker-1"), 1)


def names_the_rank_that_raised(run):
    """The others fail a moment later, for its sake: their tracebacks are as
    loud."""
    expect(run, 1)
    verdict = run.verdict()
    equal(verdict.get("rank"), 2, "rank", run.out, run.err)
    check(verdict["host"].startswith(BOTH[1] + "."), "host", verdict)
    contains(run.err, "ValueError: bad batch in step 7", "stderr")


def test_a_rank_raises_under_native_start():
    with pods("hvd-raise") as c:
        job = ready(c)
        names_the_rank_that_raised(
            launch(job, "--", "python", TRAIN, "fail", "2"))
        nothing_left(job)


def test_a_rank_raises_under_mpirun():
    with pods("hvd-raise1") as c:
        job = ready(c)
        names_the_rank_that_raised(
            launch(job, "--", "mpirun", "-np", "4", "python", TRAIN, "fail",
                   "2"))
        nothing_left(job)


def test_a_rank_raises_under_horovodrun():
    with pods("hvd-raise2") as c:
        job = ready(c)
        _, err = horovodrun(
            job, f"horovodrun --mpi -np 4 -H {HOSTS} --network-interface eth0 "
            f"python {TRAIN} fail 2", code=1)
        contains(err, "ValueError: bad batch in step 7", "stderr")


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
