#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kinds of pods that only a cluster has: restricted Pod Security, the node's
network, a launcher that is a worker, namesakes, long lines, probes."""
import json
import subprocess
import sys
import tempfile
import time

import kube
from kube import (MpiJob, check, kubectl, mpijob, namespace, part, terminated,
                  until)

HELLO = "/home/mpiuser/hello"
MPIRUN = ["mpirun", "-n", "2", HELLO]
NATIVE = ["muster", "launch", "-n", "2", "--bootstrap", "pmix", "--", HELLO]


def succeeds(job, ranks=2):
    """The log of the only launcher of a job in which all ranks said hello."""
    end = job.finish()
    logs = [job.log(pod) for pod in job.launchers()]
    check(end == "Succeeded", f"the job {end}", *logs)
    check(len(logs) == 1, f"{len(logs)} launchers", *logs)
    for rank in range(ranks):
        check(f"rank {rank} of {ranks} on" in logs[0], f"no rank {rank}",
              logs[0])
    check(terminated(job.launchers()[0])["exitCode"] == 0, "not 0")
    return logs[0]


def restrict(manifest, uid):
    for role in ("Launcher", "Worker"):
        spec = part(manifest, role)
        spec["securityContext"] = {
            "runAsNonRoot": True, "fsGroup": uid,
            "seccompProfile": {"type": "RuntimeDefault"}}
        spec["containers"][0]["securityContext"] = {
            "runAsUser": uid, "runAsGroup": 0, "readOnlyRootFilesystem": True,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]}}


def test_restricted_pod_security():
    """The policy enforced; a user that no passwd knows, a root that nobody
    can write, no volume at /tmp. Natively and through mpirun."""
    with namespace("restricted") as ns:
        kubectl("label", "namespace", ns.name,
                "pod-security.kubernetes.io/enforce=restricted")
        for name, command in (("native", NATIVE), ("mpirun", MPIRUN)):
            manifest = mpijob(name, command)
            restrict(manifest, 1000770000)
            succeeds(MpiJob(ns, name, manifest))


def test_the_nodes_network():
    """hostNetwork: launcher and worker share host name and address; the rank
    runs in the worker's pod."""
    with namespace("hostnet") as ns:
        place = ["sh", "-c", "readlink /proc/self/ns/mnt; sleep 1"]
        for name, command in (
                ("native", [*NATIVE[:2], "-n", "1", *NATIVE[4:-1], *place]),
                ("mpirun", ["mpirun", "-n", "1", *place])):
            manifest = mpijob(name, command, workers=1,
                              runPolicy={"cleanPodPolicy": "None"})
            for role in ("Launcher", "Worker"):
                part(manifest, role)["hostNetwork"] = True
            job = MpiJob(ns, name, manifest)
            end = job.finish()
            log = job.log(job.launcher())
            check(end == "Succeeded", f"the job {end}", log)
            worker = ns.told("exec", f"{name}-worker-0", "--", "readlink",
                             "/proc/self/ns/mnt").strip()
            check(worker in log, f"no rank in the worker ({worker})", log)
            ns.told("delete", "mpijob", name)  # its port is the next one's
            until(lambda n=name: ns.kubectl(
                "get", "pod", f"{n}-worker-0")[0] != 0, "end of the worker")


def test_a_launcher_that_is_a_worker():
    with namespace("both") as ns:
        for name, command in (("native", NATIVE), ("mpirun", MPIRUN)):
            manifest = mpijob(name, command, workers=1,
                              runLauncherAsWorker=True)
            log = succeeds(MpiJob(ns, name, manifest))
            check(f"on {name}-launcher" in log, "no rank in the launcher", log)
            check(f"on {name}-worker-0" in log, "no rank in the worker", log)


def test_two_jobs_of_one_name():
    """At once, in two namespaces: each finds its own workers."""
    with namespace("one") as one, namespace("two") as two:
        jobs = [MpiJob(ns, "same", mpijob("same", MPIRUN))
                for ns in (one, two)]
        for job in jobs:
            succeeds(job)


def test_probes_of_the_kubelet():
    """TCP and exec probes every second: the worker is Ready because it is,
    its log does not grow with them."""
    with namespace("probes") as ns:
        manifest = mpijob("probed", ["mpirun", "-n", "2", "sh", "-c",
                                     "sleep 20"],
                          runPolicy={"cleanPodPolicy": "None"})
        container = part(manifest, "Worker")["containers"][0]
        container["readinessProbe"] = {
            "exec": {"command": ["muster", "worker", "probe", "ready"]},
            "periodSeconds": 1}
        container["livenessProbe"] = {"tcpSocket": {"port": 2222},
                                      "periodSeconds": 1}
        job = MpiJob(ns, "probed", manifest)

        def ready():
            pods = ns.pods(f"{kube.LABEL}job-role=worker")
            states = [c["ready"] for p in pods
                      for c in p["status"].get("containerStatuses", [])]
            return len(states) == 2 and all(states)
        until(ready, "readiness of both workers")
        before = len(ns.told("logs", "probed-worker-0").splitlines())
        time.sleep(10)
        lines = ns.told("logs", "probed-worker-0").splitlines()
        check(len(lines) - before < 8, "the log grows with each probe",
              "\n".join(lines))
        check(job.finish() == "Succeeded", "the job failed")


def test_lines_longer_than_the_runtimes():
    """containerd cuts what is longer than 16 KiB; kubectl logs joins it."""
    with namespace("long") as ns:
        line = "head -c 40000 /dev/zero | tr '\\0' x; echo end"
        for name, command in (
                ("native", [*NATIVE[:-1], "sh", "-c", line]),
                ("mpirun", ["mpirun", "-n", "2", "sh", "-c", line])):
            job = MpiJob(ns, name, mpijob(name, command))
            end = job.finish()
            log = job.log(job.launcher())
            check(end == "Succeeded", f"the job {end}", log)
            if name == "native":
                check(kube.MUSTER != "", "no muster here")
                done = subprocess.run([kube.MUSTER, "logs"], input=log,
                                      capture_output=True, text=True,
                                      timeout=kube.PATIENCE, check=False)
                check(done.returncode == 0, "muster logs", done.stderr)
                log = done.stdout
            whole = [w for w in log.splitlines() if w.endswith("x" * 40000
                                                               + "end")]
            check(len(whole) == 2, f"{name}: {len(whole)} whole lines",
                  log[:2000])


def test_a_sidecar_that_lives_as_long():
    """A container of the kind that ends by itself once the others have."""
    with namespace("sidecar") as ns:
        manifest = mpijob("beside", MPIRUN)
        for role in ("Launcher", "Worker"):
            part(manifest, role)["initContainers"] = [{
                "name": "beside", "image": kube.IMAGE,
                "command": ["sleep", "1000"], "restartPolicy": "Always"}]
        job = MpiJob(ns, "beside", manifest)
        end = job.finish()
        log = ns.told("logs", job.launcher()["metadata"]["name"], "-c",
                      "launcher")
        check(end == "Succeeded", f"the job {end}", log)
        check("rank 1 of 2" in log, "no rank 1", log)


def test_commands_in_the_launchers_pod():
    """What a person types while a job runs: `kubectl exec`."""
    with namespace("exec") as ns:
        job = MpiJob(ns, "typed", mpijob(
            "typed", ["mpirun", "-n", "2", "sh", "-c",
                      "echo all-is-up; sleep 60"]))
        pod = job.launcher()["metadata"]["name"]
        until(lambda: ns.kubectl("logs", pod)[1].count("all-is-up") >= 2,
              "output of both ranks")

        def typed(*words):
            status, out, err = ns.kubectl("exec", pod, "--", "muster", *words)
            check(status == 0, f"muster {' '.join(words)}: {status}", out, err)
            return out
        until(lambda: "2 running" in typed("status"), "ranks in status")
        check("workers 2 of 2 ready" in typed("status"), "no workers")
        check("typed-worker-1" in typed("ps"), "no rank in ps")
        check("ranks 0-1" in typed("stack"), "no ranks in stack")
        typed("fabric", "show")
        status = json.loads(typed("status", "-o", "json"))
        check(len(status["ranks"]) == 2, "not two ranks", status)
        found, out, err = ns.kubectl("exec", pod, "--", "muster", "doctor")
        check(found in (0, 1), f"muster doctor: {found}", out, err)
        ns.told("delete", "mpijob", "typed")


def test_a_workers_log_has_one_format():
    """Its own lines, its agent's and its audit records; MUSTER_LOG_FORMAT
    decides."""
    with namespace("format") as ns:
        for form in ("text", "json"):
            manifest = mpijob(form, MPIRUN, runPolicy={
                "cleanPodPolicy": "None"})
            part(manifest, "Worker")["containers"][0]["env"] = [
                {"name": "MUSTER_LOG_FORMAT", "value": form}]
            job = MpiJob(ns, form, manifest)
            check(job.finish() == "Succeeded", "the job failed")
            log = ns.told("logs", f"{form}-worker-0")
            lines = log.splitlines()
            check(any("ready on port" in line for line in lines)
                  and any("audit" in line and "agent" in line
                          for line in lines), "not the lines awaited", log)
            for line in lines:
                if form == "text":
                    check(line.startswith("muster: "), "not in text", log)
                else:
                    record = json.loads(line)
                    check("timestamp" in record and
                          ("audit" in record or "message" in record),
                          "not such a record", log)


def debug(ns, pod, name, user, command, target="launcher"):
    """Exit code and output of a command in a container that `kubectl debug`
    adds to a pod that runs."""
    aim = [f"--target={target}"] if target else []
    with tempfile.NamedTemporaryFile("w", suffix=".json") as custom:
        json.dump({"securityContext": {
            "runAsUser": user, "runAsGroup": user}}, custom)
        custom.flush()
        ns.told("debug", pod, f"--image={kube.IMAGE}", *aim, "-c", name,
                f"--custom={custom.name}", "--profile=general", "--", *command)

    def over():
        states = ns.get("pod", pod)["status"].get(
            "ephemeralContainerStatuses", [])
        return next((s["state"]["terminated"] for s in states
                     if s["name"] == name and "terminated" in s["state"]),
                    None)
    return (until(over, f"end of {name}")["exitCode"],
            ns.told("logs", pod, "-c", name))


def test_commands_in_a_debug_container():
    """`kubectl debug --target`: files and processes of the launcher are seen
    by its user and by root with SYS_PTRACE; without a target nothing is."""
    with namespace("debug") as ns:
        manifest = mpijob("looked-at", ["mpirun", "-n", "2", "sh", "-c",
                                        "echo all-is-up; sleep 100"])
        for role in ("Launcher", "Worker"):
            part(manifest, role)["containers"][0]["securityContext"] = {
                "runAsUser": 1000, "runAsGroup": 1000}
        job = MpiJob(ns, "looked-at", manifest)
        pod = job.launcher()["metadata"]["name"]
        until(lambda: ns.kubectl("logs", pod)[1].count("all-is-up") >= 2,
              "output of both ranks")
        for user in (1000, 0):
            for words, part_of_it in ((["status"], "2 running"),
                                      (["ps"], "looked-at-worker-1"),
                                      (["stack"], "ranks 0-1")):
                code, out = debug(ns, pod, f"{words[0]}-{user}", user,
                                  ["muster", *words])
                check(code == 0 and part_of_it in out,
                      f"user {user}: muster {words[0]}: {code}", out)
        for name, where, target, word in (
                ("alone", pod, None, "--target"),
                ("other", pod, "launcher", "SYS_PTRACE"),
                ("below", "looked-at-worker-0", "worker", "no launch")):
            code, out = debug(ns, where, name, 2000, ["muster", "status"],
                              target)
            check(code == 1 and word in out, f"{name}: {code}", out)
        ns.told("delete", "mpijob", "looked-at")


if __name__ == "__main__":
    kube.main(sys.modules[__name__])
