#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the rules of examples/jobset.yaml make of muster's exit codes."""
import os
import subprocess
import sys

import kube
from kube import IMAGE, Skip, check, namespace, until

EXAMPLE_IMAGE = "registry.example/muster-openmpi:latest"
MUSTER = os.path.join(os.environ.get("MUSTER_PREFIX", ""), "bin", "muster")


def example(program, restarts=3):
    """Changed are the image, which has no user of its own, the program, and
    the size: two workers fit on any node."""
    with open(os.path.join(kube.ROOT, "examples", "jobset.yaml")) as f:
        text = f.read()
    for old, new in (
            (EXAMPLE_IMAGE, IMAGE), ("/opt/app/hello", program),
            ("runAsNonRoot: true", "runAsNonRoot: true, runAsUser: 1000"),
            ("completions: 4", "completions: 2"),
            ("parallelism: 4", "parallelism: 2"),
            (",mpi-node-0-2.mpi:2,mpi-node-0-3.mpi:2", ""),
            ("maxRestarts: 3", f"maxRestarts: {restarts}")):
        check(old in text, f"the example has no {old}")
        text = text.replace(old, new)
    return text


def run(name, program, restarts=3):
    """The type of the condition that it ends with, the number of restarts,
    and the log of the last launcher."""
    known = kube.told("api-resources", "-o", "name").split()
    if "jobsets.jobset.x-k8s.io" not in known:
        raise Skip("the cluster has no JobSet")
    if not os.path.exists(MUSTER):
        raise Skip("MUSTER_PREFIX names no muster that makes a key")
    with namespace(name) as ns:
        ns.create(subprocess.run(
            [MUSTER, "keygen", "-o", "yaml", "--name", "mpi-key"],
            capture_output=True, text=True, check=True).stdout)
        ns.create(example(program, restarts))
        end = until(lambda: next(
            (end for end in ("Completed", "Failed")
             if end in ns.conditions("jobset", "mpi")), None),
            "end of the JobSet")
        pods = ns.pods("jobset.sigs.k8s.io/jobset-name=mpi,"
                       "jobset.sigs.k8s.io/replicatedjob-name=launcher")
        log = "\n".join(ns.told("logs", pod["metadata"]["name"])
                        for pod in pods)
        status = ns.get("jobset", "mpi")["status"]
        return end, status.get("restarts", 0), log


def test_no_restart_where_none_helps():
    end, restarts, log = run("jobset-permanent", "/no/such/program")
    check((end, restarts) == ("Failed", 0),
          f"the JobSet is {end} after {restarts} restarts", log)
    check("/no/such/program" in log, "the program is not named", log)


def test_a_restart_where_it_may_help():
    end, restarts, log = run("jobset-restart", "/bin/false", 1)
    check((end, restarts) == ("Failed", 1),
          f"the JobSet is {end} after {restarts} restarts", log)


if __name__ == "__main__":
    kube.main(sys.modules[__name__])
