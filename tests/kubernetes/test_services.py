#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pods whose environment the namespace's services fill."""
import sys

import kube
from kube import MpiJob, check, mpijob, namespace

HELLO = "/home/mpiuser/hello"
MPIRUN = ["mpirun", "-n", "2", HELLO]
NATIVE = ["muster", "launch", "-n", "2", "--bootstrap", "pmix", "--", HELLO]


def test_a_namespace_of_many_services():
    """Every pod gets seven variables for each service that was there before
    it that has an address: 300 are 80 KB of environment."""
    with namespace("services") as ns:
        ns.create({"apiVersion": "v1", "kind": "List", "items": [{
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": f"service-{i}"},
            "spec": {"ports": [{"port": 80}], "selector": {"no": "pod"}}}
            for i in range(300)]})
        for name, command in (("native", NATIVE), ("mpirun", MPIRUN)):
            job = MpiJob(ns, name, mpijob(name, command))
            # The cluster names its new pods once it is through with those.
            end = job.finish(3 * kube.PATIENCE)
            log = job.log(job.launcher())
            check(end == "Succeeded", f"the job {end}", log)
            check("rank 1 of 2 on" in log, "no rank 1", log)


if __name__ == "__main__":
    kube.main(sys.modules[__name__])
