#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MPIJobs that kubeflow/mpi-operator starts with muster's images."""
import os
import sys

import kube
from kube import IMAGE, MpiJob, check, mpijob, namespace, terminated


def pi(name, manifest):
    with namespace(name) as ns:
        job = MpiJob(ns, "pi", manifest)
        end = job.finish()
        launchers = job.launchers()
        log = "\n".join(map(job.log, launchers))
        check(end == "Succeeded", f"the job {end}", log)
        check("pi is approximately 3.14" in log, "no pi in the log", log)
        check("Workers: 2" in log, "not two ranks in the log", log)
        check([terminated(p)["exitCode"] for p in launchers] == [0],
              "the launcher was started more than once", log)


def test_the_operators_pi():
    """Its own example: unchanged on our node, whose image has its name. Only
    its three whole processors are less where there are fewer."""
    with open(os.environ["MUSTER_OPERATOR_PI"]) as f:
        manifest = f.read()
    if kube.processors() < 4:
        manifest = manifest.replace("cpu: 1\n", "cpu: 600m\n")
    if not kube.OWN_NODE:
        manifest = manifest.replace("mpioperator/mpi-pi:openmpi", IMAGE)
    pi("operators-pi", manifest)


def test_a_crash_is_told():
    """Rank 1 dies of SIGSEGV: the log and the termination message say so."""
    with namespace("crash") as ns:
        job = MpiJob(ns, "crash", mpijob(
            "crash", ["mpirun", "-n", "2", "/home/mpiuser/hello", "1"]))
        end = job.finish()
        launchers = job.launchers()
        check(len(launchers) == 1, f"{len(launchers)} launchers")
        log, state = job.log(launchers[0]), terminated(launchers[0])
        check(end == "Failed", f"the job {end}", log)
        message = state.get("message", "")
        for place, text in (("log", log), ("termination message", message)):
            check("rank 1" in text, f"no rank 1 in the {place}", text)
            check("SIGSEGV" in text or "signal 11" in text
                  or "segmentation fault" in text.lower(),
                  f"no segmentation fault in the {place}", text)
            check("crash-worker-1" in text, f"no worker in the {place}", text)
        check(state["exitCode"] != 0, f"exit code {state['exitCode']}", log)


if __name__ == "__main__":
    kube.main(sys.modules[__name__])
