# SPDX-License-Identifier: Apache-2.0
"""Pods whose kernel has no system call that came after Linux 4.18 (RHEL 8,
OpenShift up to 4.12): whole jobs end as elsewhere, and nobody inherits what
its parent happened to hold."""
import os
import re
import sys

from harness import (Launch, apply, check, cluster, contains, equal, expect,
                     launch, listening, main, nothing_left, program,
                     sentences_only, until)

HELD = 5000  # far above what programs close one by one
HOLDING = ["/usr/bin/python3", "-c", f"""
import os, resource, sys
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
os.dup2(os.open("/etc/passwd", os.O_RDONLY), {HELD})
os.execvp(sys.argv[1], sys.argv[1:])
"""]
IS_OLD = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print(libc.syscall(436, 900, 900, 0), os.strerror(ctypes.get_errno()))
"""


def old_pods(c, **options):
    job = apply(c, workers=2, old_kernel=True, **options)
    listening(job.workers)
    return job


def ends_well(run):
    expect(run, 0)
    sentences_only(run)
    check("not implemented" not in run.err, "an errno in the log", run.err)


def test_pods_are_as_they_should_be():
    with cluster("old-bed") as c:
        job = old_pods(c)
        asked = job.launcher.exec(["/usr/bin/python3", "-c", IS_OLD])
        equal(asked.stdout, "-1 Function not implemented\n", "close_range")
        status = job.workers[0].exec(["cat", "/proc/1/status"]).stdout
        equal(re.search(r"Seccomp:\t(\d)", status)[1], "2", "worker's pid 1")


def test_native_jobs():
    with cluster("old-native") as c:
        job = old_pods(c)
        for compiler in ("mpicc.openmpi", "mpicc.mpich"):
            path = program("native", compiler)
            run = launch(job, "-n", "2", "--bootstrap", "pmix", "--", path)
            ends_well(run)
            met = re.findall(r"rank \d of 2, sum 1$", run.out, re.MULTILINE)
            equal(len(met), 2, "ranks that met", run.out)
            nothing_left(job, files=False)


def test_mpirun_and_restricted_pods():
    with cluster("old-mpirun") as c:
        job = apply(c, "openshift-restricted.yaml", workers=2,
                    old_kernel=True)
        run = launch(job, "-n", "2", "--bootstrap", "mpirun", "--",
                     program("hello"))
        expect(run, 0)
        sentences_only(run)
        equal(run.out.count("sum of ranks 1"), 2, "sums", run.out)
        nothing_left(job)


def test_ssh_and_questions():
    with cluster("old-ssh") as c:
        job = old_pods(c)
        worker = job.workers[0].hostname
        host = worker + ".pi"
        asked = job.launcher.exec(["muster", "ssh", host, "hostname"])
        equal((asked.returncode, asked.stdout), (0, worker + "\n"), "ssh",
              asked.stderr)
        refused = job.launcher.exec(["muster", "ssh", host,
                                     "cat /etc/hostname"])
        equal((refused.returncode, refused.stdout), (255, ""), "refused",
              refused.stderr)
        doctor = job.launcher.exec(["muster", "doctor", "--job"])
        check("not implemented" not in doctor.stdout + doctor.stderr,
              "an errno in doctor", doctor.stdout, doctor.stderr)
        contains(doctor.stdout, worker, "doctor")


def descriptors(pid):
    return {int(fd) for fd in os.listdir(f"/proc/{pid}/fd")}


def connection_process(worker):
    for pid in worker.pids():
        try:
            with open(f"/proc/{pid}/comm", encoding="ascii") as f:
                name = f.read().strip()
        except OSError:  # it has ended meanwhile
            continue
        if name == "muster-ssh":
            return pid
    return None


def test_nobody_inherits_what_its_parent_holds():
    with cluster("old-leak") as c:
        job = old_pods(c, worker_command=[*HOLDING, "muster", "worker"])
        run = Launch(job, [
            *HOLDING, "muster", "launch", "-n", "2", "--bootstrap", "pmix",
            "--", "sh", "-c", "ls /proc/self/fd | tr '\\n' ' '; echo up; "
            "until test -e /tmp/go; do sleep 0.1; done"])
        run.until("up", count=2)
        for worker in job.workers:
            contains(str(descriptors(worker.pid)), str(HELD), "pid 1")
            serving = until(lambda w=worker: connection_process(w))
            equal(descriptors(serving) - set(range(10)), set(),
                  "descriptors of the connection process")
            worker.exec(["touch", "/tmp/go"], check=True)
        ends_well(run.wait())
        for lines in run.lines().values():
            numbers = [int(x) for x in lines[0].split() if x.isdigit()]
            check(numbers and max(numbers) < 10, "a rank holds more", run.out)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
