# SPDX-License-Identifier: Apache-2.0
"""Process 1 of a node: its own mounts, its own network, its programs.

keeper.py starts it in namespaces of its own, with the network namespace of the
first node, which has the control plane, as descriptor 3. It ends, and with it,
by the kernel's hand, every process and mount of the node, when its standard
input does or when it gets a signal. It prints "up" once all programs are
started and ends with a sentence when one of them has ended by itself.
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


FIRST_NETWORK = 3


def mounts(own):
    linux.mount(None, "/", None, linux.MS_REC | MS_SHARED)
    linux.mount("proc", "/proc", "proc")
    for setting in plan.MACHINE_SETTINGS:
        source = f"/proc/sys/{setting}"
        if not os.path.exists(source):
            continue
        copy = os.path.join(own.settings, setting.replace("/", "."))
        with open(source) as old, open(copy, "w") as new:
            new.write(old.read())
        linux.bind(copy, source)
    if os.path.exists(own.file("meminfo")):
        linux.bind(own.file("meminfo"), "/proc/meminfo")
    linux.bind(own.file("hosts"), "/etc/hosts")
    linux.bind(own.file("resolv.conf"), os.path.realpath("/etc/resolv.conf"))
    linux.mount("tmpfs", "/run", "tmpfs", 0, "mode=755")
    linux.bind(own.var_lib, "/var/lib")
    linux.bind(own.pod_log, "/var/log")


def network(node):
    ip("link set lo up")
    if node.number == plan.FIRST.number:
        ip("link add node0 type bridge")
    else:
        # A link to the first node's bridge, named there as this node is.
        first = f"/proc/self/fd/{FIRST_NETWORK}"
        there = ["nsenter", f"--net={first}"]
        ip(f"link add node0 type veth peer name {node.name} netns {first}")
        ip(f"link set {node.name} master node0", there)
        ip(f"link set {node.name} up", there)
        ip(f"route replace {node.pod_cidr} via {node.ip}", there)
    ip(f"address add {node.ip}/24 dev node0")
    ip("link set node0 up")
    # Without it the API server cannot call a webhook by its service's address:
    # there is no default route.
    ip(f"route add {plan.SERVICE_CIDR} dev node0")
    if node.number != plan.FIRST.number:
        ip(f"route add {plan.FIRST.pod_cidr} via {plan.FIRST.ip}")
    write("/proc/sys/net/ipv4/ip_forward", "1")


def ip(line, before=()):
    subprocess.run([*before, "ip", *line.split()], check=True,
                   pass_fds=[FIRST_NETWORK])


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def queue():
    """Hands the first packet of each connection between pods, also of two on
    one bridge, to kube-network-policies. Its own rules need nftables' queue
    expression, which not every kernel has that has iptables' target."""
    write("/proc/sys/net/bridge/bridge-nf-call-iptables", "1")
    subprocess.run(["iptables", "-A", "FORWARD", "-m", "conntrack",
                    "--ctstate", "NEW", "-j", "NFQUEUE", "--queue-num",
                    str(plan.QUEUE)], check=True)


def policies(folders, node):
    return [programs.path("kube-network-policies"),
            f"--kubeconfig={folders.kubeconfig('policies')}",
            f"--hostname-override={node.name}", f"--nfqueue-id={plan.QUEUE}",
            "--disable-nri", "--metrics-bind-address=127.0.0.1:9080", "--v=2"]


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
            f"--advertise-address={plan.FIRST.ip}",
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


def kubelet(folders, node):
    own = folders.of(node)
    return [programs.path("kubelet"), f"--config={own.file('kubelet.yaml')}",
            f"--kubeconfig={folders.kubeconfig(node.user)}",
            f"--root-dir={own.kubelet}",
            f"--hostname-override={node.name}", f"--node-ip={node.ip}"]


def proxy(folders, node):
    return [programs.path("kube-proxy"),
            f"--config={folders.of(node).file('proxy.yaml')}",
            f"--hostname-override={node.name}"]


class Programs:
    """The node's programs. One that ends takes the node along, but for those
    that a cluster starts again as a Deployment does, a few times."""

    def __init__(self, folders, node):
        self.folders, self.log = folders, folders.of(node).log
        self.children = {}  # process id: name, argv, Popen
        self.starts_left = {"coredns": 20}

    def start(self, name, argv):
        env = {key: value for key, value in os.environ.items()
               if not key.lower().endswith("_proxy")}
        with open(os.path.join(self.log, name + ".log"), "ab") as log:
            child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, env=env,
                                     stdout=log, stderr=subprocess.STDOUT)
        self.children[child.pid] = name, argv, child

    def await_api(self):
        """The rest would only fail and try again until it answers."""
        self.wait("kube-apiserver", lambda: subprocess.run(
            [programs.path("kubectl"), "get", "--raw=/readyz",
             f"--kubeconfig={self.folders.kubeconfig('admin')}",
             "--request-timeout=5s"],
            capture_output=True, check=False).returncode == 0)

    def await_runtime(self):
        """A kubelet that does not find it ends."""
        self.wait("containerd",
                  lambda: os.path.exists(plan.CONTAINERD_SOCKET))

    def wait(self, name, ready):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if ready():
                return
            self.reap()
            time.sleep(0.2)
        sys.exit(f"{name} was not ready after {PATIENCE} s; its log is "
                 f"{name}.log")

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
                name, argv, _ = self.children.pop(pid)
                self.starts_left[name] = self.starts_left.get(name, 0) - 1
                if self.starts_left[name] >= 0:
                    self.start(name, argv)
                    continue
                sys.exit(f"{name} ended by itself, wait status {status}; its "
                         f"log is {name}.log")


def control_plane(up, folders):
    up.await_api()
    up.start("kube-controller-manager", controller_manager(folders))
    up.start("kube-scheduler", controller(folders, "kube-scheduler",
                                          "scheduler"))
    up.start("coredns", [programs.path("coredns"), "-conf",
                         folders.file("Corefile")])


def main(run, shape, number, cgroup):
    folders, shape = plan.Folders(run), plan.Shape.of(shape)
    node = shape.all_nodes()[int(number) - 1]
    mounts(folders.of(node))
    control_groups.enter(cgroup)
    linux.sethostname(node.name)
    network(node)
    os.close(FIRST_NETWORK)
    up = Programs(folders, node)
    first = node.number == plan.FIRST.number
    if first:
        up.start("etcd", etcd(folders))
        up.start("kube-apiserver", apiserver(folders))
    up.start("containerd", ["containerd", "--config",
                            folders.of(node).file("containerd.toml")])
    if first:
        control_plane(up, folders)
    up.await_runtime()
    up.start("kubelet", kubelet(folders, node))
    up.start("kube-proxy", proxy(folders, node))
    if shape.policies:
        queue()
        up.start("kube-network-policies", policies(folders, node))
    print("up", flush=True)
    while not select.select([sys.stdin], [], [], 0.2)[0]:
        up.reap()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    main(*sys.argv[1:])
