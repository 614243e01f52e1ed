#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The node itself: it runs pods with DNS, and leaves nothing behind."""
import os
import subprocess
import sys

import kube
from kube import Skip, check, namespace, until

OWNER = """
import sys, time
sys.path.insert(0, sys.argv[1])
from cluster import Cluster
cluster = Cluster(sys.argv[2])
cluster.start()
print(cluster.pid, cluster.keeper.pid, cluster.cgroup, flush=True)
time.sleep(600)
"""


def machine_settings():
    import plan
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


def test_nothing_is_left_of_a_killed_owner():
    """SIGKILL for the test that started a node ends the node and removes its
    control groups, its folder and what a kubelet changes on a machine."""
    if not kube.OWN_NODE:
        raise Skip("the node is not ours")
    folder = os.path.join(kube.ROOT, "build", "kubernetes-killed")
    before = machine_settings()
    owner = subprocess.Popen(
        [sys.executable, "-B", "-c", OWNER, kube.HERE, folder],
        stdout=subprocess.PIPE, text=True)
    try:
        words = owner.stdout.readline().split()
        check(len(words) == 3, "the second node did not start")
    finally:
        owner.kill()
        owner.wait()
        owner.stdout.close()
    node, keeper, cgroup = words
    left = [f"/proc/{node}", f"/proc/{keeper}", os.path.join(folder, "node"),
            *(os.path.join(top, cgroup) for top in hierarchies())]

    def gone():
        return not any(map(os.path.exists, left))
    until(gone, "end of the node whose owner was killed")
    after = machine_settings()
    check(after == before, "kernel settings of the machine have changed",
          before, after)


def hierarchies():
    import control_groups
    return control_groups.hierarchies()


if __name__ == "__main__":
    kube.main(sys.modules[__name__])
