# SPDX-License-Identifier: Apache-2.0
"""DNS messages, as much as an authoritative cluster server needs (RFC 1035, EDNS0's size only).

Does: parse one question, build one answer with A, AAAA, PTR or SOA records.
Refuses: anything that is not a standard query with one question (ValueError; the server answers nothing).
"""
import ipaddress
import struct

A, PTR, SOA, AAAA, OPT, ANY = 1, 12, 6, 28, 41, 255
TYPES = {A: "A", PTR: "PTR", SOA: "SOA", AAAA: "AAAA", 33: "SRV", 16: "TXT", 5: "CNAME", 2: "NS", 65: "HTTPS", ANY: "ANY"}
NOERROR, SERVFAIL, NXDOMAIN = 0, 2, 3


def encode_name(name):
    out = b""
    for label in name.rstrip(".").split(".") if name.rstrip(".") else []:
        raw = label.encode()
        if not 0 < len(raw) < 64:
            raise ValueError(f"bad label in {name!r}")
        out += bytes([len(raw)]) + raw
    return out + b"\0"


def _read_name(data, at):
    labels = []
    while True:
        if at >= len(data):
            raise ValueError("name runs out of the message")
        n = data[at]
        if n == 0:
            return ".".join(labels), at + 1
        if n & 0xC0:
            raise ValueError("compressed name in a question")
        labels.append(data[at + 1:at + 1 + n].decode("ascii", "replace"))
        at += 1 + n


class Query:
    def __init__(self, data):
        if len(data) < 12:
            raise ValueError("shorter than a header")
        self.id, flags, questions, _, _, additional = struct.unpack("!6H", data[:12])
        if flags & 0xF800 or questions != 1:
            raise ValueError("not one standard question")
        self.rd = flags & 0x0100
        self.name, at = _read_name(data, 12)
        if len(data) < at + 4:
            raise ValueError("question cut short")
        self.type, self.cls = struct.unpack("!2H", data[at:at + 4])
        self.question = data[12:at + 4]
        self.edns = None
        at += 4
        if additional and data[at:at + 3] == b"\0\0\x29":
            self.edns = max(512, struct.unpack("!H", data[at + 3:at + 5])[0])

    @property
    def type_name(self):
        return TYPES.get(self.type, str(self.type))


def answer(query, rcode, records, soa=None, ttl=5, limit=None):
    """records: addresses (A, AAAA) or names (PTR) of the asked type. limit: bytes before truncation (UDP)."""
    body = b""
    for r in records:
        if query.type == PTR:
            kind, data = PTR, encode_name(r)
        else:
            ip = ipaddress.ip_address(r)
            kind, data = (A if ip.version == 4 else AAAA), ip.packed
        body += b"\xc0\x0c" + struct.pack("!2HIH", kind, 1, ttl, len(data)) + data
    authority = b""
    if soa and not records:
        data = encode_name("ns.dns." + soa) + encode_name("hostmaster." + soa) + struct.pack("!5I", 1, 7200, 1800, 86400, ttl)
        authority = encode_name(soa) + struct.pack("!2HIH", SOA, 1, ttl, len(data)) + data
    opt = b"\0" + struct.pack("!2HIH", OPT, 1232, 0, 0) if query.edns else b""
    truncated = limit is not None and 12 + len(query.question) + len(body) + len(authority) + len(opt) > limit
    if truncated:
        body, authority, records = b"", b"", []
    flags = 0x8400 | query.rd | (0x0080 if query.rd else 0) | (0x0200 if truncated else 0) | rcode
    head = struct.pack("!6H", query.id, flags, 1, len(records), 1 if authority else 0, 1 if opt else 0)
    return head + query.question + body + authority + opt
