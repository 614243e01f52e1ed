# SPDX-License-Identifier: Apache-2.0
"""Exit status, logs, restarts, start order, removal without a trace."""
import os
import signal
import subprocess
import sys
import time

from .. import Cluster, cleanup
from ..cluster import PodnetError
from . import PATIENCE, example, same, true, until

PODNET = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "podnet")


def check_exit_status_and_streams():
    """Exit code, signal, missing program; stdout apart from stderr and readable in order; termination message."""
    with Cluster("st-exit") as c:
        p = c.pod("p", ["/bin/sh", "-c", "echo out; sleep 0.1; echo err >&2; sleep 0.1; echo out2; echo why > /dev/termination-log; exit 42"])
        e = p.wait()
        same((e.code, e.signal, e.reason, e.message), (42, None, "Error", "why\n"))
        same((p.stdout(), p.stderr(), p.combined(), p.termination_log()), ("out\nout2\n", "err\n", "out\nerr\nout2\n", "why\n"))
        same(p.phase, "Failed")
        q = c.pod("q", ["/bin/sh", "-c", "ulimit -c 0; kill -SEGV $$; sleep 1; (sleep 0.1; :) ; exit 3"])
        same(q.wait().code, 3, "process 1 of a namespace survives its own signals")
        r = c.pod("r", ["/no/such/program"])
        same(r.wait()[:3], (128, None, "StartError"))
        true("No such file" in r.wait().message, r.wait().message)
        try:
            c.pod("s").wait(0.2)
            raise AssertionError("no timeout")
        except TimeoutError:
            pass


def check_exec_passes_codes_input_and_dies_with_its_popen():
    """exec: exit code, signal, stdin; killing the Popen kills the program in the pod."""
    with Cluster("st-exec") as c:
        p = c.pod("p")
        same(p.exec(["sh", "-c", "cat; exit 7"], input="hello").stdout, "hello")
        same(p.exec(["sh", "-c", "exit 7"]).returncode, 7)
        same(p.exec(["sh", "-c", "kill -TERM $$"]).returncode, -15)
        q = p.popen(["sleep", "98"])
        running = lambda: [l for l in p.processes().values() if l == "sleep 98"]
        true(until(running), "not in pids()")
        q.kill()
        q.wait()
        true(until(lambda: not running()), "still there")


def check_restart_policy():
    """OnFailure: same pod, same address, counted; each attempt has its own log."""
    with Cluster("st-again") as c:
        p = c.pod("p", ["/bin/sh", "-c", "echo try; ip -4 -o addr show eth0 >&2; test -e /dev/shm/x; exit 1"],
                  restart_policy="OnFailure", restart_backoff=0.1)
        first = p.wait(attempt=0)
        same(first.code, 1)
        same(p.wait(attempt=2).code, 1)
        p.terminate(0)
        same((p.stdout(0), p.stdout(1)), ("try\n", "try\n"))
        same(p.stderr(0), p.stderr(1))
        true(p.restarts >= 2, "restarts")


def check_terminate_is_sigterm_then_sigkill():
    """kubectl delete: SIGTERM reaches process 1; one that ignores it is killed after the grace period."""
    with Cluster("st-term") as c:
        good = c.pod("good", ["/bin/bash", "-c", "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done"])
        bad = c.pod("bad")
        true(until(good.stdout), "it does not start")
        good.terminate(PATIENCE)
        same((good.wait().code, good.stdout()), (0, "up\nbye\n"))
        t = time.monotonic()
        bad.terminate(0.5)
        same(bad.wait().signal, 9)
        true(time.monotonic() - t > 0.4, "grace")


def check_start_order():
    """WaitForWorkersReady and dependsOn hold the launcher back; delays and never do what they say; clean-up follows."""
    with Cluster("st-order") as c:
        server = ["/usr/bin/python3", "-c", "import socket,time; s=socket.create_server(('',2222)); time.sleep(99)"]
        job = c.apply(example("launcher-as-worker.yaml"), worker_command=server, launcher_command=["/bin/true"],
                      start={"worker-1": "never"})
        same((job.launcher.phase, job.workers[1].phase), ("Pending", "Pending"))
        job.workers[1].start()
        job.launcher.wait()
        i = job.launcher.info()
        true(i["created"] >= max(w.info()["ready_at"] for w in job.workers), "launcher before workers")
    def quick(specs):
        for s in specs:
            s["grace"] = 1
            if s["readiness"]:
                s["readiness"].update(initialDelaySeconds=0, periodSeconds=0.2)

    with Cluster("st-order2") as c:
        job = c.apply(example("trainjob-deepspeed.yaml"), worker_command=server, launcher_command=["/bin/true"], workers=2,
                      edit=quick)
        same(job.launcher.wait().code, 0)
        for w in job.workers:      # JobSet deletes them; this one ignores SIGTERM as a process 1 without handler does
            same(w.wait().signal, 9)
    with Cluster("st-order3") as c:
        began = time.monotonic()
        job = c.apply(example("pi-openmpi.yaml"), worker_command=server, launcher_command=["/bin/sleep", "900"], workers=3,
                      start={"worker-2": "never", "launcher": 3})
        same([w.phase for w in job.workers], ["Running", "Running", "Pending"])
        same(job.launcher.phase, "Pending")
        job.workers[2].start()
        same(job.workers[2].phase, "Running")
        true(until(lambda: job.launcher.phase == "Running"), "the launcher does not start")
        true(job.launcher.info()["created"] - began >= 3, "the launcher came early")


def check_no_trace_after_down():
    """No process, cgroup, mount, directory or network namespace is left; the machine's interfaces are as before."""
    links = lambda: sorted(l.split(":")[1] for l in subprocess.run(["ip", "-o", "link"], capture_output=True, text=True).stdout.splitlines())
    before = links()
    with Cluster("st-trace") as c:
        c.pod("a")
        c.pod("b", ["/bin/sh", "-c", "sleep 98 & sleep 98"])
        p = c.pod("f")
        p.freeze()
        name = c.id
        same(links(), before, "something in the machine's own network")
    same(cleanup.traces(name), [])
    same(links(), before)


def check_no_trace_after_a_crash():
    """The harness is killed: the kubelet removes all. The kubelet is killed too: down --all does."""
    script = f"import sys,time; sys.path.insert(0, {os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))!r})\n" \
             "from podnet import Cluster\nc = Cluster('st-crash'); c.up(); c.pod('a'); print(c.id, c._process.pid, flush=True); time.sleep(99)"
    for kill_kubelet in (False, True):
        h = subprocess.Popen([sys.executable, "-B", "-c", script], stdout=subprocess.PIPE, text=True)
        name, kubelet = h.stdout.readline().split()
        true(cleanup.traces(name), "traces() sees a living cluster")
        if kill_kubelet:
            os.kill(int(kubelet), signal.SIGKILL)
        h.kill()
        h.wait()
        h.stdout.close()
        if kill_kubelet:
            true(until(lambda: not cleanup.cgroups.cluster_pids(name)), "pods outlived their kubelet")
            cleanup.remove(name)          # what `down --all` does for each, here without touching other clusters
        until(lambda: not cleanup.traces(name))
        same(cleanup.traces(name), [])


def check_command_line():
    """up, status, exec, logs, dns, drop, kill, wait, down by the CLI in separate processes."""
    run = lambda *a: subprocess.run([PODNET, "--name", "st-cli", *a], capture_output=True, text=True, timeout=60)
    r = run("up", "--manifest", example("default-worker-command.yaml"), "--start", "worker-1=never", "--", "/bin/sh", "-c", "echo hi; sleep 99")
    try:
        same(r.returncode, 0, r.stderr)
        true("hello-worker-0" in r.stdout and "Pending" in r.stdout, r.stdout)
        same(run("exec", "launcher", "--", "sh", "-c", "exit 5").returncode, 5)
        until(lambda: run("logs", "launcher").stdout)
        same(run("logs", "launcher").stdout, "hi\n")
        same(run("dns", "nxdomain", "hello-worker-0").returncode, 0)
        same(run("drop", "launcher", "worker-0", "--port", "2222").returncode, 0)
        same(run("kill", "launcher").returncode, 0)
        same(run("wait", "launcher", "--timeout", "50").returncode, 137)
        same(run("kill", "nobody").returncode, 1)
    finally:
        same(run("down").returncode, 0)
    same(run("status").returncode, 1)


def check_refusals_are_sentences():
    """A second pod of the same name, a verb on a pod that is gone."""
    with Cluster("st-no") as c:
        c.pod("a")
        for call in (lambda: c.pod("a"), lambda: c.find("b"), lambda: c._call("kill", pod="zz")):
            try:
                call()
                raise AssertionError("not refused")
            except PodnetError:
                pass
