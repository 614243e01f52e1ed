#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The nodes themselves: they run pods with DNS, and leave nothing behind."""
import json
import os
import signal
import subprocess
import sys

import control_groups
import kube
import plan
from kube import Skip, check, namespace, until

OWNER = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
from cluster import Cluster
cluster = Cluster(sys.argv[2], nodes=2)
cluster.start()
print(json.dumps([list(cluster.pids.values()), cluster.keeper.pid,
                  cluster.cgroup]), flush=True)
time.sleep(600)
"""
FOLDER = os.path.join(kube.ROOT, "build", "kubernetes-killed")


def machine_settings():
    settings = {}
    for name in plan.MACHINE_SETTINGS:
        with open("/proc/sys/" + name) as f:
            settings[name] = f.read()
    return settings


def test_a_pod_finds_the_api_server():
    with namespace("pod") as ns:
        ns.create({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"},
            "spec": {"restartPolicy": "Never", "containers": [{
                "name": "pod", "image": kube.IMAGE,
                "command": ["getent", "hosts", "kubernetes.default"]}]}})

        def over():
            phase = ns.get("pod", "pod")["status"]["phase"]
            return phase if phase in ("Succeeded", "Failed") else None
        phase = until(over, "end of the pod")
        log = ns.told("logs", "pod")
        check(phase == "Succeeded", f"the pod {phase}", log)
        check("kubernetes.default.svc.cluster.local" in log,
              "the service's name does not resolve", log)


def start_owner():
    """A process that has started two nodes of its own, these nodes' processes
    1, their keeper's process id, and their control group."""
    owner = subprocess.Popen(
        [sys.executable, "-B", "-c", OWNER, kube.HERE, FOLDER],
        stdout=subprocess.PIPE, text=True)
    line = owner.stdout.readline()
    if not line:
        end(owner)
        raise AssertionError("the second cluster did not start")
    nodes, keeper, group = json.loads(line)
    check(len(nodes) == 2, "not two nodes", line)
    return owner, [f"/proc/{pid}" for pid in nodes], keeper, group


def end(owner):
    owner.kill()
    owner.wait()
    owner.stdout.close()


def test_nothing_is_left_of_a_killed_owner():
    """SIGKILL for the keeper ends both nodes; SIGKILL for the test that started
    it does, too, and removes control groups and data, those that the killed
    keeper left as well. The machine's kernel settings stay as they were."""
    if not kube.OWN_NODE:
        raise Skip("the node is not ours")
    before = machine_settings()
    owner, nodes, keeper, first = start_owner()
    os.kill(keeper, signal.SIGKILL)
    try:
        until(lambda: not any(map(os.path.exists, nodes)),
              "end of the nodes whose keeper was killed")
    finally:
        end(owner)
    owner, nodes, keeper, second = start_owner()
    end(owner)
    left = [*nodes, os.path.join(FOLDER, "node"),
            *(os.path.join(top, group) for top in control_groups.hierarchies()
              for group in (first, second))]
    until(lambda: not (any(map(os.path.exists, left))
                       or control_groups.is_keeper(keeper)),
          "end of the nodes whose owner was killed")
    after = machine_settings()
    check(after == before, "kernel settings of the machine have changed",
          before, after)


if __name__ == "__main__":
    kube.main(sys.modules[__name__])
