# SPDX-License-Identifier: Apache-2.0
"""The configuration files of the node's programs. JSON is YAML, so those that
take YAML get JSON."""
import json
import os

import plan


def write(folders, cgroup):
    os.makedirs(folders.config, exist_ok=True)
    os.makedirs(folders.file("cni"), exist_ok=True)
    for user in plan.USERS:
        save(folders.kubeconfig(user), kubeconfig(folders, user))
    save(folders.file("kubelet.yaml"), kubelet(folders, cgroup))
    save(folders.file("proxy.yaml"), proxy(folders))
    save(folders.file("cni/10-pods.conflist"), network())
    save(folders.file("containerd.toml"), containerd(folders))
    save(folders.file("Corefile"), corefile(folders))
    save(folders.file("hosts"),
         f"127.0.0.1 localhost\n{plan.NODE_IP} {plan.NODE}\n")
    save(folders.file("resolv.conf"), f"nameserver {plan.NODE_IP}\n")


def save(path, content):
    with open(path, "w") as f:
        f.write(content if isinstance(content, str) else json.dumps(content))


def kubeconfig(folders, user):
    return {
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "clusters": [{"name": "test", "cluster": {
            "server": plan.API,
            "certificate-authority": folders.key("ca.crt")}}],
        "users": [{"name": user, "user": {
            "client-certificate": folders.key(user + ".crt"),
            "client-key": folders.key(user + ".key")}}],
        "contexts": [{"name": "test",
                      "context": {"cluster": "test", "user": user}}],
    }


def kubelet(folders, cgroup):
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "failCgroupV1": False,
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": "/" + cgroup,
        "containerRuntimeEndpoint": "unix://" + plan.CONTAINERD_SOCKET,
        "address": plan.NODE_IP,
        "healthzBindAddress": "127.0.0.1",
        "tlsCertFile": folders.key("kubelet-server.crt"),
        "tlsPrivateKeyFile": folders.key("kubelet-server.key"),
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": folders.key("ca.crt")}},
        "authorization": {"mode": "Webhook"},
        "clusterDNS": [plan.NODE_IP],
        "clusterDomain": plan.DOMAIN,
        "resolvConf": folders.file("resolv.conf"),
        "podLogsDir": "/var/log/pods",
        "volumePluginDir": folders.volumes,
        "failSwapOn": False,
        "maxPods": 100,
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "evictionHard": {"memory.available": "100Mi",
                         "nodefs.available": "1%",
                         "imagefs.available": "1%"},
    }


def proxy(folders):
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "clientConnection": {"kubeconfig": folders.kubeconfig("proxy")},
        "clusterCIDR": plan.POD_CIDR,
        "bindAddress": plan.NODE_IP,
        "healthzBindAddress": "127.0.0.1:10256",
        "metricsBindAddress": "127.0.0.1:10249",
        # Limits of connections are the machine's, not a namespace's.
        "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s",
                      "tcpCloseWaitTimeout": "0s"},
    }


def network():
    return {"cniVersion": "1.0.0", "name": "pods", "plugins": [{
        "type": "bridge", "bridge": "cni0", "isDefaultGateway": True,
        "ipMasq": False, "hairpinMode": True,
        "ipam": {"type": "host-local",
                 "ranges": [[{"subnet": plan.POD_CIDR}]]}}]}


def containerd(folders):
    # A root without CAP_SYS_RESOURCE may not lower an OOM score, and runc
    # then fails without a word of it: hence restrict_oom_score_adj.
    return f"""version = 2
root = "{folders.containerd}"
state = "/run/containerd"
disabled_plugins = ["io.containerd.internal.v1.opt"]
[grpc]
  address = "{plan.CONTAINERD_SOCKET}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{plan.PAUSE_IMAGE}"
  disable_apparmor = true
  restrict_oom_score_adj = true
  enable_unprivileged_ports = true
  enable_unprivileged_icmp = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{plan.CNI_PLUGINS}"
    conf_dir = "{folders.file("cni")}"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
"""


def corefile(folders):
    # Names outside the cluster get a plain "there is none": without an
    # upstream CoreDNS would refuse, which resolvers call a temporary failure.
    # `cache` is as kubeadm has it.
    return f""".:53 {{
    bind {plan.NODE_IP}
    errors
    ready 127.0.0.1:8181
    kubernetes {plan.DOMAIN} in-addr.arpa ip6.arpa {{
        kubeconfig {folders.kubeconfig("dns")} test
        pods insecure
        ttl 30
    }}
    cache 30 {{
        disable success {plan.DOMAIN}
        disable denial {plan.DOMAIN}
    }}
    template ANY ANY {{
        rcode NXDOMAIN
    }}
}}
"""
