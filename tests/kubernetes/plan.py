# SPDX-License-Identifier: Apache-2.0
"""Names, numbers and folders of one cluster: plain values, no I/O.

All addresses lie in the network namespaces of the nodes, which have no route to
anywhere, so any number of clusters may have the same.
"""
import dataclasses
import json
import os

NODE_NET = "10.88.0.0/24"
POD_NET = "10.244.0.0/16"
SERVICE_CIDR = "10.96.0.0/16"
API_SERVICE_IP = "10.96.0.1"
DOMAIN = "cluster.local"
CNI_PLUGINS = "/usr/lib/cni"
CONTAINERD_SOCKET = "/run/containerd/containerd.sock"
PAUSE_IMAGE = "muster.test/pause:1"
QUEUE = 100  # of packets that kube-network-policies decides on

# Kernel settings of the whole machine that a kubelet wants to change. It gets
# to see files of its own instead, so that the machine keeps its settings
# however the cluster ends.
MACHINE_SETTINGS = (
    "vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic",
    "kernel/panic_on_oops", "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes")


@dataclasses.dataclass(frozen=True)
class Node:
    number: int
    memory: int = 0  # bytes that its kubelet sees; 0: the machine's

    @property
    def name(self):
        return f"node{self.number}"

    @property
    def ip(self):
        return f"10.88.0.{self.number}"

    @property
    def pod_cidr(self):
        return f"10.244.{self.number - 1}.0/24"

    @property
    def user(self):
        """Its kubelet, as one of users()."""
        return "kubelet-" + self.name


FIRST = Node(1)  # has the control plane
API = f"https://{FIRST.ip}:6443"


@dataclasses.dataclass(frozen=True)
class Shape:
    """The shape of a cluster. `memory` is the last node's, in bytes."""
    nodes: int = 1
    memory: int = 0
    policies: bool = False  # NetworkPolicies are enforced

    def all_nodes(self):
        return [Node(i, self.memory if i == self.nodes else 0)
                for i in range(1, self.nodes + 1)]

    def text(self):
        return json.dumps(dataclasses.asdict(self))

    @staticmethod
    def of(text):
        return Shape(**json.loads(text))


def users(nodes):
    """User of each kubeconfig: (common name, organisation)."""
    return {
        "admin": ("admin", "system:masters"),
        "controller-manager": ("system:kube-controller-manager", None),
        "scheduler": ("system:kube-scheduler", None),
        "proxy": ("system:kube-proxy", None),
        "dns": ("dns", "system:masters"),
        "policies": ("policies", "system:masters"),
        **{node.user: (f"system:node:{node.name}", "system:nodes")
           for node in nodes}}


class Folders:
    """Where one cluster keeps what; all of it below `run`."""

    def __init__(self, run):
        self.run = os.path.abspath(run)
        self.keys = os.path.join(self.run, "keys")
        self.config = os.path.join(self.run, "config")
        self.log = os.path.join(self.run, "log")
        self.etcd = os.path.join(self.run, "etcd")
        # A pipe that the keeper reads; see keeper.py.
        self.power = os.path.join(self.run, "power")

    def key(self, name):
        return os.path.join(self.keys, name)

    def kubeconfig(self, user):
        return os.path.join(self.config, user + ".kubeconfig")

    def file(self, name):
        return os.path.join(self.config, name)

    def of(self, node):
        return NodeFolders(self, node)


class NodeFolders:
    """Where one node keeps what."""

    def __init__(self, folders, node):
        top = os.path.join(folders.run, node.name)
        self.config = os.path.join(top, "config")
        self.log = os.path.join(folders.log, node.name)
        self.data = ("containerd", "var-lib", "settings", "pod-log", "kubelet",
                     "volumes")
        for name in self.data:
            setattr(self, name.replace("-", "_"), os.path.join(top, name))

    def all(self):
        """Those that have to be there before the node starts."""
        return [self.config, self.log,
                *(getattr(self, name.replace("-", "_")) for name in self.data)]

    def file(self, name):
        return os.path.join(self.config, name)
