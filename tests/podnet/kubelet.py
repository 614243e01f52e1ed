# SPDX-License-Identifier: Apache-2.0
"""The process that owns a cluster: the bridge, the DNS server, every pod, and their removal.

Does: starts pods (now, late, or when others are ready), probes them, publishes their names, records exits, restarts
      containers by policy, executes the failure verbs, and cleans up when told or when its parent is gone.
Refuses: a second pod of the same name.
Runs as `python3 -m podnet.kubelet STATE_DIR IPV [--detached]`, one asyncio loop, one thread (forks stay safe).
Its stdin is the lifeline: end of file means that the harness is gone, however it died, and everything is removed.
"""
import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time

from . import cgroups, linux, machine, probes, rpc
from .container import Container, launch
from .network import NOWHERE6, Network
from .podspec import NODE

_SANDBOX = (("net", linux.CLONE_NEWNET), ("uts", linux.CLONE_NEWUTS), ("ipc", linux.CLONE_NEWIPC))
SANDBOX_GRACE = 1.0        # a finished pod's address answers (with RST) this long, as a real sandbox does


class Pod:
    def __init__(self, kubelet, spec):
        self.kubelet, self.spec, self.name = kubelet, spec, spec["name"]
        self.dir = f"{kubelet.state}/pods/{self.name}"
        self.cgroup = cgroups.PodCgroup(kubelet.id, self.name)
        self.phase, self.ready, self.lost, self.deleted, self.cut = "Pending", False, False, False, False
        self.container, self.sandbox, self.number, self.addresses = None, [], None, []
        self.history, self.restarts, self.refused, self.frozen = [], 0, [], False
        self.tasks, self.changed = set(), asyncio.Event()
        self.created = self.ready_at = None

    # start --------------------------------------------------------------------------------------------------
    def prepare(self):
        """A new sandbox: address, cgroup, the kubelet's files."""
        if self.spec["host_network"] and self.kubelet.node:
            self.number, self.addresses, own = self.kubelet.node
            self.sandbox = [(os.dup(fd), flag) for fd, flag in own]
        else:
            self.number, self.addresses = self.kubelet.network.allocate()
        self.network_commands = self.kubelet.network.inside(self.addresses)
        for d in ("mnt", "etc", "logs"):
            os.makedirs(f"{self.dir}/{d}", exist_ok=True)
        s = self.spec
        fqdn = f"{s['hostname']}.{s['subdomain']}.{s['namespace']}.svc.cluster.local" if s["subdomain"] else None
        own_name = NODE if s["host_network"] else s["hostname"]
        hosts = "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n" \
                "fe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n"
        for a in self.addresses:
            hosts += f"{a}\t{fqdn}\t{s['hostname']}\n" if fqdn and own_name != NODE else f"{a}\t{own_name}\n"
        search = [f"{s['namespace']}.svc.cluster.local", "svc.cluster.local", "cluster.local", *s["dns_search"]]
        resolv = f"search {' '.join(search)}\n" + \
                 "".join(f"nameserver {a}\n" for a in self.kubelet.network.dns_addresses()) + "options ndots:5\n"
        for name, text in (("hosts", hosts), ("hostname", own_name + "\n"), ("resolv.conf", resolv)):
            with open(f"{self.dir}/etc/{name}", "w") as f:
                f.write(text)
            os.chmod(f"{self.dir}/etc/{name}", 0o644)
        self.cgroup.create()
        self.refused = self.cgroup.limits(s.get("memory"), s.get("cpu"), s.get("cpus"), s.get("pids"),
                                          s.get("cpu_request"))
        for key, value in s["downward"].items():
            s["env"][key] = {"status.podIP": self.addresses[0], "status.podIPs": ",".join(self.addresses)}[value]
        self.kubelet.dns("known", pod=self.name, addresses=self.addresses)

    def new_container(self):
        log = f"{self.dir}/termination-log"
        open(log, "w").close()
        os.chmod(log, 0o666)
        self.container = Container(self, self.restarts)
        return self.container

    def running(self):
        c = self.container
        c.watch(asyncio.get_running_loop(), self._ended)
        if c.error:
            return
        self.phase = "Running"
        self.created = self.created or time.monotonic()
        probe = self.spec["readiness"]
        if probe:
            self.spawn(probes.run(probe, self, self.set_ready, False))
        else:
            self.set_ready(True)
        if self.spec["liveness"]:
            self.spawn(probes.run(self.spec["liveness"], self, self._alive, True))
        self.publish()

    def spawn(self, coroutine):
        task = asyncio.ensure_future(coroutine)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def _alive(self, ok):
        if not ok:
            self.spawn(self.terminate(self.spec["grace"]))

    # names --------------------------------------------------------------------------------------------------
    def set_ready(self, ready):
        if ready and not self.ready:
            self.ready_at = time.monotonic()
        self.ready = ready
        self.publish()
        self.notify()

    def publish(self):
        s = self.spec
        shown = s["subdomain"] and self.phase in ("Running", "Unknown") and (self.ready or s["publish_not_ready"])
        if shown:
            service = f"{s['subdomain']}.{s['namespace']}.svc.cluster.local"
            self.kubelet.dns("publish", pod=self.name, names=[f"{s['hostname']}.{service}", service],
                             addresses=self.addresses)
        else:
            self.kubelet.dns("withdraw", pod=self.name)

    # end ----------------------------------------------------------------------------------------------------
    def _ended(self, container, code, number):
        for t in self.tasks - {asyncio.current_task()}:
            t.cancel()
        oom = self.cgroup.oom_kills() > 0
        reason = "StartError" if container.error else "OOMKilled" if oom and number == 9 else \
            "Completed" if code == 0 else "Error"
        with open(f"{self.dir}/termination-log", errors="replace") as f:
            message = f.read(4096)
        self.history.append({"code": code, "signal": number, "reason": reason, "message": container.error or message,
                             "started": container.started, "finished": time.monotonic()})
        self.container, self.frozen = None, False
        if self.lost:
            self.phase, self.ready = "Unknown", False
        else:
            policy = self.spec["restart_policy"]
            again = not self.deleted and (policy == "Always" or policy == "OnFailure" and code != 0) \
                and self.restarts < self.spec["max_restarts"]
            self.phase = "Running" if again else "Succeeded" if code == 0 else "Failed"
            self.set_ready(False)
            if again:
                self.restarts += 1
                self.spawn(self._again())
            else:
                self.kubelet.finished(self)
                asyncio.get_running_loop().call_later(SANDBOX_GRACE, self.drop_sandbox, self.number)
        if self.lost:
            self.drop_sandbox(self.number)
        self.notify()

    async def _again(self):
        await asyncio.sleep(self.spec["restart_backoff"])
        self.kubelet.start([self])

    def drop_sandbox(self, number):
        if number == self.number and not self.container:
            for fd, _ in self.sandbox:
                os.close(fd)
            self.sandbox = []
            if not self.spec["host_network"]:
                self.kubelet.network.detach(number)

    @property
    def terminal(self):
        return self.phase in ("Succeeded", "Failed", "Unknown")

    def notify(self):
        self.changed.set()
        self.changed = asyncio.Event()
        self.kubelet.changed.set()
        self.kubelet.changed = asyncio.Event()

    def kill(self, number=signal.SIGKILL):
        if self.container:
            self.container.signal(number)
            if number == signal.SIGKILL and self.frozen:
                self.cgroup.thaw()
                self.frozen = False

    async def terminate(self, grace):
        """kubectl delete: SIGTERM to process 1, the grace period, SIGKILL."""
        self.deleted = True
        if self.container:
            self.kill(signal.SIGTERM)
            end = time.monotonic() + grace
            while self.container and (left := end - time.monotonic()) > 0:
                await wait_event(self.changed, left)
            self.kill()
            while self.container:
                await wait_event(self.changed, 1)
        elif self.phase == "Pending":
            self.phase = "Failed"
            self.notify()

    def info(self):
        s, c = self.spec, self.container
        return {"name": self.name, "phase": self.phase, "ready": self.ready, "pid": c.pid if c else None,
                "addresses": self.addresses, "restarts": self.restarts, "refused": self.refused, "cwd": s["cwd"],
                "created": self.created, "ready_at": self.ready_at, "frozen": self.frozen, "hostname": s["hostname"],
                "namespace": s["namespace"], "env": s["env"], "argv": s["argv"], "job": s["job"], "role": s["role"],
                "index": s["index"], "history": self.history, "dir": self.dir, "cgroup_procs": self.cgroup.procs_files(),
                "identity": [s["uid"], s["gid"], s["groups"], s["caps"], s["no_new_privs"], s["old_kernel"]], "veth": f"v{self.number}"}


async def wait_event(event, timeout):
    try:
        await asyncio.wait_for(event.wait(), timeout)
        return True
    except asyncio.TimeoutError:
        return False


class Kubelet:
    def __init__(self, state, ipv):
        self.state, self.id = state, os.path.basename(state)
        self.pods, self.changed = {}, asyncio.Event()
        self.node = None        # number, addresses and namespaces of the network that host-network pods share
        self.own_pidns = os.open("/proc/self/ns/pid", os.O_RDONLY)
        self.machine = machine.Settings(os.path.dirname(state))
        self.network = Network("dual" if ipv == "dual-dead6" else ipv)
        linux.unshare(linux.CLONE_NEWNET | linux.CLONE_NEWNS)
        linux.mount(None, "/", None, linux.MS_REC | linux.MS_PRIVATE)
        self.network.setup()
        self.dns_process = subprocess.Popen(
            ["/usr/bin/python3", "-m", "podnet.dns_server", state, *self.network.dns_addresses()],
            stdin=subprocess.PIPE, cwd="/", env=dict(os.environ))
        self._dns = rpc.connect_when_there(f"{state}/dns.sock", timeout=60, alive=lambda: self.dns_process.poll() is None)
        if ipv == "dual-dead6":
            self.dns("nowhere")
        self.stop = asyncio.Event()

    def dns(self, op, **args):
        return self._dns.call(op, **args)

    def start(self, pods):
        """Start a batch; a pod without a sandbox gets a new one."""
        if self.machine.expect(len(self.pods)):
            self.network.answer_arp()
        for at in range(0, len(pods), 16):
            fresh, containers = [], []
            for p in pods[at:at + 16]:
                if not p.sandbox:
                    p.prepare()
                    # A pod on the node's network joins what the node's first pod made.
                    if not p.sandbox:
                        fresh.append(p)
                containers.append(p.new_container())
                if p.spec["host_network"] and not self.node:
                    self._launch(containers, fresh)
                    fresh, containers = [], []
            self._launch(containers, fresh)

    def _launch(self, containers, fresh):
        launch(containers, self.own_pidns, lambda alive: self._attach([c for c in alive if c.pod in fresh]))
        for c in containers:
            c.pod.running()

    def _attach(self, containers):
        self.network.attach([(c.pod.number, c.pid) for c in containers])
        for c in containers:
            c.pod.sandbox = [(os.open(f"/proc/{c.pid}/ns/{kind}", os.O_RDONLY), flag) for kind, flag in _SANDBOX]
            if c.pod.spec["host_network"]:
                self.node = (c.pod.number, c.pod.addresses,
                             [(os.dup(fd), flag) for fd, flag in c.pod.sandbox if flag != linux.CLONE_NEWIPC])
            if c.pod.cut:
                self.network.cut(c.pod.number)

    async def _later(self, pod):
        gate = pod.spec["start"]
        await asyncio.sleep(gate.get("delay", 0))
        for name in gate.get("ready", []):
            while not (name in self.pods and self.pods[name].ready):
                await wait_event(self.changed, 1)
        if pod.phase == "Pending":
            self.start([pod])

    def finished(self, pod):
        for name in pod.spec["cleanup"]:
            if name in self.pods:
                other = self.pods[name]
                asyncio.ensure_future(other.terminate(other.spec["grace"]))

    # operations ---------------------------------------------------------------------------------------------
    async def op_create(self, specs):
        now = []
        for s in specs:
            if s["name"] in self.pods:
                raise ValueError(f"pod {s['name']} exists already")
        for s in specs:
            pod = self.pods[s["name"]] = Pod(self, s)
            gate = s["start"]
            if gate.get("never"):
                continue
            if gate.get("delay") or gate.get("ready"):
                pod.spawn(self._later(pod))
            else:
                now.append(pod)
        self.start(now)
        return [p.info() for p in now]

    def _pod(self, name):
        if name not in self.pods:
            raise KeyError(f"no pod {name}; there are {', '.join(self.pods) or 'none'}")
        return self.pods[name]

    async def op_start(self, pod):
        """A pod held back by start never (or not yet) starts now."""
        p = self._pod(pod)
        if p.phase != "Pending":
            raise ValueError(f"{pod} is {p.phase}")
        self.start([p])

    def op_info(self, pod):
        return self._pod(pod).info()

    def op_status(self):
        return [dict(p.info(), memory=p.cgroup.memory(), cpu_seconds=p.cgroup.cpu_seconds(),
                     oom_kills=p.cgroup.oom_kills()) for p in self.pods.values()]

    def op_usage(self, pod):
        c = self._pod(pod).cgroup
        return {"memory": c.memory(), "cpu_seconds": c.cpu_seconds(), "oom_kills": c.oom_kills()}

    async def op_wait(self, pod, timeout=None, attempt=None):
        p = self._pod(pod)
        done = lambda: p.terminal if attempt is None else len(p.history) > attempt or p.terminal
        return await self._until(p, done, timeout) and (p.history[-1 if attempt is None else attempt] if p.history else None)

    async def op_wait_ready(self, pod, timeout=None):
        p = self._pod(pod)
        return bool(await self._until(p, lambda: p.ready, timeout))

    async def _until(self, p, done, timeout):
        end = None if timeout is None else time.monotonic() + timeout
        while not done():
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return False
            await wait_event(p.changed, left)
        return True

    async def op_kill(self, pod, number=9):
        p = self._pod(pod)
        p.kill(number)
        while number == 9 and p.container:
            await wait_event(p.changed, 1)

    async def op_terminate(self, pod, grace=None):
        p = self._pod(pod)
        await p.terminate(p.spec["grace"] if grace is None else grace)

    def op_freeze(self, pod):
        p = self._pod(pod)
        p.cgroup.freeze()
        p.frozen = True

    def op_thaw(self, pod):
        p = self._pod(pod)
        p.cgroup.thaw()
        p.frozen = False

    def op_cut(self, pod, link=False):
        p = self._pod(pod)
        p.cut = True
        self.network.cut(p.number, link)

    def op_join(self, pod):
        p = self._pod(pod)
        if p.lost:
            raise ValueError(f"{pod}'s node is lost; restart() brings the pod back")
        p.cut = False
        self.network.join(p.number)

    async def op_lose(self, pod, dns=True):
        """The node is gone: no packet, no FIN, no RST; the name stays (dns=True) as until the node controller acts."""
        p = self._pod(pod)
        self.network.cut(p.number)
        p.lost = True
        p.kill()
        while p.container:
            await wait_event(p.changed, 1)
        if not dns:
            self.dns("withdraw", pod=pod)

    async def op_restart(self, pod):
        """A new pod of the same name: new sandbox, new address."""
        p = self._pod(pod)
        p.deleted, policy = True, p.deleted
        await self.op_kill(pod)
        p.drop_sandbox(p.number)
        p.cgroup.remove()
        p.deleted = p.lost = p.cut = p.frozen = False
        p.phase = "Pending"
        p.restarts += 1
        self.start([p])
        p.notify()

    async def op_remove(self, pod):
        p = self._pod(pod)
        p.deleted = True
        for t in p.tasks:
            t.cancel()
        await self.op_kill(pod)
        self.dns("withdraw", pod=pod)
        p.drop_sandbox(p.number)
        p.cgroup.remove()
        shutil.rmtree(p.dir, ignore_errors=True)
        del self.pods[pod]

    def op_pids(self, pod):
        return self._pod(pod).cgroup.pids()

    def op_stall(self, pod, stall):
        c = self._pod(pod).container
        if c:
            c.stall() if stall else c.resume()

    def _end(self, name):
        return name if name in (None, "dns") else self._pod(name).number

    def op_drop(self, src, dst, port, direction, proto):
        return self.network.drop(self._end(src), self._end(dst), port, direction, proto)

    def op_allow(self, tag=None):
        self.network.allow(tag)

    def op_only(self, ports):
        return self.network.only(ports)

    def op_dropped(self, tag):
        return self.network.dropped(tag)

    async def op_down(self):
        await self.shutdown()

    def op_pid(self):
        return os.getpid()

    async def shutdown(self):
        for p in self.pods.values():
            p.deleted = True
            for t in p.tasks:
                t.cancel()
            p.kill()
            p.cgroup.thaw()
        end = time.monotonic() + 20
        while any(p.container for p in self.pods.values()) and time.monotonic() < end:
            await wait_event(self.changed, 0.5)
        self.dns_process.stdin.close()
        self.dns_process.kill()
        self.dns_process.wait()
        for p in self.pods.values():
            p.cgroup.remove()
        cgroups.remove_cluster(self.id)
        shutil.rmtree(self.state, ignore_errors=True)
        self.machine.restore()
        self.stop.set()


async def main(state, ipv, detached):
    kubelet = Kubelet(state, ipv)
    loop = asyncio.get_running_loop()
    ending = []

    def end():
        if not ending:
            ending.append(asyncio.ensure_future(kubelet.shutdown()))

    for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(s, end)
    if not detached:
        def lifeline():
            if not os.read(0, 1):
                loop.remove_reader(0)
                end()
        loop.add_reader(0, lifeline)
    server = await rpc.serve(f"{state}/kubelet.sock", kubelet)
    await kubelet.stop.wait()
    await asyncio.sleep(0.02)       # let the answer of "down" leave
    server.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], "--detached" in sys.argv))
