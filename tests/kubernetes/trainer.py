# SPDX-License-Identifier: Apache-2.0
"""TrainJobs and their runtimes, as plain values and as objects of a test."""
import os

import kube
from kube import IMAGE, Skip, check, until

RELEASE = os.environ.get("MUSTER_TRAINER", "")  # "2.3"; of our own node
API = "trainer.kubeflow.org/v1alpha1"
STEP = "trainer.kubeflow.org/trainjob-ancestor-step"


def need_trainer():
    known = kube.told("api-resources", "-o", "name").split()
    if "trainjobs.trainer.kubeflow.org" not in known:
        raise Skip("the cluster has no Kubeflow Trainer")


def create(ns, name, runtime_, trainer, labels=None, **spec):
    """A TrainJob and the runtime of its own, in the test's namespace."""
    ns.create({**runtime_, "metadata": {
        "name": name, "labels": {"trainer.kubeflow.org/framework": "test"}}})
    ns.create({"apiVersion": API, "kind": "TrainJob",
               "metadata": {"name": name, "labels": labels or {}},
               "spec": {"runtimeRef": {"name": name,
                                       "kind": "TrainingRuntime"},
                        "trainer": trainer, **spec}})
    return TrainJob(ns, name)


class TrainJob:
    def __init__(self, ns, name):
        self.ns, self.name = ns, name

    def conditions(self):
        return self.ns.conditions("trainjob", self.name)

    def finish(self):
        """"Complete" or "Failed"."""
        return until(lambda: next(
            (end for end in ("Complete", "Failed")
             if end in self.conditions()), None), f"end of {self.name}")

    def pods(self, job):
        """Those of a replicated job, by their index."""
        return sorted(
            self.ns.pods(f"jobset.sigs.k8s.io/jobset-name={self.name},"
                         f"jobset.sigs.k8s.io/replicatedjob-name={job}"),
            key=lambda pod: pod["metadata"]["labels"][
                "batch.kubernetes.io/job-completion-index"])

    def launcher(self):
        pods = self.pods("launcher")
        check(len(pods) == 1, f"{len(pods)} launchers")
        return pods[0]

    def log(self, pod):
        return self.ns.told("logs", pod["metadata"]["name"])


def container(**more):
    return {"name": "node", "image": IMAGE,
            "securityContext": {"runAsUser": 1000}, **more}


def job(name, container_, labels=None, **more):
    """A replicated job whose pods are not started again."""
    return {"name": name, **more, "template": {
        "metadata": {"labels": labels or {}},
        "spec": {"backoffLimit": 0, "template": {"spec": {
            "restartPolicy": "Never", "terminationGracePeriodSeconds": 10,
            "securityContext": {"fsGroup": 1000},
            "containers": [container_]}}}}}


def mpi_runtime(image=None, as_node=True, resources=None, **policy):
    """In the form of the deepspeed-distributed that Trainer brings."""
    more = {"image": image or IMAGE, "resources": resources or {}}
    worker = container(
        **more, command=["/usr/sbin/sshd"],
        args=["-De", "-f", "/home/mpiuser/.sshd_config"],
        readinessProbe={"tcpSocket": {"port": 2222}})
    return runtime(
        {"numNodes": 1, "mpi": {
            "numProcPerNode": 1, "mpiImplementation": "OpenMPI",
            "sshAuthMountPath": "/home/mpiuser/.ssh",
            "runLauncherAsNode": as_node, **policy}},
        [job("node", worker),
         job("launcher", container(**more), {STEP: "trainer"},
             dependsOn=[{"name": "node", "status": "Ready"}])],
        network={"publishNotReadyAddresses": True},
        successPolicy={"operator": "All",
                       "targetReplicatedJobs": ["launcher"]})


def torch_runtime():
    """In the form of the torch-distributed that Trainer brings."""
    return runtime({"numNodes": 1, "torch": {}},
                   [job("node", container(), {STEP: "trainer"})])


def runtime(policy, jobs, **jobset):
    return {"apiVersion": API, "kind": "TrainingRuntime",
            "spec": {"mlPolicy": policy, "template": {
                "spec": {"replicatedJobs": jobs, **jobset}}}}
