# SPDX-License-Identifier: Apache-2.0
"""Ranks that the agents start themselves: they find each other through our
PMIx and PMI-1 servers, and whatever goes wrong ends the job with its name."""
import re
import subprocess
import sys

from harness import (PATIENCE, PREFIX, apply, check, cluster, contains, equal,
                     finish, main, nothing_left, program, trixie)

def launch(c, line, workers=4, **options):
    job = apply(c, workers=workers, launcher_command=[
        "muster", "launch", "-n", str(workers), "--bootstrap", "pmix",
        "--log-format", "text", *line], **options)
    return (job, *finish(job))


def all_ranks_met(out, err, size):
    seen = re.findall(r"^\[(\d+)\|.*rank (\d+) of (\d+), sum (\d+)$", out,
                      re.MULTILINE)
    wanted = [(str(r), str(r), str(size), str(size * (size - 1) // 2))
              for r in range(size)]
    equal(sorted(seen), sorted(wanted), "ranks", out, err)


def runs(name, path, environment=(), **options):
    with cluster(name) as c:
        job, status, out, err = launch(
            c, ["--", "env", *environment, path], **options)
        equal(status.code, 0, "exit code", out, err)
        all_ranks_met(out, err, 4)
        contains(err, "MPI initialisation completed: all 4 ranks have met")
        nothing_left(job, files=False)


def test_open_mpi_4():
    runs("native-ompi4", program("native"))


def test_the_start_of_mpi_is_told_of_one_node_too():
    run = subprocess.run(
        [PREFIX + "/bin/muster", "launch", "--local", "1x2", "--log-format",
         "text", "--", program("native")], capture_output=True, text=True,
        timeout=PATIENCE, check=False)
    equal(run.returncode, 0, "exit code", run.stdout, run.stderr)
    contains(run.stderr, "MPI initialisation: all 2 ranks have reached it")


def test_mpich_4_0():
    runs("native-mpich4", program("native", "mpicc.mpich"),
         ["SKIP_FINALIZE=1"])


def test_mpich_by_pmi_port():
    """Without PMI_FD the program is to come by PMI_PORT."""
    runs("native-port", program("native", "mpicc.mpich"),
         ["-u", "PMI_FD", "SKIP_FINALIZE=1"])


def test_open_mpi_5_under_our_older_pmix():
    root = trixie()
    runs("native-ompi5", program("native", "mpicc.openmpi", root=root),
         root=root)


def test_mpich_4_2():
    root = trixie()
    runs("native-mpich42", program("native", "mpicc.mpich", root=root),
         root=root)


def fails(name, mode, code, words, compiler="mpicc.openmpi", options=()):
    path = program("native", compiler)
    with cluster(name) as c:
        job, status, out, err = launch(c, [*options, "--", path, mode, "2"])
        check(status.code == code if code else status.code != 0,
              f"exit code {status.code} instead of {code or 'a failure'}",
              out, err)
        contains(err, words, "stderr")
        nothing_left(job, files=False)


def test_abort_keeps_its_code():
    fails("native-abort", "abort", 7, "rank 2")


def test_abort_keeps_its_code_with_mpich():
    fails("native-abort1", "abort", 7, "rank 2", "mpicc.mpich")


def test_a_killed_rank_ends_the_job():
    fails("native-crash", "crash", 137, "ank 2")


def test_exit_without_finalize_is_an_error():
    fails("native-leave", "leave", 102, "without MPI_Finalize")


def test_exit_without_init_while_others_wait():
    fails("native-absent", "absent", 102, "while other ranks wait for it")


def test_exit_without_init_while_others_wait_with_mpich():
    fails("native-absent1", "absent", 102, "while other ranks wait for it",
          "mpicc.mpich")


def test_a_rank_missing_from_mpi_init_is_named():
    fails("native-hang", "hang", 203, "rank 2", options=["--start-timeout", "4s"])


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
