# SPDX-License-Identifier: Apache-2.0
"""kubeflow/mpi-operator: what it makes of an MPIJob kubeflow.org/v2beta1 (as of v0.8).

Does: hostfile, discover_hosts.sh, key volume, environment, names, default worker command, start order, clean-up.
      Each line here mirrors one fact about the operator; where it looks odd, the operator does.
Refuses: what the operator's validation refuses (names too long, ExitCode, no worker without runLauncherAsWorker).
"""
import random
import re

from . import keys, podspec
from .manifest import ManifestError

IMPLEMENTATIONS = ("OpenMPI", "Intel", "MPICH")
CONNECT = "-o ConnectionAttempts=10"


def launcher_env(implementation, slots, as_worker):
    env = {
        "OpenMPI": [("OMPI_MCA_orte_keep_fqdn_hostnames", "true"),
                    ("OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile"),
                    ("OMPI_MCA_plm_rsh_args", CONNECT),
                    ("OMPI_MCA_orte_set_default_slots", str(slots))],
        "Intel": [("I_MPI_HYDRA_HOST_FILE", "/etc/mpi/hostfile"),
                  ("I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", CONNECT),
                  ("I_MPI_PERHOST", str(slots))],
        "MPICH": [("HYDRA_HOST_FILE", "/etc/mpi/hostfile"),
                  ("HYDRA_LAUNCH_EXTRA_ARGS", CONNECT)],
    }[implementation]
    if not as_worker:
        env = env + [("NVIDIA_VISIBLE_DEVICES", ""), ("NVIDIA_DRIVER_CAPABILITIES", "")]
    return [{"name": n, "value": v} for n, v in [("K_MPI_JOB_ROLE", "launcher"), *env]]


def hostfile(implementation, hosts, slots):
    line = "{} slots={}\n" if implementation == "OpenMPI" else "{}:{}\n"
    return "".join(line.format(h, slots) for h in hosts)


def key_volume(path, fs_group, private, public):
    mode = "600" if path == "/root/.ssh" else "644"
    return {"dest": path, "gid": fs_group, "files": {
        "id_rsa": {"data": private, "mode": mode}, "id_rsa.pub": {"data": public, "mode": mode},
        "authorized_keys": {"data": public, "mode": mode}}}


def plan(manifest, options, namespace=None, workers=None, launcher_command=None, worker_command=None, notes=None,
         cluster_domain=None, **ignored):
    """A list of pod specs, the launcher first."""
    doc, notes = manifest.job, notes if notes is not None else []
    spec, job = doc["spec"], doc["metadata"]["name"]
    if doc.get("apiVersion") != "kubeflow.org/v2beta1":
        raise ManifestError(f"MPIJob kubeflow.org/v2beta1 expected, not {doc.get('apiVersion')}")
    ns = namespace or doc["metadata"].get("namespace") or "default"
    replicas = spec["mpiReplicaSpecs"]
    launcher, worker = replicas["Launcher"], replicas.get("Worker")
    as_worker = bool(spec.get("runLauncherAsWorker"))
    count = workers if workers is not None else (worker or {}).get("replicas", 1 if worker else 0)
    slots = spec.get("slotsPerWorker", 1)
    implementation = spec.get("mpiImplementation", "OpenMPI")
    path = spec.get("sshAuthMountPath", "/root/.ssh")
    _validate(job, launcher, worker, count, as_worker, implementation)

    domain = f".{cluster_domain}" if cluster_domain else ""
    fqdn = lambda host: f"{host}.{job}.{ns}.svc{domain}"
    names = [f"{job}-worker-{i}" for i in range(count)]
    hosts = ([fqdn(f"{job}-launcher")] if as_worker else []) + [fqdn(n) for n in names]
    discover = ([fqdn(f"{job}-launcher")] if as_worker else []) + [fqdn(n) for n in sorted(names)]
    private, public = keys.job_key()
    labels = {"training.kubeflow.org/job-name": job, "training.kubeflow.org/operator-name": "mpi-operator"}
    common = dict(namespace=ns, subdomain=job, options=options, manifest=manifest, notes=notes)
    suffix = "".join(random.choices("bcdfghjklmnpqrstvwxz2456789", k=5))

    out = []
    top = podspec.from_template(
        launcher["template"], name=f"{job}-launcher-{suffix}", hostname=f"{job}-launcher",
        operator_env=launcher_env(implementation, slots, as_worker), command=launcher_command,
        labels={**labels, "training.kubeflow.org/job-role": "launcher",
                **({"training.kubeflow.org/replica-index": "0"} if as_worker else {})}, **common)
    top["projected"].append({"dest": "/etc/mpi", "gid": top["fs_group"], "files": {
        "hostfile": {"data": hostfile(implementation, hosts, slots), "mode": "444"},
        "discover_hosts.sh": {"data": "#!/bin/sh\n" + "".join(f"echo {h}\n" for h in discover), "mode": "555"}}})
    policy = spec.get("runPolicy") or {}
    top.update(role="launcher", restart_policy=launcher.get("restartPolicy", "OnFailure"),
               max_restarts=policy.get("backoffLimit", 6))
    if policy.get("cleanPodPolicy", spec.get("cleanPodPolicy", "None")) in ("Running", "All"):
        top["cleanup"] = list(names)
    if spec.get("launcherCreationPolicy") == "WaitForWorkersReady":
        top["start"]["ready"] = list(names)
    out.append(top)
    for i, name in enumerate(names):
        w = podspec.from_template(
            worker["template"], name=name, hostname=name, operator_env=[{"name": "K_MPI_JOB_ROLE", "value": "worker"}],
            labels={**labels, "training.kubeflow.org/job-role": "worker",
                    "training.kubeflow.org/replica-index": str(i + as_worker)},
            default_command=["/usr/sbin/sshd", "-De"], command=worker_command, **common)
        w.update(role="worker", index=i, restart_policy=worker.get("restartPolicy", "Never"),
                 dns_search=[f"{job}.{ns}.svc.cluster.local"])
        out.append(w)
    for s in out:
        s["job"] = job
        s["publish_not_ready"] = as_worker
        s["projected"].append(key_volume(path, s["fs_group"], private, public))
    return out


def _validate(job, launcher, worker, count, as_worker, implementation):
    if not re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", job) or len(f"{job}-worker-{max(count - 1, 0)}") > 63:
        raise ManifestError(f"{job}-worker-N is no DNS label")
    if launcher.get("replicas", 1) != 1:
        raise ManifestError("Launcher replicas must be 1")
    if implementation not in IMPLEMENTATIONS:
        raise ManifestError(f"mpiImplementation {implementation}")
    if not count and not as_worker:
        raise ManifestError("no worker, and runLauncherAsWorker is not set")
    for r in filter(None, (launcher, worker)):
        if r.get("restartPolicy", "Never") not in ("Never", "OnFailure"):
            raise ManifestError(f"restartPolicy {r['restartPolicy']} is refused by the operator")
