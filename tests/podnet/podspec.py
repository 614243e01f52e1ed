# SPDX-License-Identifier: Apache-2.0
"""From a Kubernetes pod template to the flat dictionary that the kubelet process starts (JSON, no logic left in it).

Does: command, args, env with $(VAR) and fieldRef, security contexts over a profile, resources.limits, probes,
      volumes (emptyDir, configMap, secret, downwardAPI, hostPath), the service account volume, muster's install tree.
Refuses (ManifestError): volume kinds and env sources that it does not know, grpc probes, a pod without a command.
Notes, not refuses: sidecars and init containers are left out; Job.notes says so.
"""
import base64
import os

from . import image, security
from .manifest import ManifestError, expand, quantity

NODE = "node-1"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Options:
    """What a test may add to or override in a manifest; every field is a keyword of Cluster.apply()/Cluster.pod()."""
    def __init__(self, prefix=None, root=None, uid=None, gid=None, fs_group=None, profile="restricted", caps=None,
                 no_new_privs=None, readonly_root=None, binds=(), extra_env=None, sshd_dropin=True, layer="mpioperator",
                 entrypoint=None, memory=None, cpu=None, cpus=None, pids=None, shm_size="64m", log_mode="pipe",
                 restarts=False, restart_backoff=1.0, files=None, links=None, mpirun_dropin=True, old_kernel=False):
        self.__dict__.update({k: v for k, v in locals().items() if k != "self"})
        if profile not in security.PROFILES:
            raise ManifestError(f"profile is one of {', '.join(security.PROFILES)}, not {profile!r}")
        self.root = os.path.realpath(root or "/")
        if not os.path.isdir(self.root):
            raise ManifestError(f"no root directory {root}")


def bare(name, argv, options, namespace="default", env=None):
    """A spec without any manifest."""
    o = options
    profile = security.PROFILES[o.profile]
    pick = lambda own, default: default if own is None else own
    uid = pick(o.uid, profile["uid"])
    gid = pick(o.gid, 1000 if uid == 1000 else profile["gid"])       # mpiuser has a passwd entry, an arbitrary UID has not
    arbitrary = o.profile == "restricted" and uid >= 1000000          # OpenShift gives such a pod an fsGroup as well
    fs_group = pick(o.fs_group, uid if arbitrary else None)
    spec = {"name": name, "hostname": name[:63], "subdomain": "", "namespace": namespace, "job": "", "role": "", "index": 0,
            "argv": argv, "cwd": "/", "root": o.root, "readonly_root": pick(o.readonly_root, profile["readonly_root"]),
            "uid": uid, "gid": gid, "groups": [fs_group] if fs_group is not None else [], "fs_group": fs_group,
            "caps": pick(o.caps, profile["caps"]), "no_new_privs": pick(o.no_new_privs, profile["no_new_privs"]),
            "old_kernel": o.old_kernel,
            "tmpfs": [], "projected": [], "binds": [list(b) for b in o.binds], "termination_path": "/dev/termination-log",
            "memory": o.memory and quantity(o.memory), "cpu": o.cpu and quantity(o.cpu), "cpus": o.cpus, "pids": o.pids,
            "shm_size": o.shm_size, "log_mode": o.log_mode, "dns_search": [], "publish_not_ready": False, "ports": {},
            "readiness": None, "liveness": None, "start": {}, "grace": 30, "cleanup": [], "downward": {},
            "restart_policy": "Never", "max_restarts": 6, "restart_backoff": o.restart_backoff, "host_network": False,
            **image.parts(o.root, o.layer)}
    for path, text in (o.files or {}).items():
        spec["layer"][path] = text if isinstance(text, dict) else {"data": text}
    spec["links"].update(o.links or {})
    _muster(spec, o)
    _counters(spec)
    path = "/opt/muster/dropin/bin:" + PATH if spec.pop("dropin") else PATH
    spec["env"] = {"PATH": path, "HOME": image.home_of(uid), "HOSTNAME": spec["hostname"],
                   "KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443",
                   "KUBERNETES_PORT": "tcp://10.96.0.1:443", **(env or {}), **(o.extra_env or {})}
    return spec


def _counters(spec):
    """An instrumented build writes its line counters into the directory that it was built in (MUSTER_COVERAGE_BUILD);
    pods get a place of their own for that, one per user (MUSTER_COVERAGE_DIR/uid), as files are merged by their owner."""
    folder, build = os.environ.get("MUSTER_COVERAGE_DIR"), os.environ.get("MUSTER_COVERAGE_BUILD")
    if folder and build:
        own = os.path.join(folder, str(spec["uid"]))
        os.makedirs(own, exist_ok=True)
        os.chmod(own, 0o1777)
        spec["binds"].append([own, build, False])


def _muster(spec, o):
    """The install tree as an image author adds it: copied to /opt/muster, sshd linked to it, drop-ins on PATH."""
    spec["dropin"] = False
    if not o.prefix:
        return
    prefix = os.path.realpath(o.prefix)
    if not os.path.isdir(prefix):
        raise ManifestError(f"no install tree at {o.prefix}")
    spec["binds"].append([prefix, "/opt/muster", True])
    spec["dropin"] = o.mpirun_dropin and os.path.isdir(f"{prefix}/dropin/bin")
    if o.sshd_dropin and os.path.exists(f"{prefix}/bin/muster"):
        spec["links"]["/usr/sbin/sshd"] = "/opt/muster/bin/muster"
        spec["removed"] = [r for r in spec["removed"] if r != "/usr/sbin/sshd"]


def from_template(template, *, name, hostname, subdomain, namespace, options, container=None, operator_env=(), labels=None,
                  manifest=None, default_command=None, notes=None, command=None):
    """template: a PodTemplateSpec. container: name of the one to run, default the first. command replaces its own."""
    notes = notes if notes is not None else []
    pod = template.get("spec") or {}
    containers = pod.get("containers") or []
    if not containers:
        raise ManifestError(f"{name}: the pod template has no containers")
    chosen = [c for c in containers if c.get("name") == container] if container else containers[:1]
    c = (chosen or containers)[0]
    if len(containers) > 1:
        notes.append(f"{name}: only container {c['name']} runs; sidecars are left out")
    if pod.get("initContainers"):
        notes.append(f"{name}: init containers are left out")

    o = options
    ctx = {**(pod.get("securityContext") or {}), **(c.get("securityContext") or {})}
    spec = bare(name, [], _with_context(o, ctx, pod), namespace)
    spec.update(hostname=hostname, subdomain=subdomain, grace=pod.get("terminationGracePeriodSeconds", 30),
                termination_path=c.get("terminationMessagePath", "/dev/termination-log"), cwd=c.get("workingDir", "/"),
                ports={p["name"]: p["containerPort"] for p in c.get("ports") or [] if "name" in p})
    meta = template.get("metadata") or {}
    labels = {**(meta.get("labels") or {}), **(labels or {})}
    fields = {"metadata.name": name, "metadata.namespace": namespace, "metadata.uid": f"uid-{name}",
              "spec.nodeName": NODE, "spec.serviceAccountName": "default", "status.hostIP": "10.244.0.1"}
    fields.update({f"metadata.labels['{k}']": v for k, v in labels.items()})
    fields.update({f"metadata.annotations['{k}']": v for k, v in (meta.get("annotations") or {}).items()})

    env = spec["env"]
    env["HOSTNAME"] = hostname
    if pod.get("hostNetwork"):
        on_the_node(spec)
    for e in [*(c.get("env") or []), *operator_env]:
        source = e.get("valueFrom")
        if source is None:
            env[e["name"]] = expand(e.get("value") or "", env)
        elif source.get("fieldRef", {}).get("fieldPath") in ("status.podIP", "status.podIPs"):
            spec["downward"][e["name"]] = source["fieldRef"]["fieldPath"]
        elif "fieldRef" in source:
            env[e["name"]] = fields.get(source["fieldRef"]["fieldPath"], "")
        else:
            raise ManifestError(f"{name}: env {e['name']} from {', '.join(source)} is not supported")
    if c.get("envFrom"):
        raise ManifestError(f"{name}: envFrom is not supported")
    env.update(o.extra_env or {})

    argv = command or [*(c.get("command") or o.entrypoint or []), *(c.get("args") or [])] or default_command
    if not argv:
        raise ManifestError(f"{name}: no command, no args and no image entrypoint (option entrypoint=)")
    spec["argv"] = [expand(a, env) for a in argv]

    limits = (c.get("resources") or {}).get("limits") or {}
    if "memory" in limits and o.memory is None:
        spec["memory"] = quantity(limits["memory"])
    if "cpu" in limits and o.cpu is None:
        spec["cpu"] = quantity(limits["cpu"])
    for field, key in (("readinessProbe", "readiness"), ("livenessProbe", "liveness")):
        spec[key] = c.get(field)
        if spec[key] and not {"tcpSocket", "httpGet", "exec"} & set(spec[key]):
            raise ManifestError(f"{name}: {field} is neither tcpSocket, httpGet nor exec")
    _volumes(spec, pod, c, manifest, fields)
    if pod.get("automountServiceAccountToken", True):
        spec["projected"].append({"dest": "/run/secrets/kubernetes.io/serviceaccount", "gid": spec["fs_group"], "files": {
            "namespace": {"data": namespace, "mode": "644"}, "token": {"data": "not-a-token", "mode": "644"},
            "ca.crt": {"data": "", "mode": "644"}}})
    return spec


def on_the_node(spec):
    """hostNetwork: one network and one host name with all such pods, as on a cluster of one node. Names in DNS stay."""
    spec["host_network"] = True
    spec["env"]["HOSTNAME"] = NODE


def _with_context(o, ctx, pod):
    """Options with what the manifest's security contexts say where the test said nothing."""
    merged = Options.__new__(Options)
    merged.__dict__.update(o.__dict__)
    base = security.PROFILES[o.profile]
    if "runAsUser" in ctx and o.uid is None:
        merged.uid = ctx["runAsUser"]
        merged.gid = ctx.get("runAsGroup") if o.gid is None else o.gid
    if "fsGroup" in (pod.get("securityContext") or {}) and o.fs_group is None:
        merged.fs_group = pod["securityContext"]["fsGroup"]
    if ctx.get("readOnlyRootFilesystem") is not None and o.readonly_root is None:
        merged.readonly_root = ctx["readOnlyRootFilesystem"]
    if ctx.get("allowPrivilegeEscalation") is not None and o.no_new_privs is None:
        merged.no_new_privs = not ctx["allowPrivilegeEscalation"]
    wanted = ctx.get("capabilities") or {}
    if o.caps is None and wanted:
        drop = {d.upper() for d in wanted.get("drop") or []}
        caps = [] if "ALL" in drop else [x for x in base["caps"] if x not in drop]
        merged.caps = caps + [a for a in wanted.get("add") or [] if a not in caps]
    return merged


def _volumes(spec, pod, c, manifest, fields):
    volumes = {v["name"]: v for v in pod.get("volumes") or []}
    for m in c.get("volumeMounts") or []:
        v = volumes.get(m["name"])
        if v is None:
            raise ManifestError(f"{spec['name']}: volumeMount {m['name']} has no volume")
        if "emptyDir" in v:
            size = (v["emptyDir"] or {}).get("sizeLimit")
            spec["tmpfs"].append({"dest": m["mountPath"], "mode": "777" if spec["fs_group"] is None else "2777",
                                  "gid": spec["fs_group"] or 0, "size": int(quantity(size)) if size else None})
        elif "configMap" in v or "secret" in v:
            kind, ref = ("ConfigMap", v["configMap"]) if "configMap" in v else ("Secret", v["secret"])
            doc = manifest and manifest.find(kind, name=ref.get("name") or ref.get("secretName"))
            if not doc:
                raise ManifestError(f"{spec['name']}: volume {m['name']}: no such {kind} in the manifest")
            plain = doc.get("data") or {}
            if kind == "Secret":
                plain = {k: base64.b64decode(v).decode() for k, v in plain.items()}
            data = {**plain, **(doc.get("stringData") or {})}
            mode = oct(ref.get("defaultMode", 0o644))[2:]
            items = ref.get("items") or [{"key": k, "path": k} for k in data]
            spec["projected"].append({"dest": m["mountPath"], "gid": spec["fs_group"], "files": {
                i["path"]: {"data": data[i["key"]], "mode": oct(i["mode"])[2:] if "mode" in i else mode} for i in items}})
        elif "downwardAPI" in v:
            spec["projected"].append({"dest": m["mountPath"], "gid": spec["fs_group"], "files": {
                i["path"]: {"data": fields.get(i["fieldRef"]["fieldPath"], ""), "mode": "644"}
                for i in v["downwardAPI"].get("items") or []}})
        elif "hostPath" in v:
            spec["binds"].append([v["hostPath"]["path"], m["mountPath"], bool(m.get("readOnly"))])
        else:
            raise ManifestError(f"{spec['name']}: volume {m['name']} is of a kind that podnet does not have")
