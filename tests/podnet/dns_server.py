# SPDX-License-Identifier: Apache-2.0
"""The cluster's DNS server: UDP and TCP, authoritative for everything, a query log, faults by name.

Does: A and AAAA of pods and of headless services, PTR, SOA on negative answers, truncation then TCP, like CoreDNS.
      Faults per name and record type: NXDOMAIN, SERVFAIL, silence, other addresses, for ever or until a time; delay.
Refuses: to forward: a name outside the cluster does not exist.
Runs as its own process in the infrastructure namespace, one asyncio loop; controlled over <state>/dns.sock (rpc.py).

Which names a fault hits: "pi-worker-1" any pod of that host name (its canonical name only, not the search-list
variants of it); a name with dots exactly that name, completed by .cluster.local or the namespace; "*" all that exist.
"""
import asyncio
import ipaddress
import random
import struct
import sys
import time

from . import dns_wire as wire
from . import network, rpc

ZONE = "cluster.local"


def complete(name, namespace="default"):
    name = name.lower().rstrip(".")
    if name == "*" or "." not in name or name.endswith("." + ZONE):
        return name
    return f"{name}.{ZONE}" if name.endswith(".svc") else f"{name}.{namespace}.svc.{ZONE}"


class Zone:
    def __init__(self):
        self.pods = {}          # pod name -> {"names": [fqdn], "addresses": [...]}, only what is published
        self.who = {}           # address -> pod name, for ever: the log names clients that are gone
        self.faults = {}        # key -> {"A"|"AAAA": {"kind", "addresses", "until"}, "delay": seconds}
        self.log = []
        self.index = {}
        self.reverse = {}

    def reindex(self):
        self.index, self.reverse = {}, {}
        for pod in self.pods.values():
            for name in pod["names"]:
                self.index.setdefault(name, []).extend(pod["addresses"])
            for a in pod["addresses"]:
                self.reverse[ipaddress.ip_address(a).reverse_pointer] = pod["names"][:1]

    def fault(self, name):
        labels = name.split(".")
        short = labels[0] if len(labels) == 6 and name.endswith(".svc." + ZONE) else None
        merged = {}
        for key in ("*" if name in self.index else None, short, name):
            merged.update(self.faults.get(key, {}))
        return merged

    def resolve(self, query):
        """(rcode, records, delay); rcode None = say nothing."""
        name, kind = query.name.lower(), query.type_name
        fault = self.fault(name)
        delay = fault.get("delay", 0)
        addresses = self.index.get(name)
        f = fault.get(kind)
        if f and (f["until"] is None or time.monotonic() < f["until"]):
            if f["kind"] == "set":
                addresses = f["addresses"]
            else:
                return {"nxdomain": wire.NXDOMAIN, "servfail": wire.SERVFAIL, "silent": None}[f["kind"]], [], delay
        if kind == "PTR":
            found = self.reverse.get(name)
            return (wire.NOERROR, found, delay) if found else (wire.NXDOMAIN, [], delay)
        if addresses is None:
            # a name that only leads to other names (the zone, a namespace) exists without data
            exists = any(n.endswith("." + name) for n in self.index)
            return (wire.NOERROR if exists else wire.NXDOMAIN), [], delay
        version = {"A": 4, "AAAA": 6}.get(kind)
        found = [a for a in addresses if ipaddress.ip_address(a).version == version]
        random.shuffle(found)
        return wire.NOERROR, found, delay

    # control ------------------------------------------------------------------------------------------------
    def op_publish(self, pod, names, addresses):
        self.pods[pod] = {"names": [n.lower() for n in names], "addresses": addresses}
        self.reindex()

    def op_withdraw(self, pod):
        if self.pods.pop(pod, None):
            self.reindex()

    def op_known(self, pod, addresses):
        for a in addresses:
            self.who[a] = pod

    def op_fault(self, name, kind, types=("A", "AAAA"), addresses=(), seconds=None, namespace="default"):
        until = None if seconds is None else time.monotonic() + seconds
        slot = self.faults.setdefault(complete(name, namespace), {})
        for t in types:
            slot[t] = {"kind": kind, "addresses": list(addresses), "until": until}

    def op_delay(self, name, seconds, namespace="default"):
        self.faults.setdefault(complete(name, namespace), {})["delay"] = seconds

    def op_clear(self, name=None, namespace="default"):
        if name is None:
            self.faults.clear()
        else:
            self.faults.pop(complete(name, namespace), None)

    def op_nowhere(self, namespace="default"):
        """Every existing name gets an AAAA that leads nowhere; A stays as it is."""
        self.faults["*"] = {"AAAA": {"kind": "set", "addresses": [network.NOWHERE6 + "1"], "until": None}}

    def op_queries(self, since=None):
        return [q for q in self.log if since is None or q[0] >= since]

    def op_names(self):
        return self.index

    # service ------------------------------------------------------------------------------------------------
    async def reply(self, data, client, proto):
        try:
            query = wire.Query(data)
        except ValueError:
            return None
        rcode, records, delay = self.resolve(query)
        self.log.append((time.monotonic(), client, self.who.get(client, ""), query.name, query.type_name,
                         rcode, len(records), proto))
        if delay:
            await asyncio.sleep(delay)
        if rcode is None:
            return None
        limit = None if proto == "tcp" else min(query.edns or 512, 1232)
        return wire.answer(query, rcode, records, soa=ZONE, limit=limit)


class Udp(asyncio.DatagramProtocol):
    def __init__(self, zone):
        self.zone, self.tasks = zone, set()

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, address):
        task = asyncio.ensure_future(self.work(data, address))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def work(self, data, address):
        if out := await self.zone.reply(data, address[0], "udp"):
            self.transport.sendto(out, address)


async def tcp(zone, reader, writer):
    try:
        while True:
            size, = struct.unpack("!H", await reader.readexactly(2))
            out = await zone.reply(await reader.readexactly(size), writer.get_extra_info("peername")[0], "tcp")
            if out:
                writer.write(struct.pack("!H", len(out)) + out)
                await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def serve(state, addresses):
    zone, loop = Zone(), asyncio.get_running_loop()
    for a in addresses:
        await loop.create_datagram_endpoint(lambda: Udp(zone), local_addr=(a, 53))
        await asyncio.start_server(lambda r, w: tcp(zone, r, w), a, 53)
    await rpc.serve(f"{state}/dns.sock", zone)
    end = loop.create_future()
    loop.add_reader(sys.stdin.fileno(), lambda: end.done() or end.set_result(None))    # the kubelet is gone: go too
    await end


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], sys.argv[2:]))
