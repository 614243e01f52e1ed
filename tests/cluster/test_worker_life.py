# SPDX-License-Identifier: Apache-2.0
"""When a worker pod stays and when it goes: it stays after a job, leaves
after a success where it was told to, and after a grace when its launcher is
gone for good."""
import os
import signal
import sys
import time

from harness import (Launch, apply, check, cluster, contains, equal, launch,
                     listening, main, nothing_left, until)

GRACE = 8  # seconds: far more than a new launcher needs to be there


def test_worker_stays_after_success_and_failure():
    with cluster("stays") as c:
        job = apply(c, workers=2)
        for code in (0, 3):
            run = launch(job, "-n", "2", "--bootstrap", "pmix", "--", "sh",
                         "-c", f"exit {code}")
            equal(run.code, code, "exit code", run.err)
            nothing_left(job)
        time.sleep(1)  # for a worker that would leave
        for worker in job.workers:
            equal(worker.phase, "Running", "phase", worker.stderr())
        for pod in job.workers:
            probe = pod.exec(["muster", "worker", "probe", "ready"])
            equal(probe.returncode, 0, "probe ready", probe.stderr)
            probe = pod.exec(["muster", "worker", "probe", "live"])
            equal(probe.returncode, 0, "probe live", probe.stderr)


def test_probes_do_not_fill_the_log():
    """A kubelet asks every second or so for as long as the pod lives."""
    with cluster("probes") as c:
        job = apply(c, workers=1)
        listening(job.workers)
        worker = job.workers[0]
        for _ in range(5):
            probe = worker.exec(["muster", "worker", "probe", "ready"])
            equal(probe.returncode, 0, "probe ready", probe.stderr)
        until(lambda: 'audit: probe' in worker.stderr())
        run = launch(job, "-n", "1", "--", "true")
        equal(run.code, 0, "exit code", run.err)
        until(lambda: 'audit: exit' in worker.stderr())
        audit = worker.stderr()
        equal(audit.count("audit: probe"), 1, "records of probes", audit)
        for kind in ("accept", "start"):
            equal(audit.count(f"audit: {kind}"), 1, kind, audit)


def test_worker_is_released_by_success_only():
    with cluster("release") as c:
        job = apply(c, workers=2, extra_env={"MUSTER_RELEASE": "success"})
        run = launch(job, "-n", "2", "--bootstrap", "pmix", "--", "false")
        equal(run.code, 1, "exit code", run.err)
        time.sleep(1)
        equal([w.phase for w in job.workers], ["Running"] * 2, "phases")
        run = launch(job, "-n", "2", "--bootstrap", "pmix", "--dry-run",
                     "--", "true")
        time.sleep(1)
        equal([w.phase for w in job.workers], ["Running"] * 2,
              "phases after a dry run")
        run = launch(job, "-n", "2", "--bootstrap", "pmix", "--", "true")
        equal(run.code, 0, "exit code", run.err)
        for worker in job.workers:
            equal(worker.wait(60).code, 0, "exit code", worker.stderr())


def test_a_stalled_report_keeps_no_worker():
    """A pipe that is full waits for its reader, as a file system waits for its
    server."""
    with cluster("stalled-report") as c:
        job = apply(c, workers=2, extra_env={"MUSTER_RELEASE": "success"})
        until(lambda: job.launcher.phase == "Running")
        job.launcher.exec(["sh", "-c", "mkfifo /tmp/r.json; (exec 3<>/tmp/r.json;"
                           "head -c 65536 /dev/zero >&3; : >/tmp/full;"
                           "exec sleep 120) >/dev/null 2>&1 &"], check=True)
        until(lambda: job.launcher.exec(
            ["test", "-e", "/tmp/full"]).returncode == 0)
        run = Launch(job, ["muster", "launch", "-n", "2", "--bootstrap",
                           "pmix", "--report-json", "/tmp/r.json", "--",
                           "true"])
        for worker in job.workers:
            equal(worker.wait(60).code, 0, "exit code", worker.stderr())
        contains(run.err, "ended well", "stderr")
        check(run.process.poll() is None, "it did not wait for the report")
        read = job.launcher.exec(["timeout", "4", "cat", "/tmp/r.json"])
        contains(read.stdout, '"exit_code": 0', "report")
        equal(run.wait().code, 0, "exit code", run.err)


def test_worker_whose_launcher_is_gone():
    """Its job is ended at once; it waits for a new launcher, then leaves."""
    with cluster("orphan") as c:
        job = apply(c, workers=2, extra_env={
            "MUSTER_ORPHAN_GRACE": f"{GRACE}s"})
        for attempt in range(2):
            run = Launch(job, ["muster", "launch", "-n", "2", "--bootstrap",
                               "pmix", "--", "sh", "-c",
                               "echo up; exec sleep 300"])
            run.until("] up", count=2)
            for pid, line in job.launcher.processes().items():
                if line.startswith("muster launch"):
                    os.kill(pid, signal.SIGKILL)
            run.process.wait(60)
            killed = time.monotonic()
            nothing_left(job, job.workers)
            if attempt == 0:  # it came back in time: nobody leaves
                again = launch(job, "-n", "2", "--bootstrap", "pmix", "--",
                               "true")
                equal(again.code, 0, "exit code", again.err)
                time.sleep(max(0, killed + GRACE + 1.5 - time.monotonic()))
                equal([w.phase for w in job.workers], ["Running"] * 2,
                      "phases", job.workers[0].stderr())
        for worker in job.workers:
            status = worker.wait(120)
            equal(status.code, 201, "exit code", worker.stderr())
            contains(worker.stderr(), "launcher", "stderr of the worker")


def test_new_launcher_evicts_its_dead_predecessor():
    with cluster("evict") as c:
        job = apply(c, workers=2)
        run = Launch(job, ["muster", "launch", "-n", "2", "--bootstrap",
                           "pmix", "--", "sh", "-c",
                           "trap '' TERM; echo up; sleep 300 & wait"])
        run.until("] up", count=2)
        # Frozen, not dead: the workers cannot know yet.
        for pid, line in job.launcher.processes().items():
            if line.startswith("muster launch"):
                os.kill(pid, signal.SIGSTOP)
        again = launch(job, "-n", "2", "--bootstrap", "pmix", "--", "echo",
                       "second")
        run.process.kill()
        equal(again.code, 0, "exit code", again.out, again.err)
        equal(again.out.count("second"), 2, "lines", again.out)


def test_terminated_worker_ends_its_ranks():
    with cluster("term") as c:
        job = apply(c, workers=2)
        run = Launch(job, ["muster", "launch", "--grace", "2s", "-n", "2",
                           "--bootstrap", "pmix", "--", "sh", "-c",
                           "echo up; sleep 300"])
        run.until("] up", count=2)
        job.workers[1].terminate(60)
        run.wait()
        equal(run.code, 202, "exit code", run.err)
        contains(run.err, "pi-worker-1", "stderr")
        # 137 if it had used up its grace period.
        status = job.workers[1].wait(60)
        equal(status.shell, 143, "exit code of the worker",
              job.workers[1].stderr())


def test_a_pod_that_is_told_to_leave_gives_all_ranks_their_grace():
    """A drained node: the ranks of all pods hear of it at once, may save, and
    the verdict says it."""
    save = ("trap 'echo told; sleep $((1 + RANK)); echo saved; exit 0' TERM; "
            "echo up; while :; do sleep 0.1; done")
    for bootstrap in ("pmix", "mpirun"):
        with cluster("drain") as c:
            job = apply(c, workers=2)
            run = Launch(job, ["muster", "launch", "--grace", "10s", "-n", "2",
                               "--bootstrap", bootstrap, "--", "sh", "-c",
                               save])
            run.until("] up", count=2)
            job.workers[1].terminate(60)
            run.wait()
            equal(run.code, 202, f"exit code ({bootstrap})", run.err)
            equal(run.verdict().get("code"), "pod_terminated", "verdict",
                  run.err)
            contains(run.err, "pi-worker-1.pi.default.svc got SIGTERM", "stderr")
            check("pre-empted:" not in run.err, "a reason that nobody knows",
                  run.err)
            for word in ("told", "saved"):
                equal(sorted(rank for rank, lines in run.lines().items()
                             if word in lines), [0, 1],
                      f"ranks that {word} ({bootstrap})", run.out, run.err)
            check(run.seconds < 9, "the whole grace went by", run.err)


def test_a_pod_that_left_and_came_back_is_no_cause():
    with cluster("back") as c:
        job = apply(c, workers=3, start={"worker-2": 8.0})
        run = Launch(job, ["muster", "launch", "-n", "3", "--bootstrap",
                           "pmix", "--", "sh", "-c", "exit 3"])
        run.until("waiting for 1 of 3")
        job.workers[0].terminate(60)
        job.workers[0].restart()
        equal(run.wait().code, 3, "exit code", run.err)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
