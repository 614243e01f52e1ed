# SPDX-License-Identifier: Apache-2.0
"""The library that tests use: Cluster, Job, Pod, Dns.

Does: starts a kubelet process, turns manifests into pods, forwards the verbs, runs programs in pods, reads logs.
Refuses: to run without root; to swallow a failure: every verb raises PodnetError with the server's sentence.
Owns: the kubelet's lifeline (a pipe): when this process ends, in whatever way, the kubelet removes everything.
Threads: every method may be called from any thread (one connection per thread).
"""
import collections
import contextlib
import os
import random
import secrets
import shutil
import subprocess
import sys
import time

from . import enter, mpijob, plainjobs, podspec, rpc, trainjob
from .manifest import Manifest, load_manifest

RUN = os.environ.get("PODNET_RUN", "/run/podnet")
PodnetError = rpc.RpcError
Query = collections.namedtuple("Query", "time client pod name type rcode answers proto")


class ExitStatus(collections.namedtuple("ExitStatus", "code signal reason message duration")):
    """code: exit code or None; signal: number or None; reason: Completed, Error, OOMKilled, StartError."""
    @property
    def shell(self):
        return self.code if self.code is not None else 128 + self.signal

    @property
    def ok(self):
        return self.code == 0


class Cluster:
    def __init__(self, name="podnet", ipv="4", namespace="default", keep_logs=None, detached=False):
        """ipv: "4", "6", "dual" or "dual-dead6" (AAAA answers lead nowhere). keep_logs: directory for all logs at the end.
        detached: no lifeline; the cluster lives until down() (the CLI's way)."""
        self.name, self.ipv, self.namespace, self.keep_logs = name, ipv, namespace, keep_logs
        self._detached, self.id, self._process, self.jobs, self.extra = detached, None, None, [], {}

    # life ---------------------------------------------------------------------------------------------------
    def __enter__(self):
        self.up()
        return self

    def __exit__(self, *exc):
        self.down()

    def up(self):
        if os.geteuid() != 0:
            raise PodnetError("podnet needs root: namespaces, cgroups and mounts")
        self.id = f"{self.name}.{secrets.token_hex(3)}"
        self.state = f"{RUN}/{self.id}"
        for attempt in range(10):
            try:
                os.makedirs(self.state, mode=0o711)
                break
            except FileNotFoundError:
                pass               # another cluster's end removed the empty parent in between
        # Sessions and pods must not inherit this shell's locale, proxies or Python settings: only what Python needs.
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "PYTHONDONTWRITEBYTECODE": "1",
               "PYTHONPATH": os.path.dirname(os.path.dirname(os.path.realpath(__file__)))}
        # The log of the kubelet itself: empty unless podnet has a defect.
        with open(f"{self.state}/kubelet.log", "w") as log:
            self._process = subprocess.Popen(
                ["/usr/bin/python3", "-m", "podnet.kubelet", self.state, self.ipv] + ["--detached"] * self._detached,
                stdin=subprocess.DEVNULL if self._detached else subprocess.PIPE, stdout=log, stderr=log, env=env, cwd="/",
                start_new_session=True, umask=0o022)
        try:
            self._connect(lambda: self._process.poll() is None)
        except PodnetError as e:
            with open(f"{self.state}/kubelet.log") as f:
                detail = f.read().strip()
            self._process.kill()
            self._process.wait()
            from . import cleanup
            cleanup.remove(self.id)
            raise PodnetError(f"podnet's kubelet did not start: {detail or e}") from None

    def _connect(self, alive=lambda: True, timeout=90):
        self._kubelet = rpc.connect_when_there(f"{self.state}/kubelet.sock", timeout, alive)
        self.dns = Dns(rpc.Client(f"{self.state}/dns.sock"), self.namespace)

    @classmethod
    def attach(cls, cluster_id, namespace="default"):
        """A running cluster, by its id or its name."""
        found = [d for d in os.listdir(RUN) if d == cluster_id or d.rsplit(".", 1)[0] == cluster_id] \
            if os.path.isdir(RUN) else []
        if len(found) != 1:
            raise PodnetError(f"{len(found)} clusters are called {cluster_id!r}")
        c = cls(found[0].rsplit(".", 1)[0], namespace=namespace, detached=True)
        c.id, c.state = found[0], f"{RUN}/{found[0]}"
        c._connect(timeout=10)     # it runs, or it is dead
        return c

    def down(self):
        if not self.id:
            return
        if self.keep_logs and os.path.isdir(f"{self.state}/pods"):
            for pod in os.listdir(f"{self.state}/pods"):
                shutil.copytree(f"{self.state}/pods/{pod}/logs", f"{self.keep_logs}/{pod}", dirs_exist_ok=True)
        with contextlib.suppress(OSError), open(f"{self.state}/kubelet.log") as f:
            if text := f.read():
                print(f"podnet: defects logged by the kubelet of {self.id}:\n{text}", file=sys.stderr)
        with contextlib.suppress(PodnetError, OSError):
            self._kubelet.call("down")
        self._kubelet.close()
        self.dns._rpc.close()
        if self._process:
            if self._process.stdin:
                self._process.stdin.close()
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        from . import cleanup
        cleanup.remove(self.id)          # finds nothing unless the kubelet died early
        self.id = None

    def _call(self, op, **args):
        return self._kubelet.call(op, **args)

    # pods ---------------------------------------------------------------------------------------------------
    def apply(self, manifest, workers=None, start=None, start_spread=0, seed=1, launcher_command=None, worker_command=None,
              namespace=None, cluster_domain=None, launchers=1, edit=None, restarts=False, **options):
        """kubectl apply. manifest: a path or a Manifest. start: {"worker-2": 3.0, "worker-3": "never", "launcher": 1}.
        start_spread: every pod without an own start begins at a random time within so many seconds (seed).
        edit(specs): last word of the test about the pod specs. Other keywords: podspec.Options."""
        m = manifest if isinstance(manifest, Manifest) else load_manifest(manifest)
        operator = {"MPIJob": mpijob, "TrainJob": trainjob}.get(m.job["kind"], plainjobs)
        notes = []
        opts = podspec.Options(**options)
        specs = operator.plan(m, opts, namespace=namespace or m.job["metadata"].get("namespace") or self.namespace,
                              workers=workers, launcher_command=launcher_command, worker_command=worker_command,
                              notes=notes, cluster_domain=cluster_domain, launchers=launchers)
        dice = random.Random(seed)
        start = dict(start or {})
        for s in specs:
            short = "launcher" if s["role"] == "launcher" else f"worker-{s['index']}"
            when = start.pop(short, start.pop(s["name"], None))
            if when is None and start_spread:
                when = dice.uniform(0, start_spread)
            if when == "never":
                s["start"]["never"] = True
            elif when:
                s["start"]["delay"] = float(when)
            if not restarts:
                s["restart_policy"] = "Never"
        if start:
            raise ValueError(f"start names no pod of this job: {', '.join(start)}")
        if edit:
            edit(specs)
        # Workers first, as they exist first in every operator; the launcher of AtStartup follows at once.
        self._call("create", specs=specs[1:] + specs[:1])
        job = Job(self, [Pod(self, s) for s in specs], notes)
        self.jobs.append(job)
        return job

    def pod(self, name, command=("/bin/sleep", "infinity"), env=None, hostname=None, subdomain="", restart_policy="Never",
            start=None, readiness=None, publish_not_ready=False, **options):
        """A bare pod without any operator."""
        s = podspec.bare(name, list(command), podspec.Options(**options), self.namespace, env)
        s.update(hostname=hostname or s["hostname"], subdomain=subdomain, restart_policy=restart_policy,
                 readiness=readiness, publish_not_ready=publish_not_ready, start={"delay": start} if start else {})
        s["env"]["HOSTNAME"] = s["hostname"]
        self._call("create", specs=[s])
        return Pod(self, s)

    def pods(self):
        return [Pod(self, i) for i in self._call("status")]

    def find(self, name):
        """A pod by full name, host name or short name (worker-2, launcher)."""
        hits = [p for p in self.pods() if name in (p.name, p.hostname, p.short)]
        if len(hits) != 1:
            raise PodnetError(f"{len(hits)} pods are called {name!r}: {', '.join(p.name for p in self.pods())}")
        return hits[0]

    def status(self):
        return self._call("status")

    # packets ------------------------------------------------------------------------------------------------
    def drop(self, src, dst, port=None, direction="both", proto="tcp"):
        """Drop packets of the TCP traffic src -> dst:port. direction, seen from src: "out" the way there, "in" the answers,
        "both". src or dst may be None (any pod); dst may be "dns". Without port: every IP packet between the two.
        Returns a Rule."""
        if direction not in ("in", "out", "both"):
            raise ValueError(f"direction {direction!r}")
        end = lambda p: p.name if isinstance(p, Pod) else p
        return Rule(self, self._call("drop", src=end(src), dst=end(dst), port=port, direction=direction, proto=proto))

    def only(self, ports):
        """A NetworkPolicy by ports: between pods, connections open to these ports only ("2222, 40000-40999")."""
        return Rule(self, self._call("only", ports=ports))

    def allow(self, rule=None):
        """Remove one rule, or all of them."""
        self._call("allow", tag=rule.tag if rule else None)


class Rule:
    def __init__(self, cluster, tag):
        self.cluster, self.tag = cluster, tag

    def packets(self):
        return self.cluster._call("dropped", tag=self.tag)

    def remove(self):
        self.cluster.allow(self)


class Job:
    def __init__(self, cluster, pods, notes):
        self.cluster, self.pods, self.notes = cluster, pods, notes
        self.launchers = [p for p in pods if p.role == "launcher"]
        self.launcher = self.launchers[0]
        self.workers = [p for p in pods if p.role == "worker"]

    def wait_ready(self, timeout=60):
        """True when every worker is Ready."""
        end = time.monotonic() + timeout
        return all(w.wait_ready(max(0, end - time.monotonic())) for w in self.workers)

    def delete(self, grace=None):
        """SIGTERM and the grace period for each pod; statuses and logs stay readable."""
        for p in self.pods:
            p.terminate(grace)

    def remove(self):
        """Everything killed and forgotten: the same manifest can be applied again. Logs are gone."""
        for p in self.pods:
            p.remove()
        self.cluster.jobs.remove(self)


class Pod:
    def __init__(self, cluster, spec):
        self.cluster, self.name, self.hostname = cluster, spec["name"], spec["hostname"]
        self.job, self.role, self.index, self.namespace = spec["job"], spec["role"], spec["index"], spec["namespace"]
        self.short = "launcher" if self.role == "launcher" else f"worker-{self.index}" if self.role == "worker" else self.name
        self.dir = f"{cluster.state}/pods/{self.name}"

    def __repr__(self):
        return f"<pod {self.name}>"

    def _call(self, op, **args):
        return self.cluster._call(op, pod=self.name, **args)

    # state --------------------------------------------------------------------------------------------------
    def info(self):
        return self._call("info")

    @property
    def phase(self):
        return self.info()["phase"]

    @property
    def ip(self):
        return self.info()["addresses"][0]

    @property
    def pid(self):
        """The machine's pid of the pod's process 1."""
        return self.info()["pid"]

    @property
    def restarts(self):
        return self.info()["restarts"]

    def wait(self, timeout=60, attempt=None):
        """ExitStatus of the container once the pod has ended (attempt: of that run only). TimeoutError after timeout."""
        h = self._call("wait", timeout=timeout, attempt=attempt)
        if h is False:
            raise TimeoutError(f"{self.name} still runs after {timeout} s")
        if h is None:
            return None
        return ExitStatus(h["code"], h["signal"], h["reason"], h["message"], h["finished"] - (h["started"] or h["finished"]))

    def wait_ready(self, timeout=60):
        return self._call("wait_ready", timeout=timeout)

    def usage(self):
        """{"memory": bytes, "cpu_seconds": s, "oom_kills": n}"""
        return self._call("usage")

    # output -------------------------------------------------------------------------------------------------
    def _log(self, kind, attempt):
        if attempt is None:
            runs = [int(n.split(".")[0]) for n in os.listdir(f"{self.dir}/logs")] if os.path.isdir(f"{self.dir}/logs") else []
            attempt = max(runs, default=0)
        return f"{self.dir}/logs/{attempt}.{kind}"

    def _read(self, path):
        try:
            with open(path, errors="replace", newline="") as f:
                return f.read()
        except (FileNotFoundError, ProcessLookupError):  # a process may end while it is read
            return ""

    def stdout(self, attempt=None):
        return self._read(self._log("stdout", attempt))

    def stderr(self, attempt=None):
        return self._read(self._log("stderr", attempt))

    def stdout_path(self, attempt=None):
        return self._log("stdout", attempt)

    def stderr_path(self, attempt=None):
        return self._log("stderr", attempt)

    def records(self, attempt=None):
        """[(monotonic time, "stdout"|"stderr", bytes)] in the order in which the kubelet read them."""
        raw = {}
        for s in ("stdout", "stderr"):
            with open(self._log(s, attempt), "rb") as f:
                raw[s] = f.read()
        out = []
        for line in self._read(self._log("index", attempt)).splitlines():
            t, s, offset, size = line.split()
            out.append((float(t), s, raw[s][int(offset):int(offset) + int(size)]))
        return out

    def combined(self, attempt=None):
        return b"".join(r[2] for r in self.records(attempt)).decode(errors="replace")

    logs = combined

    def termination_log(self):
        return self._read(f"{self.dir}/termination-log")

    def stall_logs(self):
        """The kubelet stops reading the container's stdout and stderr (a stuck log collector)."""
        self._call("stall", stall=True)

    def resume_logs(self):
        self._call("stall", stall=False)

    # programs -----------------------------------------------------------------------------------------------
    def popen(self, argv, env=None, user=None, **popen_args):
        """kubectl exec as a subprocess.Popen. user: "root" (all of the "kubernetes" profile's capabilities) or None."""
        from .security import RUNTIME_DEFAULT_CAPS
        who = (0, 0, [], RUNTIME_DEFAULT_CAPS, False) if user == "root" else user
        return enter.popen(self.info(), list(argv), env, who, **popen_args)

    def exec(self, argv, input=None, timeout=60, env=None, user=None, check=False):
        """kubectl exec: CompletedProcess with text stdout and stderr."""
        with self.popen(argv, env, user, stdin=subprocess.DEVNULL if input is None else subprocess.PIPE,
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace") as p:
            try:
                out, err = p.communicate(input, timeout)
            except BaseException:
                p.kill()
                raise
        done = subprocess.CompletedProcess(argv, p.returncode, out, err)
        if check:
            done.check_returncode()
        return done

    def pids(self):
        """The machine's pids of all processes in the pod."""
        return self._call("pids")

    def processes(self):
        """{pid: command line} of all processes in the pod."""
        out = {}
        for pid in self.pids():
            text = self._read(f"/proc/{pid}/cmdline")
            out[pid] = text.replace("\0", " ").strip()
        return out

    # faults -------------------------------------------------------------------------------------------------
    def start(self):
        """Start a pod that was held back (start: "never" or late)."""
        self._call("start")

    def kill(self, signal=9):
        """Signal process 1; with 9 the whole pod is gone when this returns."""
        self._call("kill", number=int(signal))

    def terminate(self, grace=None):
        """kubectl delete: SIGTERM, grace period, SIGKILL."""
        self._call("terminate", grace=grace)

    def remove(self):
        """Killed and forgotten, its logs too; the name is free again."""
        self._call("remove")

    def freeze(self):
        self._call("freeze")

    def thaw(self):
        self._call("thaw")

    def cut(self, link=False):
        """Silent partition of the pod; link=True also takes its carrier away."""
        self._call("cut", link=link)

    def join(self):
        self._call("join")

    def lose(self, dns=True):
        """Node loss: no packet leaves any more, everything in the pod is dead; dns=True: its name stays for now."""
        self._call("lose", dns=dns)

    def restart(self):
        """A new pod of the same name with a new address."""
        self._call("restart")


class Dns:
    """Faults by name; see dns_server.py for which names they hit. types narrows to ("A",) or ("AAAA",)."""
    def __init__(self, client, namespace):
        self._rpc, self._ns = client, namespace

    def _fault(self, name, kind, types, **args):
        self._rpc.call("fault", name=name, kind=kind, types=list(types), namespace=self._ns, **args)

    def set(self, name, addresses, types=("A", "AAAA"), seconds=None):
        self._fault(name, "set", types, addresses=list(addresses), seconds=seconds)

    def move(self, name, address):
        self.set(name, [address])

    def late(self, name, seconds, types=("A", "AAAA")):
        """The name does not exist until so many seconds from now."""
        self._fault(name, "nxdomain", types, seconds=seconds)

    def nxdomain(self, name, types=("A", "AAAA"), seconds=None):
        self._fault(name, "nxdomain", types, seconds=seconds)

    vanish = nxdomain

    def servfail(self, name, types=("A", "AAAA"), seconds=None):
        self._fault(name, "servfail", types, seconds=seconds)

    def silent(self, name, types=("A", "AAAA"), seconds=None):
        """Queries get no answer at all."""
        self._fault(name, "silent", types, seconds=seconds)

    def delay(self, name, seconds):
        self._rpc.call("delay", name=name, seconds=seconds, namespace=self._ns)

    def clear(self, name=None):
        self._rpc.call("clear", name=name, namespace=self._ns)

    def names(self):
        """{name: [addresses]} as published, faults left out."""
        return self._rpc.call("names")

    def queries(self, since=None, name=None, pod=None):
        """Every query so far; time is time.monotonic(). name: a substring; pod: a Pod."""
        found = [Query(*q) for q in self._rpc.call("queries", since=since)]
        return [q for q in found if (name is None or name in q.name) and (pod is None or q.pod == pod.name)]
