# SPDX-License-Identifier: Apache-2.0
"""Kubeflow Trainer v2: what it (and JobSet) makes of a TrainJob trainer.kubeflow.org/v1alpha1 with an MPI runtime.

Does: the (Cluster)TrainingRuntime in the same file, node counts (with the numNodes: 1 quirk), hostfile in the order of
      replicatedJobs, key volume modes, the four variables on the launcher only, dependsOn Ready, deletion at the end.
Refuses: an mpiImplementation other than OpenMPI, the four variables set by the user, a runtime that is not in the file.
"""
import random

from . import keys, podspec
from .manifest import ManifestError
from .mpijob import CONNECT

RESERVED = ("OMPI_MCA_orte_default_hostfile", "OMPI_MCA_orte_keep_fqdn_hostnames", "OMPI_MCA_orte_set_default_slots",
            "OMPI_MCA_plm_rsh_args")


def _gpus(resources):
    for key, value in {**(resources.get("requests") or {}), **(resources.get("limits") or {})}.items():
        if key.endswith("/gpu"):
            return int(value)
    return 0


def plan(manifest, options, namespace=None, workers=None, launcher_command=None, worker_command=None, notes=None,
         launchers=1, **ignored):
    """A list of pod specs, launcher(s) first. workers: number of pods in replicatedJob node."""
    doc, notes = manifest.job, notes if notes is not None else []
    tj, spec = doc["metadata"]["name"], doc["spec"]
    ns = namespace or doc["metadata"].get("namespace") or "default"
    ref = spec["runtimeRef"]
    runtime = manifest.find("TrainingRuntime", "ClusterTrainingRuntime", name=ref["name"])
    if not runtime:
        raise ManifestError(f"runtime {ref['name']} is not in the file; podnet knows no installed runtimes")
    policy = runtime["spec"].get("mlPolicy") or {}
    mpi = policy.get("mpi")
    if not mpi:
        raise ManifestError(f"runtime {ref['name']} has no mlPolicy.mpi")
    if mpi.get("mpiImplementation", "OpenMPI") != "OpenMPI":
        raise ManifestError("Trainer accepts OpenMPI only")
    trainer = spec.get("trainer") or {}
    for e in trainer.get("env") or []:
        if e["name"] in RESERVED:
            raise ManifestError(f"Trainer's webhook refuses {e['name']} in trainer.env")

    as_node = bool(mpi.get("runLauncherAsNode"))
    slots = trainer.get("numProcPerNode") or mpi.get("numProcPerNode", 1)
    if slots == 1 and _gpus(trainer.get("resourcesPerNode") or {}) > 1:
        slots = _gpus(trainer["resourcesPerNode"])
    num_nodes = trainer.get("numNodes") or policy.get("numNodes", 1)
    nodes = workers if workers is not None else max(num_nodes - 1, 1) if as_node else num_nodes
    path = mpi.get("sshAuthMountPath", "/root/.ssh")
    jobset = runtime["spec"]["template"]["spec"]
    network = jobset.get("network") or {}
    subdomain = network.get("subdomain") or tj
    rjobs = {r["name"]: r for r in jobset["replicatedJobs"]}
    if not {"launcher", "node"} <= set(rjobs):
        raise ManifestError("the runtime needs replicatedJobs launcher and node")
    counts = {"launcher": launchers, "node": nodes}

    lines = [f"{tj}-{r['name']}-0-{i}.{subdomain} slots={slots}\n" for r in jobset["replicatedJobs"]
             for i in range(1 if r["name"] == "launcher" else counts.get(r["name"], 0))
             if r["name"] == "node" or (r["name"] == "launcher" and as_node)]
    private, public = keys.job_key()
    mpi_env = [("OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile"), ("OMPI_MCA_orte_keep_fqdn_hostnames", "true"),
               ("OMPI_MCA_orte_set_default_slots", str(slots)), ("OMPI_MCA_plm_rsh_args", CONNECT)]
    named = {}
    for role in ("launcher", "node"):
        for i in range(counts[role]):
            s = _pod(rjobs[role], role, i, locals())
            named.setdefault(role, []).append(s)
    for role, specs in named.items():
        for d in rjobs[role].get("dependsOn") or []:
            for s in specs:
                if d.get("status") != "Ready":
                    raise ManifestError("dependsOn with another status than Ready")
                s["start"]["ready"] = [o["name"] for o in named[d["name"]]]
    for s in named["launcher"]:
        s["cleanup"] = [o["name"] for o in named["node"]]
    return named["launcher"] + named["node"]


def _pod(rjob, role, i, c):
    template = rjob["template"]["spec"]["template"]
    tj, trainer, options = c["tj"], c["trainer"], c["options"]
    hostname = f"{tj}-{rjob['name']}-0-{i}"
    index = {"name": "JOB_COMPLETION_INDEX", "value": str(i)}
    env = [*((trainer.get("env") or []) if role == "launcher" or c["as_node"] else []), index]
    if role == "launcher":
        env += [{"name": n, "value": v} for n, v in c["mpi_env"]]
        own = [*(trainer.get("command") or []), *(trainer.get("args") or [])]
        command = c["launcher_command"] or own or None
    else:
        command = c["worker_command"]
    labels = {"jobset.sigs.k8s.io/jobset-name": tj, "jobset.sigs.k8s.io/replicatedjob-name": rjob["name"],
              "jobset.sigs.k8s.io/job-index": "0", "jobset.sigs.k8s.io/restart-attempt": "0",
              "batch.kubernetes.io/job-completion-index": str(i)}
    suffix = "".join(random.choices("bcdfghjklmnpqrstvwxz2456789", k=5))
    s = podspec.from_template(
        template, name=f"{hostname}-{suffix}", hostname=hostname, subdomain=c["subdomain"], namespace=c["ns"],
        options=options, container="node", operator_env=env, labels=labels, manifest=c["manifest"], command=command,
        notes=c["notes"])
    s["projected"].append({"dest": c["path"], "gid": s["fs_group"], "files": {
        "id_rsa": {"data": c["private"], "mode": "640"}, "id_rsa.pub": {"data": c["public"], "mode": "644"},
        "authorized_keys": {"data": c["public"], "mode": "644"}}})
    if role == "launcher":
        s["projected"].append({"dest": "/etc/mpi", "gid": s["fs_group"], "files": {
            "hostfile": {"data": "".join(c["lines"]), "mode": "444"}}})
    s.update(job=tj, role="launcher" if role == "launcher" else "worker", index=i,
             publish_not_ready=c["network"].get("publishNotReadyAddresses", True),
             restart_policy=template["spec"].get("restartPolicy", "OnFailure"),
             max_restarts=rjob["template"]["spec"].get("backoffLimit", 6))
    return s
