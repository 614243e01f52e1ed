# SPDX-License-Identifier: Apache-2.0
"""The pods' network: one bridge in a network namespace of its own, one veth pair per pod.

Does: addresses, attach, silent cut of a pod, packet drop by pair, port and direction.
Refuses: to touch any namespace but the caller's; it is called in the kubelet process only, which left the machine's own.
How: iproute2 in batch mode, nftables' bridge family (so that a pod sees no rule, only missing packets).
"""
import ipaddress
import json
import os
import subprocess

V4 = ipaddress.ip_network("10.244.0.0/16")
V6 = ipaddress.ip_network("fd00:10:244::/64")
DNS4, DNS6 = "10.96.0.10", "fd00:10:96::a"
NOWHERE6 = "fd00:dead::"      # routed to the bridge and dropped there without a word


def run(argv, text=None):
    p = subprocess.run(argv, input=text, capture_output=True, text=True)
    if p.returncode:
        raise OSError(f"{' '.join(argv)}: {p.stderr.strip()}" + (f"\nwith input:\n{text}" if text else ""))
    return p.stdout


def no_dad():
    """IPv6 addresses usable at once, no router solicitations, in the caller's namespace."""
    for conf, value in (("accept_dad", 0), ("dad_transmits", 0), ("router_solicitations", 0), ("accept_ra", 0)):
        try:
            with open(f"/proc/sys/net/ipv6/conf/default/{conf}", "w") as f:
                f.write(str(value))
        except OSError:
            pass


def mac(n):
    return f"0a:58:0a:f4:{n >> 8:02x}:{n & 255:02x}"


class Network:
    def __init__(self, ipv):
        if ipv not in ("4", "6", "dual"):
            raise ValueError(f"ipv must be 4, 6 or dual, not {ipv}")
        self.v4, self.v6 = ipv in ("4", "dual"), ipv in ("6", "dual")
        self._next = 2
        self._rule = 0
        self._ports = set()      # numbers of attached pods
        self._answers = False    # the bridge answers ARP in its pods' place

    def setup(self):
        no_dad()
        # A fixed address: a bridge otherwise takes the lowest of its ports' and changes it whenever a pod is added, and
        # every pod's neighbour entry for its gateway and DNS server is wrong for seconds.
        lines = ["link set lo up", "link add br0 address 0a:58:0a:f4:00:01 type bridge stp_state 0 forward_delay 0 mcast_snooping 0"]
        if self.v4:
            lines += [f"addr add {V4[1]}/16 dev br0", f"addr add {DNS4}/32 dev br0"]
        if self.v6:
            lines += [f"addr add {V6[1]}/64 dev br0 nodad", f"addr add {DNS6}/128 dev br0 nodad"]
        run(["ip", "-batch", "-"], "\n".join(lines + ["link set br0 up"]) + "\n")
        run(["nft", "-f", "-"], """table bridge podnet {
            chain forward { type filter hook forward priority 0; }
            chain input { type filter hook input priority 0; }
            chain output { type filter hook output priority 0; }
            set cut { type ifname; }
            chain before { type filter hook prerouting priority 0; iifname @cut drop; }
            chain after { type filter hook postrouting priority 0; oifname @cut drop; }
        }""")

    def dns_addresses(self):
        return ([DNS4] if self.v4 else []) + ([DNS6] if self.v6 else [])

    def allocate(self):
        """(number, [addresses]): never given out twice in a cluster's life, so a restarted pod always moves."""
        n, self._next = self._next, self._next + 1
        n += n // 250        # avoid .255 and .0 only for looks
        return n, ([str(V4[n])] if self.v4 else []) + ([str(V6[n])] if self.v6 else [])

    def attach(self, pods):
        """pods: [(number, pid)]; creates the pair with eth0 already inside the pid's namespace."""
        lines = []
        for n, pid in pods:
            lines += [f"link add v{n} type veth peer name eth0 address {mac(n)} netns {pid}", f"link set v{n} master br0 up"]
        if lines:
            run(["ip", "-batch", "-"], "\n".join(lines) + "\n")
        fresh = {n for n, _ in pods}
        self._ports |= fresh
        if self._answers:
            self._answer_for(fresh)

    def answer_arp(self):
        """From now on who asks for a pod's address gets the answer from the bridge, as in OVN and Calico networks, and no
        other pod sees the question: each of N pods that talk to all asks N times, and N copies of each question are more
        than two cores deliver within ARP's three tries once N is 256. IPv4 only; IPv6 clusters stay as they are."""
        if self.v4 and not self.v6 and not self._answers:
            self._answers = True
            self._answer_for(self._ports)

    def _answer_for(self, ports):
        if not ports:
            return
        run(["ip", "-batch", "-"], "".join(f"link set v{n} type bridge_slave proxy_arp on\n"
                                           f"neigh replace {V4[n]} lladdr {mac(n)} dev br0 nud permanent\n" for n in ports))
        run(["bridge", "-batch", "-"], "".join(f"fdb replace {mac(n)} dev v{n} master static\n" for n in ports))

    def inside(self, addresses):
        """ip commands for the pod's side."""
        lines = ["link set lo up", "link set eth0 up"]
        for a in addresses:
            v6 = ":" in a
            lines += [f"addr add {a}/{64 if v6 else 16} dev eth0" + (" nodad" if v6 else "")]
            lines += [f"route add default via {V6[1] if v6 else V4[1]} dev eth0"]
        return "\n".join(lines) + "\n"

    def detach(self, n):
        self._ports.discard(n)
        if os.path.exists(f"/proc/self/net/dev_snmp6/v{n}") or f" v{n}:" in open("/proc/self/net/dev").read():
            try:
                run(["ip", "link", "del", f"v{n}"])
            except OSError:
                pass       # gone with its namespace in between

    def cut(self, n, link=False):
        """Silent: the bridge drops every frame from and to the pod, its carrier stays. link=True: carrier lost as well."""
        run(["nft", "add", "element", "bridge", "podnet", "cut", f"{{ v{n} }}"])
        if link:
            run(["ip", "link", "set", f"v{n}", "down"])

    def join(self, n):
        run(["ip", "link", "set", f"v{n}", "up"])
        run(["nft", "-f", "-"], f"add element bridge podnet cut {{ v{n} }}\ndelete element bridge podnet cut {{ v{n} }}\n")

    def drop(self, src, dst, port, direction, proto="tcp"):
        """src, dst: pod number, "dns" or None (any). "out": packets src -> dst with destination port;
        "in": the way back, dst -> src with source port; "both". Without port: all IP packets."""
        self._rule += 1
        tag = f"r{self._rule}"
        lines = []
        for way, a, b, side in (("out", src, dst, "dport"), ("in", dst, src, "sport")):
            if direction not in (way, "both"):
                continue
            chain = "input" if b == "dns" else "output" if a == "dns" else "forward"
            match = []
            if a not in (None, "dns"):
                match.append(f'iifname "v{a}"')
            if b not in (None, "dns"):
                match.append(f'oifname "v{b}"')
            match.append(f"meta l4proto {{ tcp, udp }} th {side} {port}" if port and proto == "any" else
                         f"{proto} {side} {port}" if port else "meta protocol { ip, ip6 } meta l4proto != ipv6-icmp")
            lines.append(f'add rule bridge podnet {chain} {" ".join(match)} counter drop comment "{tag}"')
        run(["nft", "-f", "-"], "\n".join(lines) + "\n")
        return tag

    def only(self, ports):
        """Between pods: connections to other TCP ports do not open, datagrams to and from other UDP ports are lost.
        ports: nftables' words, as in "2222, 40000-40999"."""
        self._rule += 1
        tag = f"r{self._rule}"
        end = f'counter drop comment "{tag}"\n'
        run(["nft", "-f", "-"],
            f"add rule bridge podnet forward tcp flags & (syn | ack) == syn tcp dport != {{ {ports} }} {end}"
            f"add rule bridge podnet forward udp dport != {{ {ports} }} udp sport != {{ {ports} }} {end}")
        return tag

    def _rules(self):
        out = json.loads(run(["nft", "-j", "list", "table", "bridge", "podnet"]))
        return [o["rule"] for o in out["nftables"] if "rule" in o]

    def allow(self, tag=None):
        """Remove one rule, or all."""
        lines = [f"delete rule bridge podnet {r['chain']} handle {r['handle']}" for r in self._rules()
                 if r.get("comment", "") == tag or (tag is None and "comment" in r)]
        if lines:
            run(["nft", "-f", "-"], "\n".join(lines) + "\n")

    def dropped(self, tag):
        return sum(e["counter"]["packets"] for r in self._rules() if r.get("comment") == tag
                   for e in r["expr"] if "counter" in e)
