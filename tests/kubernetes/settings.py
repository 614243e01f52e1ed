# SPDX-License-Identifier: Apache-2.0
"""The configuration files of the nodes' programs. JSON is YAML, so those that
take YAML get JSON."""
import json
import os

import plan


def write(folders, nodes):
    os.makedirs(folders.config, exist_ok=True)
    for user in plan.users(nodes):
        save(folders.kubeconfig(user), kubeconfig(folders, user))
    save(folders.file("Corefile"), corefile(folders))
    hosts = "".join(f"{node.ip} {node.name}\n" for node in nodes)
    for node in nodes:
        own = folders.of(node)
        os.makedirs(own.file("cni"), exist_ok=True)
        save(own.file("kubelet.yaml"), kubelet(folders, node))
        save(own.file("proxy.yaml"), proxy(folders, node))
        save(own.file("cni/10-pods.conflist"), network(node))
        save(own.file("containerd.toml"), containerd(own))
        save(own.file("hosts"), "127.0.0.1 localhost\n" + hosts)
        save(own.file("resolv.conf"), f"nameserver {plan.FIRST.ip}\n")
        if node.memory:
            save(own.file("meminfo"), meminfo(node))


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


def meminfo(node):
    """/proc/meminfo as a kubelet reads it: what there is, not what is free."""
    return (f"MemTotal:       {node.memory >> 10} kB\n"
            f"MemFree:        {node.memory >> 10} kB\n"
            f"MemAvailable:   {node.memory >> 10} kB\n"
            "SwapTotal:      0 kB\n")


def kubelet(folders, node):
    own = folders.of(node)
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "failCgroupV1": False,
        "cgroupDriver": "cgroupfs",
        "containerRuntimeEndpoint": "unix://" + plan.CONTAINERD_SOCKET,
        "address": node.ip,
        "healthzBindAddress": "127.0.0.1",
        "tlsCertFile": folders.key(node.name + "-server.crt"),
        "tlsPrivateKeyFile": folders.key(node.name + "-server.key"),
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": folders.key("ca.crt")}},
        "authorization": {"mode": "Webhook"},
        "clusterDNS": [plan.FIRST.ip],
        "clusterDomain": plan.DOMAIN,
        "resolvConf": own.file("resolv.conf"),
        "podLogsDir": "/var/log/pods",
        "volumePluginDir": own.volumes,
        "failSwapOn": False,
        "maxPods": 100,
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "evictionHard": {"memory.available": "100Mi",
                         "nodefs.available": "1%",
                         "imagefs.available": "1%"},
        # Of five minutes, which the next test would have to wait for.
        "evictionPressureTransitionPeriod": "5s",
    }


def proxy(folders, node):
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "clientConnection": {"kubeconfig": folders.kubeconfig("proxy")},
        "clusterCIDR": plan.POD_NET,
        "bindAddress": node.ip,
        "healthzBindAddress": "127.0.0.1:10256",
        "metricsBindAddress": "127.0.0.1:10249",
        # Limits of connections are the machine's, not a namespace's.
        "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s",
                      "tcpCloseWaitTimeout": "0s"},
    }


def network(node):
    return {"cniVersion": "1.0.0", "name": "pods", "plugins": [{
        "type": "bridge", "bridge": "cni0", "isDefaultGateway": True,
        "ipMasq": False, "hairpinMode": True,
        "ipam": {"type": "host-local",
                 "ranges": [[{"subnet": node.pod_cidr}]]}}]}


def containerd(own):
    # A root without CAP_SYS_RESOURCE may not lower an OOM score, and runc
    # then fails without a word of it: hence restrict_oom_score_adj.
    return f"""version = 2
root = "{own.containerd}"
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
    conf_dir = "{own.file("cni")}"
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
    bind {plan.FIRST.ip}
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
