# SPDX-License-Identifier: Apache-2.0
"""mpi-operator's own end-to-end suite, unchanged, one case after the other.

Each case is a run of its own: the suite counts a case that was interrupted as
passed, and a status of a process cannot be mistaken. Cases of gang schedulers
need images of others and are not here.
"""
import os
import re
import subprocess
import time

import images as image_kinds
import programs

OPENMPI = "MPIJob with OpenMPI implementation "
# (short name, full name in the suite, the variable of the image it needs)
WHEN = "Implementation when running as "
CASES = [
    ("malformed command", OPENMPI + "when has malformed command should fail",
     "TEST_OPENMPI_IMAGE"),
    ("root", OPENMPI + "when running as root should succeed",
     "TEST_OPENMPI_IMAGE"),
    ("suspended", OPENMPI + "when running as root when suspended on creation"
     " should not create pods when suspended and succeed when resumed",
     "TEST_OPENMPI_IMAGE"),
    ("non-root", OPENMPI + "when running as non-root should succeed",
     "TEST_OPENMPI_IMAGE"),
    ("managed by another", OPENMPI + "when running as non-root should not be"
     " updated when managed externally, only created", "TEST_OPENMPI_IMAGE"),
    ("managed by the operator", OPENMPI + "when running as non-root should"
     " succeed when explicitly managed by mpi-operator",
     "TEST_OPENMPI_IMAGE"),
    ("cluster domain", "MPIJob with custom cluster-domain when running as root"
     " should succeed", "TEST_OPENMPI_IMAGE"),
    ("host network", OPENMPI + "when running as root when running with host"
     " network should succeed", "TEST_OPENMPI_IMAGE"),
    ("MPICH as root", f"MPIJob with MPICH {WHEN}root should succeed",
     "TEST_MPICH_IMAGE"),
    ("MPICH non-root", f"MPIJob with MPICH {WHEN}non-root should succeed",
     "TEST_MPICH_IMAGE"),
    ("Intel as root", f"MPIJob with Intel {WHEN}root should succeed",
     "TEST_INTELMPI_IMAGE"),
    ("Intel non-root", f"MPIJob with Intel {WHEN}non-root should succeed",
     "TEST_INTELMPI_IMAGE"),
]
# Which kind of image each variable names: with muster, with OpenSSH.
KINDS = {
    False: {"TEST_OPENMPI_IMAGE": "openmpi", "TEST_MPICH_IMAGE": "mpich",
            "TEST_INTELMPI_IMAGE": "intel"},
    True: {"TEST_OPENMPI_IMAGE": "openmpi-ssh",
           "TEST_MPICH_IMAGE": "mpich-ssh",
           "TEST_INTELMPI_IMAGE": "intel-ssh"}}
LIMIT = 300  # of one case; the suite itself gives up after 200 s


def images_of(with_openssh):
    """Variable: name of an image."""
    return {variable: image_kinds.name(kind)
            for variable, kind in KINDS[with_openssh].items()}


def run(enter, images, names, out, counts):
    """Runs what there are images for, and what `names` choose, on the node
    that `enter` leads to; adds to passed, failed, skipped."""
    os.makedirs(out, exist_ok=True)
    for name, full, variable in CASES:
        if names and not any(n in name for n in names):
            continue
        if variable not in images:
            counts[2] += 1
            print(f"skip  {name}: no image of that MPI", flush=True)
            continue
        start = time.monotonic()
        log = os.path.join(out, name.replace(" ", "-") + ".txt")
        why = one(enter, full, images, log)
        if why and lost_a_race(log):
            print(f"again {name}: the operator wrote to the job at the same "
                  "time as the suite", flush=True)
            why = one(enter, full, images, log)
        counts[1 if why else 0] += 1
        print(f"{'FAIL' if why else 'ok  '}  {name}{why and ': ' + why}, "
              f"{time.monotonic() - start:.1f} s", flush=True)


def lost_a_race(log):
    """The suite resumes a job by writing back what it read; that fails if the
    operator has written in between, whatever the images hold."""
    with open(log) as f:
        return "the object has been modified" in f.read()


def one(enter, full, images, log):
    """Why the case failed, or ""."""
    settings = {**images, "USE_EXISTING_CLUSTER": "true",
                "USE_EXISTING_OPERATOR": "true"}
    with open(log, "w+") as f:
        try:
            status = subprocess.run(
                [*enter, *(f"{k}={v}" for k, v in settings.items()),
                 programs.path("e2e.test"), "-ginkgo.v", "-ginkgo.noColor",
                 f"-ginkgo.focus={full}$"],
                stdout=f, stderr=subprocess.STDOUT, timeout=LIMIT,
                check=False).returncode
        except subprocess.TimeoutExpired:
            return f"not over after {LIMIT} s"
        f.seek(0)
        text = f.read()
    if not re.search(r"^Ran 1 of \d+ Specs", text, re.M):
        return f"the suite did not run this one case; see {log}"
    return "" if status == 0 else f"exit status {status}; see {log}"
