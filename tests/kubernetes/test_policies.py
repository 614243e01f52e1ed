#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NetworkPolicies, enforced: muster's own beside one that denies all else."""
import contextlib
import re
import subprocess
import sys

import kube
import programs
from kube import MpiJob, Skip, check, mpijob, namespace, part, told, until

HELLO = "/home/mpiuser/hello"
FORMS = (("native", "muster launch -n 2 --bootstrap pmix --"),
         ("mpirun", "mpirun -n 2"))
RANGE = "40000-40999"


def deny(ns, *kinds):
    """Nothing in, nothing out, or both, but what another policy allows."""
    ns.create({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
               "metadata": {"name": "deny"},
               "spec": {"podSelector": {}, "policyTypes": kinds}})


def netpol_text(job, *options):
    """What muster prints."""
    check(kube.MUSTER != "", "no muster here")
    return subprocess.run(
        [kube.MUSTER, "netpol", "--job", job, *options], check=True,
        capture_output=True, text=True, timeout=kube.PATIENCE).stdout


def netpol(ns, job, *options):
    """Applies it; the text."""
    text = netpol_text(job, *options)
    ns.create(text)
    return text


def settings(text):
    """The variables that the comments of a policy ask for."""
    return [{"name": name, "value": value} for name, value in re.findall(
        r"^#   ([A-Z]\w*)=(\S+)", text, re.M)]


def give(manifest, env):
    for role in ("Launcher", "Worker"):
        part(manifest, role)["containers"][0]["env"] = env


COREFILE = """.:53 {
    errors
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa
    template ANY ANY {
        rcode NXDOMAIN
    }
}
"""


@contextlib.contextmanager
def names_by_a_pod():
    """What a pod's spec says so that it asks a CoreDNS that is a pod, as most
    clusters have it; ours is a process of the first node, which no policy for
    pods keeps a pod on that node from."""
    program = programs.path("coredns")
    with namespace("names") as ns:
        ns.create({"apiVersion": "v1", "kind": "ConfigMap",
                   "metadata": {"name": "names"},
                   "data": {"Corefile": COREFILE}})
        told("create", "clusterrolebinding", ns.name, "--clusterrole=view",
             f"--serviceaccount={ns.name}:default")
        try:
            ns.create({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": "names",
                             "labels": {"k8s-app": "kube-dns"}},
                "spec": {
                    "volumes": [
                        {"name": "program", "hostPath": {"path": program}},
                        {"name": "conf", "configMap": {"name": "names"}}],
                    "containers": [{
                        "name": "names", "image": kube.IMAGE,
                        "command": ["/coredns", "-conf", "/conf/Corefile"],
                        "readinessProbe": {"periodSeconds": 1, "httpGet": {
                            "path": "/ready", "port": 8181}},
                        "volumeMounts": [
                            {"name": "program", "mountPath": "/coredns"},
                            {"name": "conf", "mountPath": "/conf"}]}]}})
            until(lambda: "Ready" in ns.conditions("pod", "names"), "DNS")
            yield ns.get("pod", "names")["status"]["podIP"]
        finally:
            told("delete", "clusterrolebinding", ns.name)


def ask(manifest, ns, address):
    """The pods of a job ask this server for names."""
    for role in ("Launcher", "Worker"):
        part(manifest, role).update({"dnsPolicy": "None", "dnsConfig": {
            "nameservers": [address], "searches": [
                f"{ns.name}.svc.cluster.local", "svc.cluster.local",
                "cluster.local"],
            "options": [{"name": "ndots", "value": "5"}]}})


def enforced():
    """On a cluster of somebody else's nobody knows."""
    if not kube.OWN_NODE:
        raise Skip("the cluster is not ours")


def spread(manifest):
    """A worker on each node, where there are two."""
    part(manifest, "Worker")["topologySpreadConstraints"] = [{
        "maxSkew": 1, "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {f"{kube.LABEL}job-role": "worker"}}}]
    return manifest


def hello(ns, name, form, env=(), names=None):
    """A job of two ranks that has to succeed."""
    manifest = spread(mpijob(name, ["sh", "-c", f"{form} {HELLO}"]))
    give(manifest, list(env))
    if names:
        ask(manifest, ns, names)
    job = MpiJob(ns, name, manifest)
    end = job.finish()
    log = job.log(job.launcher())
    check(end == "Succeeded", f"the job {end}", log)
    for rank in range(2):
        check(f"rank {rank} of 2 on {name}-worker-{rank}" in log,
              f"no rank {rank}", log)


def listening(ns, pod):
    """TCP ports on which a pod listens at its own address."""
    table = ns.told("exec", pod, "--", "cat", "/proc/net/tcp",
                    "/proc/net/tcp6")
    ports = set()
    for line in table.splitlines():
        fields = line.split()
        if len(fields) > 3 and fields[3] == "0A":
            address, port = fields[1].split(":")
            if not address.endswith("7F"):  # loopback
                ports.add(int(port, 16))
    return sorted(ports)


def reached(ns, source, address, port):
    return ns.kubectl("exec", source, "--", "timeout", "3", "bash", "-c",
                      f": < /dev/tcp/{address}/{port}")[0] == 0


def test_a_job_beside_a_policy_that_denies():
    """Nothing comes in but from the job's pods; natively, and through
    mpirun, whose daemons and ranks take any ports."""
    enforced()
    with namespace("policy") as ns:
        deny(ns, "Ingress")
        for name, form in FORMS:
            netpol(ns, name)
            hello(ns, name, form)


def test_the_ports_of_a_range():
    """Only these, with the settings that the policy's comments ask for."""
    enforced()
    with namespace("ports") as ns:
        deny(ns, "Ingress")
        for name, form in FORMS:
            text = netpol(ns, name, "--posture", "restricted",
                          "--port-range", RANGE)
            env = settings(text)
            check(len(env) > 4, "no settings", text)
            hello(ns, name, form, env)


def test_a_job_that_lets_nothing_out():
    """Nothing in and nothing out, but to itself and to the cluster's DNS."""
    enforced()
    with names_by_a_pod() as names, namespace("isolated") as ns:
        deny(ns, "Ingress", "Egress")
        for name, form in FORMS:
            netpol(ns, name, "--posture", "isolated")
            hello(ns, name, form, names=names)


def test_a_policy_that_lacks_names():
    enforced()
    with names_by_a_pod() as names, namespace("nameless") as ns:
        deny(ns, "Ingress", "Egress")
        jobs = {}
        for name, form in FORMS:
            text = netpol_text(name, "--posture", "isolated")
            rule = text.index("    - to:  # names")
            ns.create(text[:rule])
            manifest = mpijob(name, ["sh", "-c", f"{form} {HELLO}"])
            give(manifest, [{"name": "MUSTER_CONNECT_TIMEOUT", "value": "30s"}])
            ask(manifest, ns, names)
            jobs[name] = MpiJob(ns, name, manifest)
        for name, job in jobs.items():
            code, status, text = job.verdict()
            check(status == 200, f"exit code {status} ({code})", text)
            check(code == "dns_unresolved", f"the verdict is {code}", text)
            check(re.search(rf"{name}-worker-\d\S* cannot be looked up: the "
                            "cluster's DNS gives no answer", text),
                  "not what is missing", text)
            check("port 53 in the NetworkPolicy" in text, "no port 53", text)


def test_who_reaches_the_ports_of_a_job():
    """A pod of the job does, a pod beside it does not."""
    enforced()
    with namespace("reach") as ns:
        deny(ns, "Ingress")
        ns.create({"apiVersion": "v1", "kind": "Pod",
                   "metadata": {"name": "outsider"},
                   "spec": {"containers": [{
                       "name": "outsider", "image": kube.IMAGE,
                       "command": ["sleep", "1000"]}]}})
        job_of = {}
        for name, form in FORMS:
            netpol(ns, name)
            job_of[name] = MpiJob(ns, name, spread(mpijob(name, [
                "sh", "-c", f"{form} sh -c 'echo all-is-up; sleep 1000'"])))
        until(lambda: ns.get("pod", "outsider")["status"]["phase"]
              == "Running", "pod outsider")
        for name, job in job_of.items():
            launcher = job.launcher()["metadata"]["name"]
            until(lambda p=launcher: ns.kubectl("logs", p)[1].count(
                "all-is-up") == 2, "output of both ranks")
            worker = f"{name}-worker-0"
            for pod, inside in ((worker, f"{name}-worker-1"),
                                (launcher, worker)):
                address = ns.get("pod", pod)["status"]["podIP"]
                ports = listening(ns, pod)
                check(2222 in ports or pod == launcher, "not the server's port",
                      ports)
                for port in ports:
                    check(reached(ns, inside, address, port),
                          f"{inside} does not reach {pod}:{port}")
                    check(not reached(ns, "outsider", address, port),
                          f"outsider reaches {pod}:{port}")
                print(f"      {pod}: {ports}", flush=True)


def test_a_policy_that_lacks_the_servers_port():
    """The launcher says that the packets are dropped, where, and what drops
    packets so."""
    enforced()
    with namespace("lacking") as ns:
        deny(ns, "Ingress")
        jobs = {}
        for name, form in FORMS:
            netpol(ns, name, "--posture", "restricted", "--port-range", RANGE,
                   "--ssh-port", "2200")
            manifest = mpijob(name, ["sh", "-c", f"{form} {HELLO}"])
            give(manifest, [{"name": "MUSTER_CONNECT_TIMEOUT", "value": "30s"}])
            jobs[name] = MpiJob(ns, name, manifest)
        for name, job in jobs.items():
            code, status, text = job.verdict()
            check(status == 200, f"exit code {status} ({code})", text)
            check(re.search(rf"{name}-worker-\d\S*: no answer on TCP port 2222; "
                            "the traffic is dropped", text), "not where", text)
            check("NetworkPolicy" in text, "no NetworkPolicy", text)


def test_a_policy_that_lacks_the_ports_of_mpi():
    """Before any rank starts: MPI would wait for ever."""
    enforced()
    with namespace("mpi") as ns:
        deny(ns, "Ingress")
        jobs = {}
        for name, form in FORMS:
            # Without the settings that keep MPI inside.
            netpol(ns, name, "--posture", "restricted", "--port-range", RANGE)
            jobs[name] = MpiJob(ns, name, spread(mpijob(
                name, ["sh", "-c", f"{form} {HELLO}"])))
        for name, job in jobs.items():
            code, status, text = job.verdict()
            check(status == 200, f"exit code {status} ({code})", text)
            check("before any rank was started" in text, "ranks ran", text)
            check(re.search(rf"{name}-worker-\d\S* cannot open a connection to "
                            rf"{name}-", text), "not from where to where", text)
            check(re.search(r"seen: 10\.[\d.]+:\d+: timeout", text),
                  "not which port", text)
            check("NetworkPolicy" in text, "no NetworkPolicy", text)


if __name__ == "__main__":
    kube.main(sys.modules[__name__])
