#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How jobs end on a cluster, and whether the verdict says what facts prove and
no more: memory, deletion, eviction, drain, preemption, deadline, suspend."""
import sys

import kube
from kube import (Follower, MpiJob, Skip, check, ended_from_outside, kubectl,
                  mpijob, namespace, part, terminated, told, until)

WAIT = ["mpirun", "-n", "2", "sh", "-c", "echo all-is-up; sleep 300"]


def started(ns, job):
    """Both ranks run; the follower of the launcher's log."""
    log = Follower(ns, job.launcher()["metadata"]["name"])
    until(lambda: log.text().count("all-is-up") >= 2
          or log.process.poll() is not None, "output of both ranks")
    check(log.process.poll() is None, "the launcher ended", log.text())
    return log


def test_a_rank_without_memory():
    """The kernel kills a rank in its container's control group."""
    with namespace("oom") as ns:
        eater = ("[ $OMPI_COMM_WORLD_RANK = 1 ] && "
                 "exec perl -e '$x = q(a) x 900e6; sleep 100'; sleep 100")
        manifest = mpijob("oom", ["mpirun", "-n", "2", "sh", "-c", eater])
        part(manifest, "Worker")["containers"][0]["resources"] = {
            "limits": {"memory": "160Mi"}}
        code, status, text = MpiJob(ns, "oom", manifest).verdict()
        check(code == "host_oom_kill", f"the verdict is {code}",
              text)
        check(status in (137, 204), f"exit code {status}", text)
        for word in ("rank 1", "oom-worker-1", "160"):
            check(word in text, f"no {word!r}", text)


def test_a_worker_is_deleted():
    with namespace("deleted") as ns:
        job = MpiJob(ns, "deleted", mpijob("deleted", WAIT))
        with started(ns, job):
            ns.told("delete", "pod", "deleted-worker-1", "--wait=false")
            code, status, text = job.verdict()
        check(code == "pod_terminated", f"the verdict is {code}", text)
        check(status == 202, f"exit code {status}", text)
        check("deleted-worker-1" in text, "not which pod", text)
        ended_from_outside(text)


def test_the_launcher_is_deleted():
    """Its log is all that a follower keeps. No rank outlives it."""
    with namespace("launcher") as ns:
        job = MpiJob(ns, "gone", mpijob("gone", WAIT))
        with started(ns, job) as log:
            ns.told("delete", "pod", job.launcher()["metadata"]["name"],
                    "--wait=false")
            text = log.whole()
        ended_from_outside(text)
        until(lambda: "sleep" not in ns.kubectl(
            "exec", "gone-worker-0", "--", "sh", "-c",
            "cat /proc/[0-9]*/comm")[1], "end of the ranks")


def test_a_deadline_of_the_job():
    """activeDeadlineSeconds: the Job controller deletes the launcher's pod."""
    with namespace("deadline") as ns:
        job = MpiJob(ns, "late", mpijob(
            "late", WAIT, runPolicy={"activeDeadlineSeconds": 20}))
        with started(ns, job) as log:
            text = log.whole()
        ended_from_outside(text)
        check(job.finish() == "Failed", "the job did not fail", text)


def test_suspended_while_it_runs():
    with namespace("suspend") as ns:
        job = MpiJob(ns, "held", mpijob("held", WAIT))
        with started(ns, job) as log:
            ns.told("patch", "mpijob", "held", "--type=merge", "-p",
                    '{"spec":{"runPolicy":{"suspend":true}}}')
            text = log.whole()
        ended_from_outside(text)
        until(lambda: "Suspended" in job.conditions(), "suspension")


def test_evicted_for_its_disk():
    """A volume over its limit: the kubelet evicts the worker."""
    with namespace("evicted") as ns:
        fill = ("echo all-is-up; [ $OMPI_COMM_WORLD_RANK = 1 ] && "
                "head -c 40M /dev/zero > /scratch/file; sleep 300")
        manifest = mpijob("evicted", ["mpirun", "-n", "2", "sh", "-c", fill])
        spec = part(manifest, "Worker")
        spec["volumes"] = [{"name": "s", "emptyDir": {"sizeLimit": "10Mi"}}]
        spec["containers"][0]["volumeMounts"] = [
            {"name": "s", "mountPath": "/scratch"}]
        job = MpiJob(ns, "evicted", manifest)
        code, status, text = job.verdict()
        check(code == "pod_terminated", f"the verdict is {code}", text)
        check(status == 202, f"exit code {status}", text)
        check("evicted-worker-1" in text, "not which pod", text)
        ended_from_outside(text)


def test_preempted_by_a_higher_priority():
    if not kube.OWN_NODE:
        raise Skip("the node is not ours")
    with namespace("preempted") as ns:
        kubectl("create", "priorityclass", "muster-test", "--value=1000000")
        manifest = mpijob("low", WAIT)
        part(manifest, "Worker")["containers"][0]["resources"] = {
            "requests": {"cpu": "600m"}}
        job = MpiJob(ns, "low", manifest)
        with started(ns, job):
            ns.create({
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "top"},
                "spec": {"priorityClassName": "muster-test",
                         "restartPolicy": "Never", "containers": [{
                             "name": "top", "image": kube.IMAGE,
                             "command": ["sleep", "60"],
                             "resources": {"requests": {"cpu": "1"}}}]}})
            code, status, text = job.verdict()
        check(code == "pod_terminated", f"the verdict is {code}", text)
        check(status == 202, f"exit code {status}", text)
        ended_from_outside(text)
        kubectl("delete", "priorityclass", "muster-test")


def test_drained_node():
    """Eviction by the API, as `kubectl drain` does it."""
    if not kube.OWN_NODE:
        raise Skip("the node is not ours")
    with namespace("drained") as ns:
        job = MpiJob(ns, "drained", mpijob("drained", WAIT))
        node = told("get", "nodes", "-o", "name").split()[0].split("/")[1]
        selector = f"{kube.LABEL}job-name=drained"
        try:
            with started(ns, job) as log:
                told("drain", node, "--force", "--ignore-daemonsets",
                     "--pod-selector", selector, "--timeout=60s")
                text = log.whole()
        finally:
            told("uncordon", node)
        ended_from_outside(text)


def test_the_container_is_restarted_in_place():
    """restartPolicy OnFailure: the launcher's container starts again in its
    pod, finds the workers as they are, and the job succeeds."""
    with namespace("again") as ns:
        once = ("[ -e /scratch/was ] && exec mpirun -n 2 /home/mpiuser/hello; "
                "touch /scratch/was; mpirun -n 2 sh -c 'exit 7'")
        manifest = mpijob("again", ["sh", "-c", once],
                          runPolicy={"backoffLimit": 3})
        manifest["spec"]["mpiReplicaSpecs"]["Launcher"]["restartPolicy"] = (
            "OnFailure")
        spec = part(manifest, "Launcher")
        spec["volumes"] = [{"name": "s", "emptyDir": {}}]
        spec["containers"][0]["volumeMounts"] = [
            {"name": "s", "mountPath": "/scratch"}]
        job = MpiJob(ns, "again", manifest)
        check(job.finish() == "Succeeded", "the job failed")
        pod = job.launcher()
        check(pod["status"]["containerStatuses"][0]["restartCount"] == 1,
              "not restarted once", pod["status"])
        check("rank 1 of 2" in job.log(pod), "no hello", job.log(pod))
        check(terminated(pod)["exitCode"] == 0, "not ended well")


if __name__ == "__main__":
    kube.main(sys.modules[__name__])
