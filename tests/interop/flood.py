# SPDX-License-Identifier: Apache-2.0
"""Connections that want nothing but to be in the way: a process of its own that
keeps COUNT connections to a port open, opening a new one for each it loses.

    flood.py PORT COUNT KIND SOURCE

KIND: silent; version (says its version line, then nothing); kex (starts a key
exchange and stops); slow (a byte every second); churn (closes its oldest for a
new one, as fast as it can). Ends when its stdin ends.
"""
import collections
import selectors
import socket
import struct
import sys
import time

SAYS = {"silent": b"", "version": b"SSH-2.0-flood\r\n", "kex": None, "slow": b"S"}


def opening(kind):
    if kind != "kex":
        return SAYS[kind]
    import ssh_wire
    wire = ssh_wire.Wire.__new__(ssh_wire.Wire)
    wire.encryptor, wire.sent = None, 0
    parts = [SAYS["version"]]
    wire.write = parts.append
    wire.send(wire.kexinit())
    return b"".join(parts)


def churn(port, count, source):
    reset = struct.pack("ii", 1, 0)
    kept = collections.deque()
    opened = 0
    watch = selectors.DefaultSelector()
    watch.register(sys.stdin, selectors.EVENT_READ)
    while not watch.select(0):
        for _ in range(200):
            s = socket.socket()
            s.setblocking(False)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
            s.bind((source, 0))
            s.connect_ex(("127.0.0.1", port))
            kept.append(s)
            if len(kept) > count:
                kept.popleft().close()
        opened += 200
    print(opened, flush=True)


def main():
    port, count, kind, source = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
    if kind == "churn":
        return churn(port, count, source)
    says = opening(kind)
    watch = selectors.DefaultSelector()
    watch.register(sys.stdin, selectors.EVENT_READ)
    opened = 0
    sockets = set()
    next_byte = time.monotonic() + 1
    while True:
        for _ in range(min(100, count - len(sockets))):
            s = socket.socket()
            s.setblocking(False)
            s.bind((source, 0))
            try:
                s.connect(("127.0.0.1", port))
            except BlockingIOError:
                pass
            except OSError:
                s.close()
                break
            sockets.add(s)
            opened += 1
            watch.register(s, selectors.EVENT_READ | (selectors.EVENT_WRITE if says else 0))
        for key, events in watch.select(0.05):
            s = key.fileobj
            if s is sys.stdin:
                print(opened, flush=True)
                return
            try:
                if events & selectors.EVENT_WRITE:
                    s.send(says)
                    watch.modify(s, selectors.EVENT_READ)
                if events & selectors.EVENT_READ and not s.recv(4096):
                    raise ConnectionError
            except BlockingIOError:
                pass
            except OSError:
                watch.unregister(s)
                sockets.discard(s)
                s.close()
        if kind == "slow" and time.monotonic() > next_byte:
            next_byte += 1
            for s in list(sockets):
                try:
                    s.send(b"S")
                except OSError:
                    pass


main()
