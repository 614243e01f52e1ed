#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A node whose memory runs out: its kubelet evicts a worker."""
import json
import sys

import kube
from kube import (MpiJob, Skip, check, ended_from_outside, mpijob,
                  namespace, part, told, until)


def mebibytes(quantity):
    """Of a quantity as a kubelet writes its memory."""
    number, unit = quantity[:-2], quantity[-2:]
    return int(number) * {"Ki": 1, "Mi": 1 << 10, "Gi": 1 << 20}[unit] >> 10


def small_node():
    """Name and memory in MiB of the node that has far less than the other."""
    sizes = {}
    for node in json.loads(told("get", "nodes", "-o", "json"))["items"]:
        sizes[node["metadata"]["name"]] = mebibytes(
            node["status"]["capacity"]["memory"])
    name = min(sizes, key=sizes.get)
    if not kube.OWN_NODE or len(sizes) < 2 or sizes[name] > 4096:
        raise Skip("no node of ours is small")
    return name, sizes[name]


def under_pressure(node):
    """Pods without requests do not come to a node that is."""
    spec = json.loads(told("get", "node", node, "-o", "json"))["spec"]
    return any(taint["key"] == "node.kubernetes.io/memory-pressure"
               for taint in spec.get("taints", []))


def evictions(ns):
    events = json.loads(ns.told("get", "events", "-o", "json"))["items"]
    return [event for event in events if event["reason"] == "Evicted"]


def eater(ns, node, eat):
    """A job of two ranks on a node; `eat`, a line of Perl, runs in rank 1."""
    command = ("echo all-is-up; [ $OMPI_COMM_WORLD_RANK = 1 ] && "
               f"exec perl -e '{eat} sleep 300'; sleep 300")
    manifest = mpijob("eater", ["mpirun", "-n", "2", "sh", "-c", command])
    part(manifest, "Worker")["nodeSelector"] = {"kubernetes.io/hostname": node}
    return MpiJob(ns, "eater", manifest)


def test_evicted_for_the_nodes_memory():
    """The verdict says that the pod was ended from outside, not why. The rank
    grows slowly, so that the kubelet sees whose it is, and leaves a bit, since
    the kernel kills in the group of all pods once these have all there is."""
    node, size = small_node()
    with namespace("memory") as ns:
        code, status, text = eater(ns, node, f"for (1..{size - 200}) "
                                   "{ push @x, q(a) x 1048576; "
                                   "select undef, undef, undef, 0.02 }"
                                   ).verdict()
        events = until(lambda: evictions(ns), "eviction")
        pod = events[0]["involvedObject"]["name"]
        check("memory" in events[0]["message"], "not for memory", events)
        check(pod == "eater-worker-1", f"{pod} was evicted", events)
        check(code == "pod_terminated", f"the verdict is {code}", text)
        check(status == 202, f"exit code {status}", text)
        check(pod in text, "not which pod", text)
        ended_from_outside(text)
    until(lambda: not under_pressure(node), "relief of the node")


def test_the_kernel_is_faster_than_the_kubelet():
    """All pods together have what the node has: the kernel kills in the group
    of all, in a container that has no limit."""
    node, size = small_node()
    with namespace("kernel") as ns:
        code, status, text = eater(
            ns, node, f"$x = q(a) x {2 * size << 20};").verdict()
        check(code == "host_oom_kill", f"the verdict is {code}", text)
        check(status in (137, 204), f"exit code {status}", text)
        for word in ("rank 1", "eater-worker-1", "no memory limit of its own"):
            check(word in text, f"no {word!r}", text)
    until(lambda: not under_pressure(node), "relief of the node")


if __name__ == "__main__":
    kube.main(sys.modules[__name__])
