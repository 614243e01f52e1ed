# SPDX-License-Identifier: Apache-2.0
"""Process 1 of the node: its own mounts, its own network, its programs.

keeper.py starts it in namespaces of its own. It ends, and with it, by the
kernel's hand, every process and mount of the node, when its standard input
does or when it gets a signal. It prints "up" once all programs are started
and ends with a sentence when one of them has ended by itself.
"""
import os
import select
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import control_groups  # noqa: E402
import plan  # noqa: E402
import programs  # noqa: E402
from podnet import linux  # noqa: E402

MS_SHARED = 1 << 20
PATIENCE = 120


def mounts(folders):
    linux.mount(None, "/", None, linux.MS_REC | MS_SHARED)
    linux.mount("proc", "/proc", "proc")
    for setting in plan.MACHINE_SETTINGS:
        source = f"/proc/sys/{setting}"
        if not os.path.exists(source):
            continue
        own = os.path.join(folders.settings, setting.replace("/", "."))
        with open(source) as old, open(own, "w") as new:
            new.write(old.read())
        linux.bind(own, source)
    linux.bind(folders.file("hosts"), "/etc/hosts")
    linux.bind(folders.file("resolv.conf"), os.path.realpath(
        "/etc/resolv.conf"))
    linux.mount("tmpfs", "/run", "tmpfs", 0, "mode=755")
    linux.bind(folders.var_lib, "/var/lib")
    linux.bind(folders.pod_log, "/var/log")


def network():
    for line in ("link set lo up", "link add node0 type bridge",
                 f"address add {plan.NODE_IP}/24 dev node0",
                 "link set node0 up",
                 # Without it the API server cannot call a webhook by its
                 # service's address: there is no default route.
                 f"route add {plan.SERVICE_CIDR} dev node0"):
        subprocess.run(["ip", *line.split()], check=True)
    with open("/proc/sys/net/ipv4/ip_forward", "w") as f:
        f.write("1")


def etcd(folders):
    peer, client = "http://127.0.0.1:2380", "http://127.0.0.1:2379"
    return [programs.path("etcd"), "--name=n", f"--data-dir={folders.etcd}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=n={peer}", "--unsafe-no-fsync"]


def apiserver(folders):
    key = folders.key
    return [programs.path("kube-apiserver"),
            "--etcd-servers=http://127.0.0.1:2379",
            "--bind-address=0.0.0.0", "--secure-port=6443",
            f"--advertise-address={plan.NODE_IP}",
            f"--service-cluster-ip-range={plan.SERVICE_CIDR}",
            f"--client-ca-file={key('ca.crt')}",
            f"--tls-cert-file={key('apiserver.crt')}",
            f"--tls-private-key-file={key('apiserver.key')}",
            f"--kubelet-client-certificate={key('apiserver-kubelet.crt')}",
            f"--kubelet-client-key={key('apiserver-kubelet.key')}",
            f"--kubelet-certificate-authority={key('ca.crt')}",
            # For an API that a pod serves, as Kueue's visibility.
            f"--requestheader-client-ca-file={key('ca.crt')}",
            "--requestheader-allowed-names=front-proxy",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            f"--proxy-client-cert-file={key('front-proxy.crt')}",
            f"--proxy-client-key-file={key('front-proxy.key')}",
            "--kubelet-preferred-address-types=InternalIP",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            f"--service-account-key-file={key('sa.pub')}",
            f"--service-account-signing-key-file={key('sa.key')}",
            "--service-account-issuer="
            f"https://kubernetes.default.svc.{plan.DOMAIN}",
            "--allow-privileged=true"]


def controller(folders, name, user):
    config = folders.kubeconfig(user)
    return [programs.path(name), f"--kubeconfig={config}",
            f"--authentication-kubeconfig={config}",
            f"--authorization-kubeconfig={config}",
            "--bind-address=127.0.0.1", "--leader-elect=false"]


def controller_manager(folders):
    key = folders.key
    return [*controller(folders, "kube-controller-manager",
                        "controller-manager"),
            "--use-service-account-credentials",
            f"--service-account-private-key-file={key('sa.key')}",
            f"--root-ca-file={key('ca.crt')}",
            f"--cluster-signing-cert-file={key('ca.crt')}",
            f"--cluster-signing-key-file={key('ca.key')}",
            "--controllers=*,-nodeipam,-cloud-node-lifecycle,"
            "-service-lb-controller,-node-route-controller"]


def kubelet(folders):
    return [programs.path("kubelet"),
            f"--config={folders.file('kubelet.yaml')}",
            f"--kubeconfig={folders.kubeconfig('kubelet')}",
            f"--root-dir={folders.kubelet}",
            f"--hostname-override={plan.NODE}", f"--node-ip={plan.NODE_IP}"]


class Programs:
    def __init__(self, folders):
        self.folders = folders
        self.children = {}  # process id: name, Popen

    def start(self, name, argv):
        env = {key: value for key, value in os.environ.items()
               if not key.lower().endswith("_proxy")}
        with open(os.path.join(self.folders.log, name + ".log"), "wb") as log:
            child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, env=env,
                                     stdout=log, stderr=subprocess.STDOUT)
        self.children[child.pid] = name, child

    def await_api(self):
        """The rest would only fail and try again until it answers."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            ready = subprocess.run(
                [programs.path("kubectl"), "get", "--raw=/readyz",
                 f"--kubeconfig={self.folders.kubeconfig('admin')}",
                 "--request-timeout=5s"],
                capture_output=True, check=False).returncode == 0
            if ready:
                return
            self.reap()
            time.sleep(0.2)
        sys.exit(f"the API server was not ready after {PATIENCE} s; its log "
                 "is kube-apiserver.log")

    def reap(self):
        """Orphans of containers come here, too; nobody asks for those."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self.children:
                name, _ = self.children[pid]
                sys.exit(f"{name} ended by itself, wait status {status}; its "
                         f"log is {name}.log")


def main(run, cgroup):
    folders = plan.Folders(run)
    mounts(folders)
    linux.sethostname(plan.NODE)
    network()
    control_groups.join(cgroup)
    up = Programs(folders)
    up.start("etcd", etcd(folders))
    up.start("kube-apiserver", apiserver(folders))
    up.start("containerd", ["containerd", "--config",
                            folders.file("containerd.toml")])
    up.await_api()
    up.start("kube-controller-manager", controller_manager(folders))
    up.start("kube-scheduler", controller(folders, "kube-scheduler",
                                          "scheduler"))
    up.start("kubelet", kubelet(folders))
    up.start("coredns", [programs.path("coredns"), "-conf",
                         folders.file("Corefile")])
    up.start("kube-proxy", [programs.path("kube-proxy"),
                            f"--config={folders.file('proxy.yaml')}",
                            f"--hostname-override={plan.NODE}"])
    print("up", flush=True)
    while not select.select([sys.stdin], [], [], 0.2)[0]:
        up.reap()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    main(*sys.argv[1:])
