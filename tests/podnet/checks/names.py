# SPDX-License-Identifier: Apache-2.0
"""The DNS server: what it answers, its faults, its log."""
import time

from .. import Cluster
from . import same, servers, true


def _hosts(pod, name, kind="ahostsv4"):
    r = pod.exec(["getent", kind, name])
    return sorted({l.split()[0] for l in r.stdout.splitlines()})


def check_pod_service_and_reverse_names():
    """Pod, service (all addresses), PTR; unknown names and foreign zones do not exist."""
    with Cluster("st-dns") as c:
        a, b = servers(c, ["a", "b"])
        same(_hosts(a, "b.svc"), [b.ip])
        same(_hosts(a, "b.svc.default.svc.cluster.local."), [b.ip])
        same(_hosts(a, "svc"), sorted([a.ip, b.ip]))
        true(" b.svc.default.svc.cluster.local" in a.exec(["getent", "hosts", b.ip]).stdout, "PTR")
        same(a.exec(["getent", "hosts", "x.svc"]).returncode, 2)
        same(a.exec(["getent", "hosts", "www.example.org"]).returncode, 2)


def check_own_name_is_in_etc_hosts_only_in_full():
    """As with a real kubelet: hostname and the full name are in /etc/hosts, the hostfile's form is not."""
    with Cluster("st-own") as c:
        p = c.pod("a", subdomain="svc")
        c.dns.nxdomain("a")
        same(p.exec(["getent", "ahostsv4", "a"]).returncode, 0)
        same(p.exec(["getent", "ahostsv4", "a.svc.default.svc.cluster.local"]).returncode, 0)
        same(p.exec(["getent", "ahostsv4", "a.svc.default.svc"]).returncode, 2)


def check_faults_by_name():
    """late, vanish, servfail, silence, move, delay, A apart from AAAA, clear."""
    with Cluster("st-fault", ipv="dual") as c:
        a, b = servers(c, ["a", "b"])
        v4 = lambda: _hosts(a, "b.svc")
        for seconds in (1, 2, 4, 8, 16):     # asked in time, however slow this machine is
            c.dns.late("b", seconds)
            end = time.monotonic() + seconds
            found = v4()
            if time.monotonic() < end:
                break
        same(found, [])
        time.sleep(end - time.monotonic() + 0.1)
        same(v4(), [b.ip])
        c.dns.vanish("b")
        same(v4(), [])
        c.dns.clear("b")
        c.dns.move("b", a.ip)
        same(v4(), [a.ip])
        c.dns.set("b.svc.default.svc", [a.ip, b.ip])
        same(v4(), sorted([a.ip, b.ip]), "a full name wins over a short one")
        c.dns.clear()
        c.dns.servfail("b", types=["AAAA"])
        same([x for x in _hosts(a, "b.svc", "ahosts") if ":" in x], [])
        same(v4(), [b.ip])
        c.dns.clear()
        c.dns.delay("b", 0.5)
        t = time.monotonic()
        same(v4(), [b.ip])
        true(time.monotonic() - t > 0.4, "delay not felt")
        c.dns.clear()
        c.dns.silent("b")
        p = a.popen(["getent", "ahostsv4", "b.svc"])
        time.sleep(0.5)
        true(p.poll() is None, "an answer came")
        p.kill()
        p.wait()


def check_query_log():
    """Every query is logged with name, type, pod and time, search list amplification included."""
    with Cluster("st-log") as c:
        a, b = servers(c, ["a", "b"])
        t = time.monotonic()
        a.exec(["getent", "ahostsv4", "b.svc.default.svc"])
        names = [q.name for q in c.dns.queries(since=t, pod=a)]
        same(names, ["b.svc.default.svc.default.svc.cluster.local", "b.svc.default.svc.svc.cluster.local",
                     "b.svc.default.svc.cluster.local"])
        q = c.dns.queries(since=t, name="b.svc.default.svc.cluster.local")[-1]
        same((q.pod, q.type, q.rcode, q.answers, q.proto), ("a", "A", 0, 1, "udp"))
        true(t <= q.time <= time.monotonic(), "time stamp")


def check_large_answer_goes_to_tcp():
    """A service of 60 pods does not fit into plain UDP: truncated, asked again over TCP, complete."""
    with Cluster("st-tc") as c:
        a, = servers(c, ["a"])
        c.dns.set("big.default.svc", [f"10.244.9.{i}" for i in range(1, 61)])
        same(len(_hosts(a, "big")), 60)
        true("tcp" in {q.proto for q in c.dns.queries(pod=a)}, "no TCP query")


def check_name_follows_readiness():
    """Without publishNotReadyAddresses the name appears when the tcpSocket probe succeeds, and goes with the pod."""
    with Cluster("st-ready") as c:
        a, = servers(c, ["a"])
        late = ["/usr/bin/python3", "-c", "import os,socket,time\nwhile not os.path.exists('/tmp/go'): time.sleep(0.05)\n"
                "s=socket.create_server(('',2222)); time.sleep(99)"]
        b = c.pod("b", late, subdomain="svc", readiness={"tcpSocket": {"port": 2222}, "periodSeconds": 0.2})
        same(_hosts(a, "b.svc"), [])
        b.exec(["touch", "/tmp/go"], check=True)
        true(b.wait_ready(), "never ready")
        same(_hosts(a, "b.svc"), [b.ip])
        b.kill()
        same(_hosts(a, "b.svc"), [])
