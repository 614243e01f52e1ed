# SPDX-License-Identifier: Apache-2.0
"""The way from an unchanged MPIJob to tagged lines and an exit code."""
import re
import sys

from harness import (apply, check, cluster, contains, equal, finish, program,
                     main)


def lines_by_rank(text):
    found = {}
    for line in text.splitlines():
        match = re.match(r"\[(\d+)\|([^\]]+)\] (.*)", line)
        if match:
            found.setdefault(int(match[1]), []).append((match[2], match[3]))
    return found


def test_true_on_every_worker():
    with cluster("skeleton") as c:
        job = apply(c, workers=4, launcher_command=[
            "muster", "launch", "-n", "4", "--bootstrap", "pmix",
            "--log-format", "text", "--", "sh", "-c",
            "echo here is $RANK of $WORLD_SIZE; exec true"])
        status, out, err = finish(job)
        equal(status.code, 0, "exit code", out, err)
        ranks = lines_by_rank(out)
        equal(sorted(ranks), [0, 1, 2, 3], "ranks", out, err)
        for rank, lines in ranks.items():
            equal(lines[0][1], f"here is {rank} of 4", "line", out)
        equal(len({lines[0][0] for lines in ranks.values()}), 4,
              "hosts with a rank", out)


def test_first_failing_ranks_code():
    with cluster("code") as c:
        job = apply(c, workers=4, launcher_command=[
            "muster", "launch", "-n", "4", "--bootstrap", "pmix", "--", "sh",
            "-c", "if [ $RANK = 2 ]; then exit 37; fi; sleep 60"])
        status, out, err = finish(job)
        equal(status.code, 37, "exit code", out, err)
        contains(err, "ank 2", "stderr")
        contains(job.launcher.termination_log(), "ank 2", "termination log")


def test_unchanged_mpijob_with_open_mpi():
    hello = program("hello")
    with cluster("openmpi") as c:
        job = apply(c, workers=4, launcher_command=["mpirun", "-n", "4", hello])
        status, out, err = finish(job)
        equal(status.code, 0, "exit code", out, err)
        ranks = lines_by_rank(out)
        equal(sorted(ranks), [0, 1, 2, 3], "ranks", out, err)
        for rank, lines in ranks.items():
            check(lines[0][1].startswith(f"rank {rank} of 4 on"), "line", out)
            check(lines[0][1].endswith("sum of ranks 6"), "sum", out)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
