#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pods whose environment the namespace's services fill: 300, or as many as
`run.py --services N` says."""
import os
import re
import sys
import time

import kube
from kube import MpiJob, check, mpijob, namespace

HELLO = "/home/mpiuser/hello"
MPIRUN = ["mpirun", "-n", "2", HELLO]
NATIVE = ["muster", "launch", "-n", "2", "--bootstrap", "pmix", "--", HELLO]


COUNT = int(os.environ.get("MUSTER_SERVICES") or 300)
AT_ONCE = 500  # as many as one kubectl creates in its time


def test_a_namespace_of_many_services():
    """Every pod gets seven variables for each service that was there before
    it that has an address: 300 are 80 KB of environment."""
    with namespace("services") as ns:
        for first in range(0, COUNT, AT_ONCE):
            ns.create({"apiVersion": "v1", "kind": "List", "items": [{
                "apiVersion": "v1", "kind": "Service",
                "metadata": {"name": f"service-{i}"},
                "spec": {"ports": [{"port": 80}], "selector": {"no": "pod"}}}
                for i in range(first, min(first + AT_ONCE, COUNT))]})
        for name, command in (("native", NATIVE), ("mpirun", MPIRUN)):
            start = time.monotonic()
            job = MpiJob(ns, name, mpijob(name, command))
            # The cluster names its new pods once it is through with those.
            end = job.finish(kube.PATIENCE * (2 + COUNT // 300))
            log = job.log(job.launcher())
            check(end == "Succeeded", f"the job {end}", log)
            check("rank 1 of 2 on" in log, "no rank 1", log)
            print(f"      {name}: {time.monotonic() - start:.0f} s, "
                  + re.search(r"ended well after [^)]*\)", log)[0],
                  flush=True)


if __name__ == "__main__":
    kube.main(sys.modules[__name__])
