#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pods on the network of one node (hostNetwork: true): launcher and worker
have one host name and one address. An MPI takes such a worker for the
launcher's own host; its ranks belong into the worker's pod all the same."""
import os
import sys

from harness import (apply, check, cluster, equal, launch, main, nothing_left,
                     program)
from podnet import podspec


def on_the_node(specs):
    for spec in specs:
        podspec.on_the_node(spec)


def places(run, job):
    """By rank: the pod whose files it saw."""
    pods = {os.readlink(f"/proc/{pod.pid}/ns/mnt"): pod.name.split(".")[0]
            for pod in [job.launcher, *job.workers]}
    return {rank: pods.get(lines[-1], lines[-1])
            for rank, lines in run.lines().items()}


PLACE = ["readlink", "/proc/self/ns/mnt"]


def launched(job, *words):
    run = launch(job, *words)
    equal(run.code, 0, "exit code", run.out, run.err)
    return run


def test_a_worker_on_the_launchers_node():
    """As mpi-operator's own end-to-end case has it: one worker."""
    with cluster("hostnet") as c:
        job = apply(c, workers=1, edit=on_the_node)
        lines = [["--slots-per-node", "2", "--bootstrap", "pmix", "--"],
                 ["--slots-per-node", "2", "--", "mpirun", "-n", "2"],
                 ["--slots-per-node", "2", "--", "mpiexec.hydra", "-n", "2"]]
        for words in lines:
            run = launched(job, *words, *PLACE)
            equal(places(run, job), {0: "pi-worker-0", 1: "pi-worker-0"},
                  f"pods of the ranks of {words}", run.err)
            check("both have the address" not in run.err, "a warning", run.err)
        for words in lines[:2]:
            run = launched(job, *words, program("hello"))
            equal(run.out.count("sum of ranks 1"), 2, "sums", run.out)
        nothing_left(job)


def test_a_launcher_that_is_a_worker():
    """Its own name leads to the node, and so does the worker's."""
    with cluster("hostnet-as") as c:
        job = apply(c, "launcher-as-worker.yaml", workers=1, edit=on_the_node)
        launcher = job.launcher.name
        wanted = {0: launcher, 1: launcher, 2: "both-worker-0",
                  3: "both-worker-0"}
        for words in (["--bootstrap", "pmix", "-n", "4", "--"],
                      ["--", "mpirun", "-n", "4"],
                      ["--", "mpiexec.hydra", "-n", "4"]):
            run = launched(job, *words, *PLACE)
            equal(places(run, job), wanted, f"pods of the ranks of {words}",
                  run.err)
        nothing_left(job)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
