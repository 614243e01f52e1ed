# SPDX-License-Identifier: Apache-2.0
"""Pods of workloads that know nothing of MPI: Job batch/v1, JobSet jobset.x-k8s.io/v1alpha2, LeaderWorkerSet v1.

Does: names, host names, headless service, indices and the variables that each controller gives its pods; Secrets come from
      documents of the same manifest. The pod that launches is the JobSet's replicated job `launcher`, or a group's leader.
Refuses: a set without such a pod. Leaves out: failure policies (tests look at exit codes themselves), restarts.
"""
import random

from . import podspec
from .manifest import ManifestError

KINDS = {"Job", "JobSet", "LeaderWorkerSet"}


def plan(manifest, options, namespace=None, workers=None, launcher_command=None, worker_command=None, notes=None, **ignored):
    """A list of pod specs, the launcher first."""
    doc = manifest.job
    common = dict(namespace=namespace or "default", options=options, manifest=manifest,
                  notes=notes if notes is not None else [])
    commands = {"launcher": launcher_command, "worker": worker_command}
    maker = {"Job": _job, "JobSet": _jobset, "LeaderWorkerSet": _leader_worker_set}[doc["kind"]]
    specs = maker(doc, workers, commands, common)
    for s in specs:
        s["job"] = doc["metadata"]["name"]
    return specs


def _suffix():
    return "".join(random.choices("bcdfghjklmnpqrstvwxz2456789", k=5))


def _job(doc, workers, commands, common):
    name = doc["metadata"]["name"]
    s = podspec.from_template(doc["spec"]["template"], name=f"{name}-{_suffix()}", hostname=name, subdomain="",
                              command=commands["launcher"], labels={"batch.kubernetes.io/job-name": name}, **common)
    s.update(role="launcher", max_restarts=doc["spec"].get("backoffLimit", 6))
    return [s]


def _jobset(doc, workers, commands, common):
    name, network = doc["metadata"]["name"], doc["spec"].get("network") or {}
    out = []
    for r in doc["spec"]["replicatedJobs"]:
        job = r["template"]["spec"]
        role = "launcher" if r["name"] == "launcher" else "worker"
        count = workers if workers is not None and role == "worker" else job.get("completions", 1)
        for i in range(count):
            hostname = f"{name}-{r['name']}-0-{i}"
            index = [{"name": "JOB_COMPLETION_INDEX", "value": str(i)}] if job.get("completionMode") == "Indexed" else []
            s = podspec.from_template(
                job["template"], name=f"{hostname}-{_suffix()}", hostname=hostname,
                subdomain=network.get("subdomain", name), operator_env=index, command=commands[role], labels={
                    "jobset.sigs.k8s.io/jobset-name": name, "jobset.sigs.k8s.io/replicatedjob-name": r["name"],
                    "batch.kubernetes.io/job-completion-index": str(i)}, **common)
            s.update(role=role, index=i, max_restarts=job.get("backoffLimit", 6),
                     publish_not_ready=network.get("publishNotReadyAddresses", True))
            out.append(s)
    if not any(s["role"] == "launcher" for s in out):
        raise ManifestError("the JobSet needs a replicated job called launcher")
    return sorted(out, key=lambda s: s["role"] != "launcher")


def _leader_worker_set(doc, workers, commands, common):
    name, spec = doc["metadata"]["name"], doc["spec"]["leaderWorkerTemplate"]
    size = workers + 1 if workers is not None else spec["size"]
    out = []
    for i in range(size):
        hostname = f"{name}-0-{i}" if i else f"{name}-0"
        role = "worker" if i else "launcher"
        env = [{"name": "LWS_LEADER_ADDRESS", "value": f"{name}-0.{name}.{common['namespace']}"},
               {"name": "LWS_GROUP_SIZE", "value": str(size)}, {"name": "LWS_WORKER_INDEX", "value": str(i)}]
        template = spec["workerTemplate"] if i else spec.get("leaderTemplate") or spec["workerTemplate"]
        s = podspec.from_template(
            template, name=hostname, hostname=hostname, subdomain=name, operator_env=env, command=commands[role], labels={
                "leaderworkerset.sigs.k8s.io/name": name, "leaderworkerset.sigs.k8s.io/group-index": "0",
                "leaderworkerset.sigs.k8s.io/worker-index": str(i)}, **common)
        s.update(role=role, index=max(i - 1, 0), publish_not_ready=True)
        out.append(s)
    return out
