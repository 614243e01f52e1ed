# SPDX-License-Identifier: Apache-2.0
"""Each example, as its pods see it, against what the operators are known to lay out."""
from .. import Cluster, ManifestError, load_manifest, mpijob, podspec, trainjob
from . import example, idle_job, same, true
from ..security import OPENSHIFT_UID

BASE = {"PATH", "HOME", "HOSTNAME", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "KUBERNETES_PORT"}
QUIET = {"NVIDIA_VISIBLE_DEVICES": "", "NVIDIA_DRIVER_CAPABILITIES": ""}
NO_RETRY = "-o ConnectionAttempts=10"


def _openmpi(slots):
    return {"OMPI_MCA_orte_keep_fqdn_hostnames": "true", "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile",
            "OMPI_MCA_plm_rsh_args": NO_RETRY, "OMPI_MCA_orte_set_default_slots": str(slots)}


def _env(pod):
    """The environment of process 1, without what every container has."""
    text = pod._read(f"/proc/{pod.pid}/environ")
    env = dict(e.split("=", 1) for e in text.split("\0") if e)
    return {k: v for k, v in env.items() if k not in BASE}


def _modes(pod, path):
    """{name: (mode, owner, group)} through the links."""
    r = pod.exec(["sh", "-c", f"cd {path} && stat -L -c '%n %a %u %g' *"])
    return {n: tuple(rest) for n, *rest in (line.split() for line in r.stdout.splitlines())}


def _keys(pod, path, private, public, group="0"):
    same(_modes(pod, path), {"id_rsa": (private, "0", group), "id_rsa.pub": (public, "0", group),
                             "authorized_keys": (public, "0", group)}, f"{pod} {path}")
    links = pod.exec(["sh", "-c", f"readlink {path}/id_rsa; readlink {path}/..data; stat -f -c %T {path}; touch {path}/x"])
    true(links.stdout.startswith("..data/id_rsa\n..20") and "tmpfs" in links.stdout and links.returncode == 1, links.stdout)
    text = pod.exec(["cat", f"{path}/id_rsa", f"{path}/authorized_keys"], user="root").stdout
    true(text.startswith("-----BEGIN EC PRIVATE KEY-----") and "ecdsa-sha2-nistp521 " in text, text[:60])


def _mpi(pod, hostfile, discover=None):
    same(pod.exec(["cat", "/etc/mpi/hostfile"]).stdout, hostfile, "hostfile")
    modes = {"hostfile": "444"}
    if discover is not None:
        modes["discover_hosts.sh"] = "555"
        same(pod.exec(["/bin/sh", "/etc/mpi/discover_hosts.sh"]).stdout.split(), discover, "discover_hosts.sh")
    same({n: m[0] for n, m in _modes(pod, "/etc/mpi").items()}, modes)


def check_pi_openmpi():
    """MPIJob, Open MPI, non-root, key mount at another path: 0644; worker has its role and nothing else."""
    with Cluster("st-l1") as c:
        job = idle_job(c, "pi-openmpi.yaml", workers=11)
        hosts = [f"pi-worker-{i}.pi.default.svc" for i in range(11)]
        _mpi(job.launcher, "".join(f"{h} slots=1\n" for h in hosts), sorted(hosts))
        same(hosts == sorted(hosts), False, "eleven workers show the two orders")
        same(_env(job.launcher), {"K_MPI_JOB_ROLE": "launcher", **_openmpi(1), **QUIET})
        w = job.workers[10]
        same(_env(w), {"K_MPI_JOB_ROLE": "worker"})
        same(w.exec(["ls", "/etc/mpi"]).returncode, 2, "workers have no hostfile")
        for p in (job.launcher, w):
            _keys(p, "/home/mpiuser/.ssh", "644", "644")
        same((job.launcher.hostname, w.name, w.hostname), ("pi-launcher", "pi-worker-10", "pi-worker-10"))
        true(job.launcher.name.startswith("pi-launcher-"), job.launcher.name)
        search = lambda p: p.exec(["grep", "search", "/etc/resolv.conf"]).stdout.split()[1:]
        cluster = ["default.svc.cluster.local", "svc.cluster.local", "cluster.local"]
        same(search(job.launcher), cluster)
        same(search(w), cluster + ["pi.default.svc.cluster.local"])
        same(w.exec(["getent", "hosts", "pi-launcher"]).returncode, 0, "the launcher's short name, from a worker")
        same(job.launcher.exec(["getent", "hosts", "pi-worker-0"]).returncode, 2, "a worker's short name, from the launcher")
        same(w.exec(["cat", "/run/secrets/kubernetes.io/serviceaccount/namespace"]).stdout, "default")


def check_default_worker_command():
    """No command, no args: /usr/sbin/sshd -De; keys at /root/.ssh are 0600, or 0640 with a group by fsGroup."""
    specs = mpijob.plan(load_manifest(example("default-worker-command.yaml")), podspec.Options())
    same([s["argv"] for s in specs[1:]], [["/usr/sbin/sshd", "-De"]] * 2)
    with Cluster("st-l2") as c:
        job = idle_job(c, "default-worker-command.yaml", uid=0, namespace="team")
        _keys(job.workers[0], "/root/.ssh", "600", "600")
        _mpi(job.launcher, "hello-worker-0.hello.team.svc slots=1\nhello-worker-1.hello.team.svc slots=1\n",
             ["hello-worker-0.hello.team.svc", "hello-worker-1.hello.team.svc"])
        same(job.launcher.exec(["getent", "hosts", "hello-worker-1.hello.team.svc"]).returncode, 0)
    with Cluster("st-l2b") as c:
        job = idle_job(c, "default-worker-command.yaml", uid=OPENSHIFT_UID, cluster_domain="cluster.local")
        _keys(job.workers[0], "/root/.ssh", "640", "640", "1000680000")
        true("hello-worker-0.hello.default.svc.cluster.local slots=1\n" in job.launcher.exec(["cat", "/etc/mpi/hostfile"]).stdout, "domain")


def check_mpich_and_intel():
    """host:slots lines and each family's variables, the operator's misspelling included."""
    for name, job_name, env in (
            ("pi-mpich.yaml", "pi-mpich", {"HYDRA_HOST_FILE": "/etc/mpi/hostfile", "HYDRA_LAUNCH_EXTRA_ARGS": NO_RETRY}),
            ("pi-intel.yaml", "pi-intel", {"I_MPI_HYDRA_HOST_FILE": "/etc/mpi/hostfile", "I_MPI_PERHOST": "1",
                                           "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS": NO_RETRY})):
        with Cluster("st-l3") as c:
            job = idle_job(c, name)
            hosts = [f"{job_name}-worker-{i}.{job_name}.default.svc" for i in range(2)]
            _mpi(job.launcher, "".join(f"{h}:1\n" for h in hosts), hosts)
            same(_env(job.launcher), {"K_MPI_JOB_ROLE": "launcher", **env, **QUIET})


def check_launcher_as_worker():
    """The launcher's line is first, it keeps its GPUs, names exist before pods are ready."""
    with Cluster("st-l4") as c:
        job = idle_job(c, "launcher-as-worker.yaml")
        job.launcher.wait_ready(10)
        hosts = ["both-launcher.both.default.svc", "both-worker-0.both.default.svc", "both-worker-1.both.default.svc"]
        _mpi(job.launcher, "".join(f"{h} slots=2\n" for h in hosts), hosts)
        same(_env(job.launcher), {"K_MPI_JOB_ROLE": "launcher", **_openmpi(2)})
    with Cluster("st-l4b") as c:
        never = {"exec": {"command": ["/bin/false"]}, "periodSeconds": 1}
        nap = ["/bin/sleep", "infinity"]
        for name, published in (("launcher-as-worker.yaml", 0), ("pi-openmpi.yaml", 2)):
            job = c.apply(example(name), launcher_command=nap, worker_command=nap, start={"launcher": "never"},
                          edit=lambda specs: [s.update(readiness=never) for s in specs])
            same(job.workers[0].exec(["getent", "hosts", f"{job.workers[1].name}.{job.workers[1].job}"]).returncode, published)


def check_openshift_restricted():
    """Arbitrary UID with fsGroup: key files get the group and group-read; limits and /dev/shm from the manifest."""
    with Cluster("st-l5") as c:
        job = idle_job(c, "openshift-restricted.yaml")
        w = job.workers[3]
        _keys(w, "/etc/mpi-ssh", "644", "644", "1000680000")
        same(w.exec(["cat", "/etc/mpi-ssh/id_rsa"]).returncode, 0)
        same(w.exec(["id", "-u"]).stdout, "1000680000\n")
        same(w.exec(["touch", "/x"]).returncode, 1)
        true("131072" in w.exec(["df", "/dev/shm"]).stdout, "shm size")


def check_trainjob():
    """TrainJob: short names, launcher last, four variables on the launcher only, 0640, no role, names before readiness."""
    with Cluster("st-l6") as c:
        job = idle_job(c, "trainjob-deepspeed.yaml")
        same(len(job.workers), 2, "numNodes 3 with runLauncherAsNode")
        job.launcher.wait_ready(10)
        _mpi(job.launcher, "finetune-node-0-0.finetune slots=2\nfinetune-node-0-1.finetune slots=2\n"
                           "finetune-launcher-0-0.finetune slots=2\n")
        same(_env(job.launcher), {"EPOCHS": "3", "JOB_COMPLETION_INDEX": "0", **_openmpi(2)})
        same(_env(job.workers[1]), {"EPOCHS": "3", "JOB_COMPLETION_INDEX": "1"})
        same(job.workers[1].hostname, "finetune-node-0-1")
        for p in (job.launcher, job.workers[0]):
            _keys_trainer(p)
        same(job.launcher.exec(["getent", "hosts", "finetune-node-0-1.finetune"]).returncode, 0)
        same(job.launcher.exec(["id", "-G"]).stdout, "1000\n")
        same(job.workers[0].exec(["ls", "/etc/mpi"]).returncode, 2)
    manifest = load_manifest(example("trainjob-deepspeed.yaml"))
    manifest.job["spec"]["trainer"]["numNodes"] = 1
    same(len(trainjob.plan(manifest, podspec.Options())), 2, "numNodes 1 still makes two pods")
    manifest.job["spec"]["trainer"]["env"] = [{"name": "OMPI_MCA_plm_rsh_args", "value": "x"}]
    try:
        trainjob.plan(manifest, podspec.Options())
        raise AssertionError("the reserved variable was accepted")
    except ManifestError:
        pass


def _keys_trainer(pod):
    # 0640 and 0644 with fsGroup 1000: the group owns and reads.
    same(_modes(pod, "/home/mpiuser/.ssh"), {"id_rsa": ("640", "0", "1000"), "id_rsa.pub": ("644", "0", "1000"),
                                             "authorized_keys": ("644", "0", "1000")})


def check_manifests_that_the_operator_refuses():
    """ExitCode restart policy, a name too long, no worker."""
    for spoil in (lambda d: d["spec"]["mpiReplicaSpecs"]["Worker"].update(restartPolicy="ExitCode"),
                  lambda d: d["metadata"].update(name="x" * 60),
                  lambda d: d["spec"]["mpiReplicaSpecs"].pop("Worker")):
        manifest = load_manifest(example("pi-openmpi.yaml"))
        spoil(manifest.job)
        try:
            mpijob.plan(manifest, podspec.Options())
        except ManifestError:
            continue
        raise AssertionError("not refused")
