#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kueue holds jobs back, lets them start, and takes them off again for others
of higher priority: a job that is suspended sees SIGTERM and nothing else."""
import contextlib
import secrets
import sys

import kube
from kube import WAIT_AT_GATE, MpiJob, Skip, check, mpijob, namespace, until
from trainer import RELEASE, create, mpi_runtime, need_trainer

QUEUE = "kueue.x-k8s.io/queue-name"
PRIORITY = "kueue.x-k8s.io/priority-class"
API = "kueue.x-k8s.io/v1beta2"
POD = {"requests": {"cpu": "50m"}}  # a job of three fills the queue
RANKS = ["sh", "-c", f"echo rank waits; {WAIT_AT_GATE}; echo rank is through"]
# mpi-operator 0.8.2 updates jobs/status when a job that has run is resumed,
# and its own role does not allow it.
RESUME = [
    {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
     "metadata": {"name": "test-resume"}, "rules": [{
         "apiGroups": ["batch"], "resources": ["jobs/status"],
         "verbs": ["update", "patch"]}]},
    {"apiVersion": "rbac.authorization.k8s.io/v1",
     "kind": "ClusterRoleBinding", "metadata": {"name": "test-resume"},
     "roleRef": {"apiGroup": "rbac.authorization.k8s.io",
                 "kind": "ClusterRole", "name": "test-resume"},
     "subjects": [{"kind": "ServiceAccount", "name": "mpi-operator",
                   "namespace": "mpi-operator"}]}]


class Queue:
    """A queue in the namespace that has room for one job of three pods, and
    two priorities. All but the local queue is the cluster's."""

    def __init__(self, ns):
        self.ns = ns
        self.name = "test-" + secrets.token_hex(3)
        self.low, self.high = self.name + "-low", self.name + "-high"

    def cluster_objects(self):
        flavor = {"name": self.name, "resources": [
            {"name": "cpu", "nominalQuota": "150m"}]}
        return [
            {"apiVersion": API, "kind": "ResourceFlavor",
             "metadata": {"name": self.name}},
            {"apiVersion": API, "kind": "ClusterQueue",
             "metadata": {"name": self.name}, "spec": {
                 "namespaceSelector": {},
                 "preemption": {"withinClusterQueue": "LowerPriority"},
                 "resourceGroups": [{"coveredResources": ["cpu"],
                                     "flavors": [flavor]}]}},
            *({"apiVersion": API, "kind": "WorkloadPriorityClass",
               "metadata": {"name": name}, "value": value}
              for name, value in ((self.low, 1), (self.high, 2)))]

    def labels(self, priority):
        return {QUEUE: self.name, PRIORITY: priority}

    def start_rival(self):
        """A job of one pod that needs all there is."""
        self.ns.create({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": "rival", "labels": self.labels(self.high)},
            "spec": {"suspend": True, "template": {"spec": {
                "restartPolicy": "Never", "containers": [{
                    "name": "rival", "image": kube.IMAGE,
                    "command": ["true"],
                    "resources": {"requests": {"cpu": "150m"}}}]}}}})

    def await_rival(self):
        until(lambda: "Complete" in self.ns.conditions("job", "rival"),
              "end of the rival")


@contextlib.contextmanager
def queue(name):
    known = kube.told("api-resources", "-o", "name").split()
    if "clusterqueues.kueue.x-k8s.io" not in known:
        raise Skip("the cluster has no Kueue")
    with namespace(name) as ns:
        made = Queue(ns)
        ours = [*made.cluster_objects(), *(RESUME if kube.OWN_NODE else [])]
        try:
            for value in ours:
                kube.apply(value)
            ns.create({"apiVersion": API, "kind": "LocalQueue",
                       "metadata": {"name": made.name},
                       "spec": {"clusterQueue": made.name}})
            yield made
        finally:
            ns.capture()
            for kind in ("mpijobs", "trainjobs", "jobs"):
                ns.kubectl("delete", kind, "--all", "--wait=false")
            for value in ours:
                kube.kubectl("delete", value["kind"],
                             value["metadata"]["name"], "--wait=false")


def make_mpijob(queue_):
    manifest = mpijob("low", ["mpirun", "-n", "2", *RANKS])
    manifest["metadata"]["labels"] = queue_.labels(queue_.low)
    manifest["spec"]["runPolicy"]["suspend"] = True
    for part in manifest["spec"]["mpiReplicaSpecs"].values():
        spec = part["template"]["spec"]
        spec["terminationGracePeriodSeconds"] = 20
        spec["containers"][0]["resources"] = POD
    return MpiJob(queue_.ns, "low", manifest)


def make_trainjob(queue_):
    return create(
        queue_.ns, "low", mpi_runtime(as_node=False, resources=POD),
        {"numNodes": 2, "command": ["mpirun", "-n", "2", *RANKS]},
        queue_.labels(queue_.low), suspend=True)


def launcher_of(job):
    """The name of the launcher's pod once its ranks wait at the gate."""
    def waiting():
        pods = (job.launchers() if isinstance(job, MpiJob)
                else job.pods("launcher"))
        names = [pod["metadata"]["name"] for pod in pods
                 if "deletionTimestamp" not in pod["metadata"]]
        return next((name for name in names if job.ns.kubectl(
            "logs", name)[1].count("rank waits") == 2), None)
    return until(waiting, "two ranks that wait")


def admitted_preempted_resumed(name, make, success):
    with queue(name) as queue_:
        ns = queue_.ns
        job = make(queue_)
        first = launcher_of(job)
        with ns.follow(first) as log_of_first:
            queue_.start_rival()
            said, _ = log_of_first.communicate(timeout=kube.PATIENCE)
        with open(ns.captured("preempted-launcher"), "w") as f:
            f.write(said)
        told_of_the_end(said)
        queue_.await_rival()
        second = launcher_of(job)
        check(second != first, "the first launcher goes on")
        ns.open_gate()
        end = job.finish()
        log = ns.told("logs", second)
        check(end == success, f"the job is {end}", log)
        check(log.count("rank is through") == 2, "not two ranks", log)


def told_of_the_end(said):
    """SIGTERM from outside is a fact; who sent it, and why, is not."""
    for word in ("ended from outside", "exit code 202"):
        check(word in said, f"no {word}", said)
    for claim in ("pre-empted (proven)", "pushed out", "PriorityClass"):
        check(claim not in said, f"no fact says {claim}", said)


def test_an_mpijob():
    admitted_preempted_resumed("kueue-mpijob", make_mpijob, "Succeeded")


def test_a_trainjob():
    need_trainer()
    if kube.OWN_NODE and RELEASE == "2.0":
        raise Skip("Kueue 0.17 needs Trainer 2.2 or later")
    admitted_preempted_resumed("kueue-trainjob", make_trainjob, "Complete")


def test_a_job_waits_for_its_turn():
    """While the queue is full a job has no pods and says nothing."""
    with queue("kueue-wait") as queue_:
        ns = queue_.ns
        first = make_mpijob(queue_)
        launcher_of(first)
        manifest = mpijob("second", ["mpirun", "-n", "2", "true"])
        manifest["metadata"]["labels"] = queue_.labels(queue_.low)
        for part in manifest["spec"]["mpiReplicaSpecs"].values():
            part["template"]["spec"]["containers"][0]["resources"] = POD
        second = MpiJob(ns, "second", manifest)
        until(lambda: "Suspended" in second.conditions(), "suspension")
        check(not ns.pods("training.kubeflow.org/job-name=second"),
              "the job that has to wait has pods")
        ns.open_gate()
        check(first.finish() == "Succeeded", "the first job failed")
        check(second.finish() == "Succeeded", "the second job failed")


if __name__ == "__main__":
    kube.main(sys.modules[__name__])
