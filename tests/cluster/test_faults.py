# SPDX-License-Identifier: Apache-2.0
"""Faults in the middle of a job that the image's own mpirun runs: the job
ends in time with the right worker named, and nothing stays anywhere."""
import sys

from faults import BOUNDS, GRACE, SILENCE, Bed, ended, one_after_the_other
from harness import (Launch, apply, check, cluster, contains, equal, launch,
                     main, nothing_left)


def test_faults_under_open_mpi():
    with cluster("faults") as c:
        job = apply(c, workers=4)
        one_after_the_other(Bed(job, ["--bootstrap", "mpirun", "--", "mpirun",
                                      "-n", "4"]))


def test_dead_workers_under_mpich():
    """Hydra itself would wait for ever: for a dead host, and after a rank
    that simply left."""
    with cluster("faults-mpich") as c:
        job = apply(c, "pi-mpich.yaml", workers=2)
        check(job.wait_ready(60), "workers are not ready")
        run = Launch(job, ["muster", "launch", *BOUNDS, "--", "mpirun.mpich",
                           "-n", "2", "sh", "-c", "echo is up; sleep 60"])
        run.until("is up", 60, count=2)
        job.workers[1].lose()
        ended(run, SILENCE + 3 + GRACE, 201, "pi-mpich-worker-1")
        nothing_left(job)
        job.workers[1].restart()
        for program_text, code in (("exit 9", 9), ("kill -9 $$", 137),
                                   ("kill -TERM $$", 143)):
            run = launch(job, *BOUNDS, "--", "mpirun.mpich", "-n", "2", "sh",
                         "-c", f"[ $PMI_RANK = 1 ] && {program_text};"
                         "sleep 60")
            equal(run.code, code, f"exit code of {program_text}", run.err)
            contains(run.err, "pi-mpich-worker-1", "stderr")
            nothing_left(job)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
