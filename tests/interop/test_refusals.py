#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the server must never do, asked for one by one, and the state matrix:
each of the 256 message numbers in each state before and after the login.

    test_refusals.py [--muster PATH] [--long]

The matrix looks at what happened, not at what was answered: a mark that a
command would leave, and the audit records. Without --long each state gets every
number that SSH defines and a sample of the others.
"""
import os
import struct
import subprocess
import sys
import time

import bed
from ssh_wire import Gone, Wire, load_key, text

DEFINED = ([*range(1, 9), 20, 21, *range(30, 42), *range(50, 54), *range(60, 67), *range(80, 83), *range(90, 101),
            192, 255, 0])


def body(number, mark):
    """A payload that would mean the most if it were believed."""
    run = text("touch " + mark)
    known = {
        1: struct.pack(">I", 11) + text("bye") + text(""), 2: text("x"), 3: struct.pack(">I", 0),
        4: b"\0" + text("x") + text(""), 5: text("ssh-connection"), 6: text("ssh-connection"),
        7: struct.pack(">I", 1) + text("no-flow-control") + text("p"), 20: b"", 21: b"",
        30: text(b"\4" + b"\1" * 64), 50: text("root") + text("ssh-connection") + text("none"),
        51: text("none") + b"\1", 52: b"", 53: text("x") + text(""), 60: text("ssh-ed25519") + text("x"),
        61: struct.pack(">I", 1) + text("x"), 80: text("tcpip-forward") + b"\1" + text("0.0.0.0") +
        struct.pack(">I", 2229), 90: text("session") + struct.pack(">III", 0, 1 << 20, 32768),
        91: struct.pack(">IIII", 0, 0, 1 << 20, 32768), 92: struct.pack(">II", 0, 1) + text("") + text(""),
        93: struct.pack(">II", 0, 1 << 31), 94: struct.pack(">I", 0) + text("data"),
        95: struct.pack(">II", 0, 1) + text("data"), 96: struct.pack(">I", 0), 97: struct.pack(">I", 0),
        98: struct.pack(">I", 0) + text("exec") + b"\1" + run, 99: struct.pack(">I", 0),
        100: struct.pack(">I", 0)}
    return bytes([number]) + known.get(number, text("x") + struct.pack(">II", 0, 0) + run)


def reach_greeting(wire, key):
    wire.versions()


def reach_kex(wire, key):
    wire.versions()
    wire.start_kex()


def reach_keys(wire, key):
    wire.handshake()


def reach_service(wire, key):
    wire.handshake()
    wire.ask_service()


def reach_offer(wire, key):
    wire.handshake()
    wire.ask_service()
    wire.send(wire.auth_request(key, signed=False))
    assert wire.receive_but(7, 4)[0] == 60


def reach_denied(wire, key):
    wire.handshake()
    wire.ask_service()
    wire.send(b"\x32" + text("root") + text("ssh-connection") + text("password") + b"\0" + text("secret"))
    assert wire.receive_but(7, 4)[0] == 51


def reach_login(wire, key):
    wire.handshake()
    assert wire.log_in(key)


def reach_channel(wire, key):
    reach_login(wire, key)
    wire.session()


def reach_refused(wire, key):
    reach_channel(wire, key)
    wire.send(b"\x62" + struct.pack(">I", wire.remote) + text("shell") + b"\1")
    assert wire.receive_but(7, 4, 93)[0] == 100


def reach_running(wire, key):
    reach_channel(wire, key)
    assert wire.request("exec", text("muster-agent version"))[0] == 99


BEFORE = [reach_greeting, reach_kex, reach_keys, reach_service, reach_offer, reach_denied]
AFTER = [reach_login, reach_channel, reach_refused, reach_running]


def provoke(worker, key, reach, number, mark):
    """Puts `number` into the state, then asks for a command as if let in."""
    wire = Wire(worker.port)
    replies = []
    try:
        reach(wire, key)
        wire.send(body(number, mark))
        if reach in BEFORE:
            wire.send(body(90, mark))
            wire.send(body(98, mark))
        wire.socket.settimeout(0.03 if reach in BEFORE else 0.02)
        while True:
            replies.append(wire.receive()[0])
    except (Gone, TimeoutError):
        pass
    finally:
        wire.close()
    return replies


def matrix(tally, args, worker, key, scratch):
    mark = scratch / "mark"
    numbers = range(256) if args.long else DEFINED
    for reach in BEFORE:
        name = reach.__name__.removeprefix("reach_")
        replies = set()
        for number in numbers:
            replies |= set(provoke(worker, key, reach, number, str(mark)))
        tally.check(not replies & {52, 91, 99}, f"before login, at {name}: {len(numbers)} messages change nothing",
                    replies)
    tally.check(not worker.audit("start") and not any(r["result"] == "accepted" for r in worker.audit("auth")),
                "before login: nobody came in, nothing was started", worker.audit("start"))
    for reach in AFTER:
        name = reach.__name__.removeprefix("reach_")
        before = len(worker.audit("probe"))
        for number in numbers:
            provoke(worker, key, reach, number, str(mark))
        started = worker.audit("probe")[before:]
        wanted = len(numbers) if reach is reach_running else 0
        tally.check(len(started) == wanted and not worker.audit("start"),
                    f"after login, at {name}: only what policy allows was started",
                    (len(started), wanted, started[-1:]))
    tally.check(not mark.exists(), "no command left its mark")
    tally.check(worker.process.poll() is None and worker.wait_no_children(), "the worker lives, no child is left",
                worker.children())


def strict_key_exchange(tally, worker, key):
    wire = Wire(worker.port)
    wire.versions()
    wire.start_kex()
    tally.check(wire.strict, "strict key exchange is offered")
    wire.send(b"\x02" + text("x"))  # harmless elsewhere; here it is what Terrapin needs
    try:
        wire.socket.settimeout(bed.HANG_GUARD)
        wire.finish_kex()
        wire.ask_service()
        aborted = False
    except (Gone, AssertionError):
        aborted = True
    tally.check(aborted, "strict key exchange: a message in between ends it")


def fresh(worker, key):
    wire = Wire(worker.port)
    wire.handshake()
    assert wire.log_in(key)
    return wire


def refusals(tally, worker, key, scratch):
    for method, extra in {"none": b"", "password": b"\0" + text("x"), "keyboard-interactive": text("") + text(""),
                          "hostbased": text("ssh-ed25519") + text("k") + text("h") + text("u") + text("s"),
                          "gssapi-with-mic": struct.pack(">I", 0)}.items():
        wire = Wire(worker.port)
        wire.handshake()
        wire.ask_service()
        wire.send(b"\x32" + text("root") + text("ssh-connection") + text(method) + extra)
        try:
            reply = wire.receive_but(7, 4, 53)
            good = reply[0] == 51 and b"publickey" in reply and b"password" not in reply
        except Gone:
            reply, good = "closed", True
        tally.check(good, f"authentication by {method} is refused", reply)
    for kind, extra in {"direct-tcpip": text("127.0.0.1") + struct.pack(">I", 22) + text("127.0.0.1") +
                        struct.pack(">I", 9), "forwarded-tcpip": text("127.0.0.1") + struct.pack(">I", 22) + text("127.0.0.1") + struct.pack(">I", 9), "x11": text("h") + struct.pack(">I", 1),
                        "auth-agent@openssh.com": b"", "direct-streamlocal@openssh.com": text("/run/x") + text("") +
                        struct.pack(">I", 0), "tun@openssh.com": struct.pack(">II", 1, 0)}.items():
        wire = fresh(worker, key)
        try:
            reply = wire.open_channel(kind, extra)
            good = reply[0] == 92
        except Gone:
            reply, good = "closed", True
        tally.check(good, f"channel {kind} is refused", reply)
    for kind, extra in {"pty-req": text("xterm") + struct.pack(">IIII", 80, 24, 0, 0) + text("\0"), "shell": b"",
                        "subsystem": text("sftp"), "x11-req": b"\0" + text("MIT") + text("0") + struct.pack(">I", 0),
                        "auth-agent-req@openssh.com": b"", "env": text("LD_PRELOAD") + text("/x.so"),
                        "env ": text("MUSTER_AGENT_TAG") + text("x")}.items():
        wire = fresh(worker, key)
        wire.session()
        reply = wire.request(kind.strip(), extra)
        tally.check(reply[0] == 100, f"request {kind.strip()} {extra[4:20]!r} is refused", reply)
    for name in ("tcpip-forward", "streamlocal-forward@openssh.com"):
        wire = fresh(worker, key)
        wire.send(b"\x50" + text(name) + b"\1" + text("0.0.0.0") + struct.pack(">I", 0))
        try:
            good = wire.receive_but(7, 4)[0] == 82
        except Gone:
            good = True
        tally.check(good, f"global request {name} is refused")
    wire = fresh(worker, key)
    wire.session()
    try:
        reply = wire.open_channel()
        good = reply[0] == 92
    except Gone:
        good = True
    tally.check(good, "a second channel is refused")


def data_between_keys(tally, args, keys, key):
    """RFC 4253, 7.1: none while keys are exchanged anew. It must not get lost
    in silence, with a session that then waits for ever."""
    with bed.Worker(args.muster, keys, "--allow-any-command") as worker:
        wire = fresh(worker, key)
        wire.session()
        assert wire.request("exec", text("cat"))[0] == 99
        wire.send(wire.kexinit())
        wire.send(b"\x5e" + struct.pack(">I", wire.remote) + text("lost?"))
        try:
            reply = wire.receive_but(7, 4, 20, 80, 93)
        except Gone:
            reply = b"\0"
        tally.check(reply[0] == 1, "data between old and new keys: disconnected, and told so", reply[:80])
        tally.check(bed.until(lambda: worker.audit("broken")), "data between old and new keys is on record")
        tally.check(worker.wait_no_children(), "and its session ends", worker.children())


def policy(tally, args, keys):
    ssh = lambda worker, line: bed.our_ssh(args.muster, worker, line)
    orted = 'PATH=/nonexistent/bin:$PATH ; export PATH ;   orted --version'
    with bed.Worker(args.muster, keys, "--refuse-mpi-daemons") as worker:
        for line in ("sh", "id; id", "/bin/sh -c id", "muster-agent agent; id", orted, "scp -t /tmp", "internal-sftp",
                     "hydra_pmi_proxy --version", "hostname x", "true; id"):
            done = ssh(worker, line)
            tally.check(done.returncode == 255 and b"refused" in done.stderr, f"with --refuse-mpi-daemons \"{line}\" is refused", done)
        tally.check(len(worker.audit("refused")) == 10 and not worker.audit("start"), "each refusal is on record")
        done = ssh(worker, "muster-agent version")
        tally.check(done.returncode == 0 and done.stdout.startswith(b"muster-agent"), "the agent is not", done)
    with bed.Worker(args.muster, keys) as worker:
        for line in ("id root", orted + "; id", "/bin/sh -c orted", "X=1 orted --version", "orted `id`", "./orted"):
            tally.check(ssh(worker, line).returncode == 255, f"by default \"{line}\" is refused")
        tally.check(not worker.audit("start"), "and nothing was started")
        ssh(worker, orted)
        kinds = [r["kind"] for r in worker.audit("start")]
        missing = subprocess.run(["sh", "-c", "command -v orted"], capture_output=True).returncode != 0
        tally.check(kinds == (["daemon"] if not missing else []), "orted in mpirun's shape is started", kinds)
    with bed.Worker(args.muster, keys, "--allow-any-command") as worker:
        tally.check(ssh(worker, "echo $((40+2))").stdout == b"42\n", "with --allow-any-command the shell gets the line")
        record = worker.audit("start")[0]
        tally.check(record["kind"] == "any" and record["command"] == "echo $((40+2))", "and the record shows it")
        ssh(worker, "true --password=hunter2hunter2")
        tally.check(worker.audit("start")[1]["command"] == "true --password=[masked]", "but no secret in it", worker.audit("start"))


def main():
    args = bed.arguments(__doc__)
    tally = bed.Tally()
    with bed.Scratch() as scratch:
        keys = bed.make_keys(args.muster, scratch / "keys")
        key = load_key(keys / "id_rsa")
        with bed.Worker(args.muster, keys) as worker:
            strict_key_exchange(tally, worker, key)
            matrix(tally, args, worker, key, scratch)
        with bed.Worker(args.muster, keys) as worker:
            refusals(tally, worker, key, scratch)
            tally.check(not worker.audit("start"), "nothing was started by any of it")
            for what in ("a terminal", "a shell", "the subsystem sftp", "X11", "a forwarded connection",
                         "a listening port", "a second channel"):
                on_record = lambda: any(r["why"].startswith(what + ":") for r in worker.audit("refused"))
                tally.check(bed.until(on_record), f"the refusal of {what} is on record", worker.audit("refused"))
        data_between_keys(tally, args, keys, key)
        policy(tally, args, keys)
    tally.finish()


main()
