#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every manifest of examples/ as it is, each a test of its own.

A line `# Needs: …; …` in an example's header says what it takes beside
mpi-operator and the image: a name in parentheses is a group of the API or a
resource of a node. An example whose needs the cluster meets has to succeed at
its first attempt. Of the others the API server only checks the fields.

Changed are the names of the images, and whole processors where the cluster has
few.
"""
import functools
import glob
import json
import os
import re
import subprocess
import sys

import yaml

import kube
from kube import LABEL, MUSTER, Skip, check, kubectl, namespace, told, until

EXAMPLES = os.path.join(kube.ROOT, "examples")
# registry.example/NAME:latest: the image in its place.
IMAGES = json.loads(os.environ.get("MUSTER_EXAMPLE_IMAGES") or json.dumps(
    {"muster-openmpi": kube.IMAGE}))
# The launcher's label in the pods of a kind, and how the kind ends.
JOBSET = "jobset.sigs.k8s.io/"
KINDS = {
    "MPIJob": (f"{LABEL}job-role=launcher", "Succeeded", "Failed"),
    "TrainJob": (f"{JOBSET}replicatedjob-name=launcher", "Complete", "Failed"),
    "JobSet": (f"{JOBSET}replicatedjob-name=launcher", "Completed", "Failed"),
    "Job": ("batch.kubernetes.io/job-name", "Complete", "Failed")}
# What the log of an example's launcher has beside its end.
SAID = {
    "default-worker-command": ["hello-worker-0", "hello-worker-1"],
    "framework-env": ["process 0 of 2", "process 1 of 2"],
    "jobset": [f"rank {rank} of 8 on mpi-node-0-{rank // 2},"
               for rank in range(8)],
    "launcher-as-worker": ["Workers: 6"],
    "openshift-restricted": [f"restricted-worker-{i}" for i in range(4)],
    **{f"pi-{mpi}": ["Workers: 2", "pi is approximately 3.14",
                     f"Rank 1 on host {job}-worker-1"]
       for mpi, job in (("intel", "pi-intel"), ("mpich", "pi-mpich"),
                        ("openmpi", "pi"))},
    "trainjob-deepspeed": [f"rank {rank} of 6" for rank in range(6)]}


def needs(text):
    m = re.search(r"^# Needs: (.+)\.$", text, re.M)
    return m[1].split("; ") if m else []


def met(need, text):
    """Whether the cluster has it. A need that is not in the manifest is a
    mistake."""
    m = re.search(r"\((.+)\)$", need)
    if not m:
        return False  # of the image: no image here has more than an MPI
    rest = re.sub(r"^#.*$", "", text, flags=re.M)
    check(m[1] in rest, f"{m[1]} is needed, but not in the manifest")
    return m[1] in groups() | resources()


@functools.cache
def groups():
    return {version.split("/")[0] for version in told(
        "api-versions").split()}


@functools.cache
def resources():
    nodes = json.loads(told("get", "nodes", "-o", "json"))["items"]
    return {name for node in nodes for name in node["status"]["allocatable"]}


def adapted(text):
    """Names of images, processors; None where an image is not at hand."""
    for image in set(re.findall(r"registry\.example/([\w-]+):latest", text)):
        if image not in IMAGES:
            return None
        text = text.replace(f"registry.example/{image}:latest", IMAGES[image])
    if kube.processors() < 8:
        text = text.replace('limits: {cpu: "1"', "limits: {cpu: 200m")
    if not kube.OWN_NODE:  # a runtime of that name comes with Trainer
        text = text.replace("ClusterTrainingRuntime", "TrainingRuntime")
    return text


def key(ns, text):
    """Runs the header's command that makes the job's key, where it has one."""
    m = re.search(r"muster (keygen .+) \| kubectl apply -f -$", text, re.M)
    if m:
        made = subprocess.run([MUSTER, *m[1].split()], capture_output=True,
                              text=True, check=True).stdout
        ns.told("apply", "-f", "-", stdin=made)


def run(name):
    with open(os.path.join(EXAMPLES, name + ".yaml")) as f:
        text = f.read()
    lacking = [need for need in needs(text) if not met(need, text)]
    documents = [d for d in yaml.safe_load_all(text) if d]
    manifest = adapted(text)
    with namespace("example-" + name) as ns:
        if lacking:
            known = {d["apiVersion"].split("/")[0] for d in documents}
            if known <= groups():
                ns.told("create", "--dry-run=server", "--validate=strict",
                        "-f", "-", stdin=text)
            raise Skip("needs " + "; ".join(lacking))
        if manifest is None:
            raise Skip("no image for it")
        key(ns, text)
        try:
            ns.told("create", "--validate=strict", "-f", "-", stdin=manifest)
            succeeds(ns, name, documents)
        finally:
            for d in documents:
                if d["kind"].startswith("Cluster"):
                    kubectl("delete", d["kind"], d["metadata"]["name"])


def succeeds(ns, name, documents):
    """At once: one launcher, which ended with 0 in its first container."""
    jobs = [d for d in documents if d["kind"] in KINDS]
    check(len(jobs) == 1, f"{len(jobs)} jobs; their kinds are {list(KINDS)}")
    kind, job = jobs[0]["kind"], jobs[0]["metadata"]["name"]
    label, *ends = KINDS[kind]
    end = until(lambda: next((end for end in ends if end in ns.conditions(
        kind, job)), None), f"end of {kind} {job}")
    pods = ns.pods(label)
    logs = [ns.told("logs", pod["metadata"]["name"]) for pod in pods]
    check(end == ends[0], f"{kind} {job} is {end}", *logs)
    check(len(pods) == 1, f"{len(pods)} launchers", *logs)
    state = pods[0]["status"]["containerStatuses"][0]
    check(state["restartCount"] == 0, "restarted", *logs)
    check(kube.terminated(pods[0])["exitCode"] == 0, "not 0", *logs)
    for part in SAID.get(name, []):
        check(part in logs[0], f"no {part!r}", *logs)


for _path in sorted(glob.glob(os.path.join(EXAMPLES, "*.yaml"))):
    _name = os.path.basename(_path).removesuffix(".yaml")
    globals()["test_" + _name.replace("-", "_")] = functools.partial(
        run, _name)


if __name__ == "__main__":
    kube.main(sys.modules[__name__])
