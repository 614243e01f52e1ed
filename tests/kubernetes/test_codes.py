#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What Kubernetes makes of the launcher's exit codes: rules of a Job, a
TrainJob's runtime and a JobSet (test_jobset.py); an MPIJob has none.
A permanent error gets no second pod, one that may pass gets one."""
import copy
import json
import os
import subprocess
import sys

import yaml

import kube
from kube import (IMAGE, MUSTER, MpiJob, check, mpijob, namespace, terminated,
                  until)
from trainer import create, mpi_runtime, need_trainer

HERE = ["--local", "1x1", "-n"]
PERMANENT = {
    "more-ranks-than-slots": (100, [*HERE, "2", "--", "hostname"]),
    "no-program": (127, [*HERE, "1", "--", "/no/such/program"]),
    "not-a-program": (126, [*HERE, "1", "--", "/etc/passwd"]),
    # -H takes hosts, and their agents the job's key.
    "no-key": (100, ["-H", "nobody:1", "--", "hostname"]),
    "wrong-option": (2, ["--no-such-option", "--", "hostname"])}
# The pod's name is found once the test makes it.
LATE = ["-H", "late:1", "--", "hostname"]
SOON = [{"name": "MUSTER_CONNECT_TIMEOUT", "value": "4"}]


def example(name, kind):
    with open(os.path.join(kube.ROOT, "examples", name)) as f:
        found = [d for d in yaml.safe_load_all(f) if d["kind"] == kind]
    return found[0]


def plain_job(arguments, limit, **container):
    """examples/retry-rules.yaml with another command line and limit."""
    manifest = example("retry-rules.yaml", "Job")
    manifest["spec"]["backoffLimit"] = limit
    spec = manifest["spec"]["template"]["spec"]
    spec["terminationGracePeriodSeconds"] = 5
    spec["containers"][0].update(image=IMAGE, args=arguments, **container)
    spec["securityContext"] = {"runAsUser": 1000, "fsGroup": 1000}
    return manifest


def reason(ns, name, kind="job"):
    """Why it failed, once it has; "" if it is complete."""
    def over():
        known = ns.conditions(kind, name)
        if "Complete" in known:
            return [""]
        return [known["Failed"]["reason"]] if "Failed" in known else None
    return until(over, f"end of {kind} {name}")[0]


def codes(pods):
    return [(terminated(pod) or {}).get("exitCode") for pod in sorted(
        pods, key=lambda pod: pod["metadata"]["creationTimestamp"])]


def pods_of(ns, name):
    return ns.pods(f"batch.kubernetes.io/job-name={name}")


def log(ns, pods):
    return "\n".join(ns.told("logs", p["metadata"]["name"]) for p in pods)


def test_a_permanent_error_ends_a_job_at_once():
    with namespace("permanent") as ns:
        for name, (_, line) in PERMANENT.items():
            manifest = plain_job(line, 4)
            manifest["metadata"]["name"] = name
            ns.create(manifest)
        for name, (code, _) in PERMANENT.items():
            why = reason(ns, name)
            pods = pods_of(ns, name)
            check((why, codes(pods)) == ("PodFailurePolicy", [code]),
                  f"{name}: {why}, codes {codes(pods)}", log(ns, pods))


def create_late(ns, limit):
    """A Job whose worker is not there; what its pods have for the key."""
    ns.told("apply", "-f", "-", stdin=subprocess.run(
        [MUSTER, "keygen", "-o", "yaml", "--name", "key"], text=True,
        capture_output=True, check=True).stdout)
    items = [{"key": "ssh-privatekey", "path": "id_rsa"},
             {"key": "ssh-publickey", "path": "authorized_keys"}]
    pod = {"volumes": [{"name": "key", "secret": {
        "secretName": "key", "items": items}}],
        "securityContext": {"runAsUser": 1000, "fsGroup": 1000}}
    mount = {"volumeMounts": [{"name": "key", "mountPath": "/etc/mpi-ssh"}]}
    manifest = plain_job(LATE, limit, env=SOON, **mount)
    manifest["spec"]["template"]["spec"].update(pod)
    ns.create(manifest)
    return pod, mount


def test_an_error_that_passes_is_tried_again():
    """The worker is not there in time (200), then it is."""
    with namespace("passing") as ns:
        pod, mount = create_late(ns, 4)
        until(lambda: codes(pods_of(ns, "retry-rules"))[:1] == [200],
              "first attempt that ends with 200")
        ns.create({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "late", "labels": {"is": "late"}},
            "spec": {**pod, "containers": [{
                "name": "worker", "image": IMAGE, **mount,
                "command": ["muster", "worker"]}]}})
        ns.create({"apiVersion": "v1", "kind": "Service",
                   "metadata": {"name": "late"},
                   "spec": {"clusterIP": "None", "selector": {"is": "late"},
                            "ports": [{"port": 2222}]}})
        why = reason(ns, "retry-rules")
        pods = pods_of(ns, "retry-rules")
        ended = codes(pods)
        check(why == "" and ended[-1] == 0 and set(ended[:-1]) == {200},
              f"{why}, codes {ended}", log(ns, pods))


def test_attempts_have_a_limit():
    with namespace("limit") as ns:
        create_late(ns, 1)
        why = reason(ns, "retry-rules")
        pods = pods_of(ns, "retry-rules")
        check((why, codes(pods)) == ("BackoffLimitExceeded", [200, 200]),
              f"{why}, codes {codes(pods)}", log(ns, pods))


def test_a_pod_that_was_evicted_does_not_count():
    with namespace("taken") as ns:
        ns.create(plain_job([*HERE, "1", "--", "sh", "-c",
                             f"echo up; {kube.WAIT_AT_GATE}"], 0))
        pod = until(lambda: next(iter(pods_of(ns, "retry-rules")), None),
                    "pod")["metadata"]["name"]
        until(lambda: "up" in ns.kubectl("logs", pod)[1], "rank")
        with kube.Follower(ns, pod) as follower:
            kube.told("create", "-f", "-", "--raw",
                      f"/api/v1/namespaces/{ns.name}/pods/{pod}/eviction",
                      stdin=json.dumps({
                          "apiVersion": "policy/v1", "kind": "Eviction",
                          "metadata": {"name": pod, "namespace": ns.name}}))
            text = follower.whole()
        check("ended from outside" in text, "no verdict", text)
        ns.open_gate()
        why = reason(ns, "retry-rules")
        check(why == "", f"the job failed: {why}", text)


def train(ns, command, limit):
    """With the rules of examples/trainjob-deepspeed.yaml."""
    theirs = example("trainjob-deepspeed.yaml", "ClusterTrainingRuntime")
    jobs = {job["name"]: job["template"]["spec"] for job in
            theirs["spec"]["template"]["spec"]["replicatedJobs"]}
    runtime = copy.deepcopy(mpi_runtime(as_node=False))
    launcher = runtime["spec"]["template"]["spec"]["replicatedJobs"][1]
    launcher["template"]["spec"].update(
        backoffLimit=limit,
        podFailurePolicy=jobs["launcher"]["podFailurePolicy"])
    job = create(ns, "train", runtime, {
        "numNodes": 1, "command": command, "env": SOON})
    end = job.finish()
    pods = job.pods("launcher")
    return end, codes(pods), log(ns, pods)


def test_a_permanent_error_ends_a_trainjob_at_once():
    need_trainer()
    with namespace("train-permanent") as ns:
        end, ended, text = train(ns, [
            "mpirun", "-n", "1", "/no/such/program"], 2)
        check((end, ended) == ("Failed", [127]), f"{end}, codes {ended}", text)


def test_an_error_that_may_pass_is_tried_again_in_a_trainjob():
    need_trainer()
    with namespace("train-passing") as ns:
        end, ended, text = train(ns, ["muster", "launch", *LATE], 1)
        check((end, ended) == ("Failed", [200, 200]), f"{end}, codes {ended}",
              text)


def test_an_mpijob_has_no_such_rules():
    """Its API knows no podFailurePolicy; backoffLimit alone decides."""
    with namespace("mpijob-codes") as ns:
        line = ["mpirun", "-n", "1", "/no/such/program"]
        ruled = mpijob("ruled", line, workers=1, runPolicy={
            "podFailurePolicy": {"rules": []}})
        status, _, err = ns.kubectl("create", "--validate=strict", "-f", "-",
                                    stdin=json.dumps(ruled))
        check(status != 0 and "podFailurePolicy" in err, "it is taken", err)
        for limit in (0, 1):
            name = f"limit-{limit}"
            job = MpiJob(ns, name, mpijob(name, line, workers=1, runPolicy={
                "backoffLimit": limit}))
            end = job.finish()
            ended = codes(job.launchers())
            check((end, ended) == ("Failed", [127] * (1 + limit)),
                  f"{end}, codes {ended}")


if __name__ == "__main__":
    kube.main(sys.modules[__name__])
