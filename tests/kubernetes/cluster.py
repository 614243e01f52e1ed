# SPDX-License-Identifier: Apache-2.0
"""A real Kubernetes of one node or two on this machine, as an object.

    with Cluster(folder) as cluster:
        cluster.kubectl("get", "nodes")

Nodes that were left by a SIGKILL remove themselves; see keeper.py.
"""
import fcntl
import json
import os
import select
import subprocess
import sys
import time

import control_groups
import machine
import plan
import programs
from problems import Problem
from versions import CLUSTER

HERE = os.path.dirname(os.path.abspath(__file__))
START_LIMIT = 180


class Cluster:
    """`folder` holds the nodes while they live (`node`) and their logs after
    (`node-log`). `shape` is as in plan.Shape."""

    def __init__(self, folder, **shape):
        self.folder = os.path.abspath(folder)
        self.folders = plan.Folders(os.path.join(folder, "node"))
        self.shape = plan.Shape(**shape)
        self.logs = os.path.join(self.folder, "node-log")
        self.keeper = None
        self.lock = None
        self.pids = {}  # of each node's process 1, as it was started first
        self.cgroup = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        if lacking := machine.lacking():
            raise Problem(lacking)
        if names := programs.missing(CLUSTER):
            raise Problem(f"not built: {', '.join(names)}")
        os.makedirs(self.folder, exist_ok=True)
        self.lock = open(os.path.join(self.folder, "lock"), "w")
        # The keeper of an earlier run may still be at its removal.
        deadline = time.monotonic() + 60
        while True:
            try:
                fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise Problem("another cluster is running in "
                                  f"{self.folder}") from None
                time.sleep(0.2)
        self.keeper = subprocess.Popen(
            [sys.executable, "-B", os.path.join(HERE, "keeper.py"),
             self.folders.run, self.logs, self.shape.text()],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
            pass_fds=[self.lock.fileno()])
        try:
            self.await_start()
            self.await_ready()
        except BaseException:
            self.stop()
            raise

    def await_start(self):
        if not select.select([self.keeper.stdout], [], [], START_LIMIT)[0]:
            raise Problem(f"the node did not start in {START_LIMIT} s; its "
                          f"logs are in {self.logs}")
        line = self.keeper.stdout.readline()
        try:
            words = json.loads(line)
        except ValueError:
            raise Problem("the node's keeper ended without a word") from None
        if "problem" in words:
            raise Problem("the node did not start: " + words["problem"])
        self.pids, self.cgroup = words["pids"], words["cgroup"]

    def await_ready(self):
        # One at a time: kubectl does not wait for several that are not there.
        for name in self.pids:
            for what in ("create", "condition=Ready"):
                self.kubectl("wait", "--for=" + what, "node/" + name,
                             "--timeout=120s", limit=150)
        self.kubectl("wait", "--for=create", "serviceaccount/default",
                     "--timeout=120s", limit=150)

    def stop(self):
        """Returns what is left of it, which is nothing unless that is a bug."""
        if self.keeper is None:
            return []
        self.keeper.stdin.close()
        self.keeper.wait(timeout=120)
        self.keeper.stdout.close()
        self.keeper = None
        self.lock.close()
        left = [f"control group {path}" for top in control_groups.hierarchies()
                for path in control_groups.folders(
                    os.path.join(top, self.cgroup or "none"))]
        if os.path.exists(self.folders.run):
            left.append(f"folder {self.folders.run}")
        return left

    def enter(self, node=plan.FIRST.name):
        """What to put before a command so that it runs on a node."""
        return ["nsenter", f"--target={self.pids[node]}", "--net", "--mount",
                "--pid", "--uts", "--wd=" + os.getcwd(), "env",
                "KUBECONFIG=" + self.folders.kubeconfig("admin")]

    def kubectl_argv(self):
        return [*self.enter(), programs.path("kubectl")]

    def kubectl(self, *arguments, limit=60):
        done = subprocess.run([*self.kubectl_argv(), *arguments], text=True,
                              capture_output=True, timeout=limit, check=False)
        if done.returncode != 0:
            raise Problem(f"kubectl {' '.join(arguments)}: "
                          f"{done.stderr.strip()}")
        return done.stdout

    def load(self, archive):
        """Imports the images of one archive on all nodes at once."""
        loads = [subprocess.Popen(
            [*self.enter(node), "ctr", "--address", plan.CONTAINERD_SOCKET,
             "--namespace", "k8s.io", "images", "import", archive],
            text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                 for node in self.pids]
        for done in loads:
            _, errors = done.communicate(timeout=300)
            if done.returncode != 0:
                raise Problem(f"image {archive}: {errors.strip()}")

    def peak_memory(self):
        return control_groups.peak_memory(self.cgroup)
