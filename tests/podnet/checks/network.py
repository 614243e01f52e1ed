# SPDX-License-Identifier: Apache-2.0
"""Addresses, reachability, packet drop, links."""
import time

from .. import Cluster
from . import ask, ask_until, same, servers, true


def check_four_pods_reach_each_other_by_name():
    """TCP from every pod to every pod by service name, IPv4."""
    with Cluster("st-net") as c:
        pods = servers(c, ["a", "b", "c", "d"])
        for p in pods:
            for q in pods:
                same(ask_until(q.name, p, f"{q.name}.svc"), q.name, f"{p} -> {q}")


def check_ipv6_only_and_dual_stack():
    """v6 pods have no v4 address; dual pods have both; both resolve and connect."""
    with Cluster("st-v6", ipv="6") as c:
        a, b = servers(c, ["a", "b"])
        same(ask_until("b", a, "b.svc"), "b")
        same(a.exec(["ip", "-4", "-o", "addr", "show", "eth0"]).stdout, "")
        true("nameserver fd00" in a.exec(["cat", "/etc/resolv.conf"]).stdout, "v6 nameserver")
    with Cluster("st-dual", ipv="dual") as c:
        a, b = servers(c, ["a", "b"])
        for address in b.info()["addresses"]:
            same(ask_until("b", a, address), "b")
        same(len({l.split()[0] for l in a.exec(["getent", "ahosts", "b.svc"]).stdout.splitlines()}), 2)


def check_dual_stack_with_dead_v6():
    """AAAA answers lead nowhere without an error; the A answer works."""
    with Cluster("st-dead6", ipv="dual-dead6") as c:
        a, b = servers(c, ["a", "b"])
        found = a.exec(["getent", "ahostsv6", "b.svc"]).stdout
        true("fd00:dead::1" in found, found)
        # The pod's own address may take a moment (duplicate address detection).
        same(ask_until("TimeoutError", a, "fd00:dead::1"), "TimeoutError")
        same(ask_until("b", a, b.ip), "b")


def check_drop_by_port_and_direction():
    """out: the way there; in: the answers; another port and another pod are not hit; allow ends it; packets are counted."""
    with Cluster("st-drop") as c:
        a, b, d = servers(c, ["a", "b", "d"])
        same(ask_until("b", a, b.ip), "b")
        for direction in ("out", "in", "both"):
            rule = c.drop(a, b, port=2222, direction=direction)
            same(ask(a, b.ip, timeout=0.5), "TimeoutError", direction)
            same(ask(d, b.ip), "b", "another source")
            same(ask_until("a", b, a.ip), "a", "the other way round is another connection")
            same(ask(a, b.ip, port=2223), "ConnectionRefusedError", "another port")
            true(rule.packets() > 0, "nothing counted")
            rule.remove()
            same(ask(a, b.ip), "b", "after remove")
        c.drop(None, b)
        same(ask(a, b.ip, timeout=0.5), "TimeoutError", "all packets from any pod")
        c.allow()
        same(ask(a, b.ip, timeout=3), "b", "after allow")


def check_gateway_keeps_its_address():
    """A pod that is added later changes nothing for those that are there (a bridge's own MAC would)."""
    with Cluster("st-mac") as c:
        a, = servers(c, ["a"])
        look = lambda: (a.exec(["getent", "hosts", "a.svc"]), a.exec(["ip", "neigh"]).stdout.split("lladdr ")[1].split()[0])[1]
        before = look()
        for n in "bcdefgh":
            c.pod(n)
        same(look(), before)


def check_drop_of_dns():
    """DNS itself can be cut off for one pod."""
    with Cluster("st-dropdns") as c:
        a, b = servers(c, ["a", "b"])
        c.drop(a, "dns", port=53, proto="udp")
        p = a.popen(["getent", "hosts", "b.svc"])
        time.sleep(1)
        true(p.poll() is None, "the look-up should hang")
        p.kill()
        p.wait()
        same(b.exec(["getent", "hosts", "a.svc"]).returncode, 0)


def check_cut_and_join():
    """A cut is silent (no carrier change, no error), join heals it; link=True takes the carrier too."""
    with Cluster("st-cut") as c:
        a, b = servers(c, ["a", "b"])
        same(ask_until("b", a, b.ip), "b")
        b.cut()
        same(ask(a, b.ip, timeout=0.5), "TimeoutError")
        true("LOWER_UP" in b.exec(["ip", "link", "show", "eth0"]).stdout, "carrier gone")
        b.join()
        same(ask_until("b", a, b.ip), "b")
        b.cut(link=True)
        true("NO-CARRIER" in b.exec(["ip", "link", "show", "eth0"]).stdout, "carrier still there")
        b.join()
        same(ask_until("b", a, b.ip), "b")
