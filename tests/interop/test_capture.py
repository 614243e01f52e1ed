#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What passes over the wire between our client and our server holds no
argument, no environment, no output and no key in clear. Needs root (tcpdump).

    test_capture.py [--muster PATH]
"""
import os
import shutil
import socket
import subprocess

import bed

SECRETS = [b"argument-Zq81hT", b"input-Zq81hT", b"output-Zq81hT", b"anyone-Zq81hT"]
LAST = b"SSH-2.0-the-last-word\r\n"


def capture(args, keys, worker, scratch):
    file = scratch / "packets"
    dump = subprocess.Popen(["tcpdump", "-i", "lo", "--immediate-mode", "-U", "-s0", "-w", str(file), "-Z", "root", "tcp", "port",
                             str(worker.port)], stderr=subprocess.PIPE)
    while b"listening" not in dump.stderr.readline():
        if dump.poll() is not None:
            return None
    done = bed.our_ssh(args.muster, worker, "-l", "anyone-Zq81hT", ": argument-Zq81hT; cat; echo output-Zq81hT",
                       input=b"input-Zq81hT\n")
    # Packets are written down in their order: with this word all are there.
    with socket.create_connection(("127.0.0.1", worker.port)) as last:
        last.sendall(LAST)
        bed.until(lambda: LAST in file.read_bytes())
    dump.terminate()
    dump.wait()
    return done, file.read_bytes()


def main():
    args = bed.arguments(__doc__)
    tally = bed.Tally()
    if not shutil.which("tcpdump") or os.geteuid() != 0:
        tally.skip("capture", "needs root and tcpdump")
        tally.finish()
    with bed.Scratch() as scratch:
        keys = bed.make_keys(args.muster, scratch / "keys")
        with bed.Worker(args.muster, keys, "--allow-any-command") as worker:
            taken = capture(args, keys, worker, scratch)
    if taken is None:
        tally.skip("capture", "tcpdump cannot listen here")
        tally.finish()
    done, packets = taken
    tally.check(b"input-Zq81hT\noutput-Zq81hT\n" == done.stdout, "the session worked", done)
    tally.check(b"SSH-2.0-muster" in packets and len(packets) > 2000, f"{len(packets)} bytes were captured")
    for secret in SECRETS:
        tally.check(secret not in packets, f"no {secret.decode()} in them")
    tally.check(b"PRIVATE KEY" not in packets, "no private key in them")
    tally.finish()


main()
