# SPDX-License-Identifier: Apache-2.0
"""What every test on the cluster shares: kubectl, namespaces that go again,
MPIJobs, captures of what a user sees, checks, the last line.

A test is a function `test_*()`. The environment, from run.py, says how kubectl
is called (MUSTER_KUBECTL, a JSON list), which image has Open MPI and muster
(MUSTER_OPENMPI_IMAGE), whether the nodes are ours (MUSTER_OWN_NODE) and which
pipe cuts their power (MUSTER_NODE_POWER; see keeper.py), and where captures go
(MUSTER_CAPTURES).
"""
import contextlib
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
KUBECTL = json.loads(os.environ.get("MUSTER_KUBECTL", '["kubectl"]'))
IMAGE = os.environ.get("MUSTER_OPENMPI_IMAGE", "muster.test/openmpi:1")
# With OpenSSH instead of muster; empty: there is none.
OPENSSH_IMAGE = os.environ.get("MUSTER_OPENSSH_IMAGE", "")
OWN_NODE = os.environ.get("MUSTER_OWN_NODE") == "1"
# muster on this machine, to read logs with.
MUSTER = os.environ.get("MUSTER", "")
CAPTURES = os.environ.get("MUSTER_CAPTURES", os.path.join(
    ROOT, "build", "kubernetes", "captures"))
PATIENCE = 120  # seconds, for what never comes; nothing is measured with it
LABEL = "training.kubeflow.org/"
JOB_KINDS = ("mpijobs.kubeflow.org", "trainjobs.trainer.kubeflow.org",
             "jobsets.jobset.x-k8s.io", "workloads.kueue.x-k8s.io")
# A SIGTERM proves that somebody ended the pod, never who or why.
GUESSES = ("pre-empted by", "was preempted", "was evicted", "was drained",
           "out of memory", "deadline exceeded")
# A shell's line that ends once the test opens the gate: a name in DNS.
WAIT_AT_GATE = "until getent hosts gate >/dev/null; do sleep 0.3; done"


class Skip(Exception):
    pass


def check(condition, text, *details):
    if not condition:
        shown = "\n".join(str(d)[-4000:] for d in details)
        raise AssertionError(text + ("\n" + shown if shown else ""))


def until(condition, what, timeout=PATIENCE):
    """Waits for what `condition` gives, and returns it."""
    end = time.monotonic() + timeout
    while not (met := condition()):
        check(time.monotonic() < end, f"no {what} after {timeout} s")
        time.sleep(0.3)
    return met


def kubectl(*arguments, stdin=None):
    """Exit status, stdout and stderr of one kubectl command."""
    done = subprocess.run(
        [*KUBECTL, *arguments], input=stdin, capture_output=True, text=True,
        errors="replace", timeout=PATIENCE, check=False)
    return done.returncode, done.stdout, done.stderr


def told(*arguments, stdin=None):
    """The stdout of a kubectl command that has to work."""
    status, out, err = kubectl(*arguments, stdin=stdin)
    check(status == 0, f"kubectl {' '.join(arguments)}: {err}")
    return out


def on_node(*command):
    """The stdout of a command in the namespaces of our own node."""
    if not OWN_NODE:
        raise Skip("the node is not ours")
    done = subprocess.run([*KUBECTL[:-1], *command], capture_output=True,
                          text=True, timeout=PATIENCE, check=False)
    check(done.returncode == 0, " ".join(command), done.stderr)
    return done.stdout


def processors():
    """How many the cluster's nodes have."""
    nodes = json.loads(told("get", "nodes", "-o", "json"))["items"]
    return sum(float(node["status"]["capacity"]["cpu"]) for node in nodes)


def apply(value):
    """An object that is the cluster's, or is to be as it says."""
    told("apply", "-f", "-", stdin=json.dumps(value))


class Namespace:
    """One test's namespace; all that a test makes is in it."""

    def __init__(self, name):
        self.name = f"{name}-{secrets.token_hex(3)}"
        self.captures = os.path.join(CAPTURES, name)

    def kubectl(self, *arguments, stdin=None):
        return kubectl("--namespace", self.name, *arguments, stdin=stdin)

    def told(self, *arguments, stdin=None):
        return told("--namespace", self.name, *arguments, stdin=stdin)

    def create(self, manifest):
        """From a text, or a plain value."""
        if not isinstance(manifest, str):
            manifest = json.dumps(manifest)
        self.told("create", "-f", "-", stdin=manifest)

    def get(self, kind, name):
        return json.loads(self.told("get", kind, name, "-o", "json"))

    def pods(self, selector):
        return json.loads(self.told("get", "pods", "-l", selector, "-o",
                                    "json"))["items"]

    def conditions(self, kind, name):
        """Those of an object that are true, by type."""
        status = self.get(kind, name).get("status", {})
        return {c["type"]: c for c in status.get("conditions", [])
                if c["status"] == "True"}

    def open_gate(self, name="gate"):
        """Lets a program go on that runs WAIT_AT_GATE."""
        self.create({"apiVersion": "v1", "kind": "Service",
                     "metadata": {"name": name},
                     "spec": {"ports": [{"port": 1}]}})

    def follow(self, pod):
        """What a container says until its end, which may be the pod's: a
        process, whose stdout it is."""
        return subprocess.Popen(
            [*KUBECTL, "--namespace", self.name, "logs", "-f", pod],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def captured(self, name):
        """The path of a capture."""
        os.makedirs(self.captures, exist_ok=True)
        return os.path.join(self.captures, name + ".txt")

    def capture(self):
        """What a user sees, each command's output in a file of its own."""
        known = told("api-resources", "--namespaced", "-o", "name").split()
        jobs = [kind for kind in JOB_KINDS if kind in known]
        looks = {"get": ["get", ",".join([*jobs, "jobs", "pods"]), "-o",
                         "wide"],
                 "describe": ["describe", ",".join([*jobs, "pods"])],
                 "events": ["get", "events", "--sort-by=.lastTimestamp"]}
        names = self.told("get", "pods", "-o", "name").split()
        for pod in names:
            looks["logs-" + pod.split("/")[1]] = ["logs", pod,
                                                  "--timestamps"]
        for name, arguments in looks.items():
            with open(self.captured(name), "w") as f:
                f.write(f"$ kubectl {' '.join(arguments)}\n")
                f.write("".join(self.kubectl(*arguments)[1:]))


@contextlib.contextmanager
def namespace(name):
    ns = Namespace(name)
    told("create", "namespace", ns.name)
    try:
        # A pod before its namespace's account is refused.
        until(lambda: ns.kubectl("get", "serviceaccount", "default")[0] == 0,
              "service account")
        yield ns
    finally:
        with contextlib.suppress(AssertionError, OSError,
                                 subprocess.TimeoutExpired):
            ns.capture()
        kubectl("delete", "namespace", ns.name, "--wait=false")


class MpiJob:
    def __init__(self, ns, name, manifest):
        self.ns, self.name = ns, name
        ns.create(manifest)

    def conditions(self):
        return self.ns.conditions("mpijob", self.name)

    def finish(self, timeout=PATIENCE):
        """"Succeeded" or "Failed"."""
        def over():
            return next((end for end in ("Succeeded", "Failed")
                         if end in self.conditions()), None)
        return until(over, f"end of MPIJob {self.name}", timeout)

    def launchers(self):
        return self.ns.pods(f"{LABEL}job-name={self.name},"
                            f"{LABEL}job-role=launcher")

    def log(self, pod):
        return self.ns.told("logs", pod["metadata"]["name"])

    def launcher(self):
        """The newest one, as soon as there is one."""
        return until(lambda: max(
            self.launchers(), default=None,
            key=lambda pod: pod["metadata"]["creationTimestamp"]),
                     f"launcher of MPIJob {self.name}")

    def verdict(self):
        """Of a launcher that failed: code of the verdict, exit code, all that
        a user reads of it."""
        pod = until(lambda: next(filter(terminated, self.launchers()), None),
                    f"end of the launcher of {self.name}")
        state = terminated(pod)
        log = self.log(pod)
        text = f"{log}\n-- termination message\n{state.get('message')}"
        m = re.search(r'"code":\s*"(\w+)"', state.get("message", ""))
        return (m[1] if m else ""), state["exitCode"], text


def kill_session(process):
    """`nsenter` has kubectl as a child, which would stay."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


class Follower:
    """`kubectl logs -f` of a pod that may be deleted. Its text so far is
    `.text()`; it ends with the test."""

    def __init__(self, ns, pod):
        os.makedirs(ns.captures, exist_ok=True)
        self.path = os.path.join(ns.captures, f"followed-{pod}.txt")
        until(lambda: ns.kubectl("logs", pod)[0] == 0, f"log of {pod}")
        self.file = open(self.path, "w")
        self.process = subprocess.Popen(
            [*KUBECTL, "--namespace", ns.name, "logs", "-f", pod],
            stdout=self.file, stderr=subprocess.STDOUT,
            start_new_session=True)

    def text(self):
        with open(self.path, errors="replace") as f:
            return f.read()

    def until(self, part):
        until(lambda: part in self.text(), f"{part!r} in {self.path}")

    def whole(self):
        """Once the container has ended, or is gone."""
        self.process.wait(PATIENCE)
        return self.text()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        kill_session(self.process)
        self.file.close()


def terminated(pod):
    """The state in which the pod's first container ended, if it has."""
    containers = pod["status"].get("containerStatuses") or [{}]
    return containers[0].get("state", {}).get("terminated")


def ended_from_outside(text):
    """The words of a job whose pod somebody ended."""
    check("ended from outside" in text, "not ended from outside", text)
    for guess in GUESSES:
        check(guess not in text.lower(), f"a guess: {guess}", text)


def mpijob(name, command, workers=2, image=None, **spec):
    """The manifest of an MPIJob in the form of the operator's example."""
    image = image or IMAGE
    policy = {"cleanPodPolicy": "Running", "backoffLimit": 0,
              **spec.pop("runPolicy", {})}

    def replica(count, container, restart):
        container = {"image": image, "securityContext": {"runAsUser": 1000},
                     **container}
        return {"replicas": count, "restartPolicy": restart,
                "template": {"spec": {"containers": [container],
                                      "terminationGracePeriodSeconds": 5}}}
    return {
        "apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob",
        "metadata": {"name": name},
        "spec": {
            "slotsPerWorker": 1,
            "sshAuthMountPath": "/home/mpiuser/.ssh",
            "runPolicy": policy,
            "mpiReplicaSpecs": {
                "Launcher": replica(1, {"name": "launcher",
                                        "command": command}, "Never"),
                "Worker": replica(workers, {
                    "name": "worker", "command": ["/usr/sbin/sshd"],
                    "args": ["-De", "-f", "/home/mpiuser/.sshd_config"]},
                    "Never")},
            **spec}}


def part(manifest, role):
    """The pod template's spec of "Launcher" or "Worker"."""
    return manifest["spec"]["mpiReplicaSpecs"][role]["template"]["spec"]


def main(module):
    """Runs the module's tests and ends the program."""
    passed = failed = skipped = 0
    chosen = sys.argv[1:]
    for name, test in list(vars(module).items()):
        if not name.startswith("test_") or not callable(test):
            continue
        if chosen and name not in chosen:
            continue
        start = time.monotonic()
        try:
            test()
            passed += 1
            word = "ok  "
        except Skip as e:
            skipped += 1
            word = f"skip ({e})"
        except Exception:
            failed += 1
            word = "FAIL"
            traceback.print_exc(file=sys.stdout)
        print(f"{word}  {name}, {time.monotonic() - start:.1f} s", flush=True)
    print(f"{passed} passed, {failed} failed"
          + (f", {skipped} skipped" if skipped else ""), flush=True)
    sys.exit(1 if failed else 0)
