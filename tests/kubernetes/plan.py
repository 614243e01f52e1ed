# SPDX-License-Identifier: Apache-2.0
"""Names, numbers and folders of one cluster: plain values, no I/O.

All addresses lie in the network namespace of the node, which has no route to
anywhere, so any number of clusters may have the same.
"""
import os

NODE = "node1"
NODE_IP = "10.88.0.1"
POD_CIDR = "10.244.0.0/24"
SERVICE_CIDR = "10.96.0.0/16"
API_SERVICE_IP = "10.96.0.1"
API = f"https://{NODE_IP}:6443"
DOMAIN = "cluster.local"
CNI_PLUGINS = "/usr/lib/cni"
CONTAINERD_SOCKET = "/run/containerd/containerd.sock"
PAUSE_IMAGE = "muster.test/pause:1"

# user of each kubeconfig: (common name, organisation)
USERS = {
    "admin": ("admin", "system:masters"),
    "controller-manager": ("system:kube-controller-manager", None),
    "scheduler": ("system:kube-scheduler", None),
    "proxy": ("system:kube-proxy", None),
    "kubelet": (f"system:node:{NODE}", "system:nodes"),
    "dns": ("dns", "system:masters"),
}

# Kernel settings of the whole machine that a kubelet wants to change. It gets
# to see files of its own instead, so that the machine keeps its settings
# however the cluster ends.
MACHINE_SETTINGS = (
    "vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic",
    "kernel/panic_on_oops", "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes")


class Folders:
    """Where one cluster keeps what; all of it below `run`."""

    def __init__(self, run):
        self.run = os.path.abspath(run)
        for name in ("keys", "config", "log", "etcd", "containerd", "var-lib",
                     "settings", "pod-log", "kubelet", "volumes"):
            setattr(self, name.replace("-", "_"), os.path.join(self.run, name))

    def key(self, name):
        return os.path.join(self.keys, name)

    def kubeconfig(self, user):
        return os.path.join(self.config, user + ".kubeconfig")

    def file(self, name):
        return os.path.join(self.config, name)
