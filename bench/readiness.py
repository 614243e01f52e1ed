#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""From the start of a worker's program to its SSH version line on loopback:
muster's worker and OpenSSH's sshd, in turn.

    bench/readiness.py [--count 20] --json FILE

What a pod takes besides (image, container, DNS) is the same for both. Needs
root for sshd, and build/prefix, or MUSTER_PREFIX.
"""
import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(HERE)
PREFIX = os.environ.get("MUSTER_PREFIX", os.path.join(ROOT, "build", "prefix"))
LIMIT = 20


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def until_banner(port):
    end = time.perf_counter() + LIMIT
    while time.perf_counter() < end:
        try:
            with socket.create_connection(("127.0.0.1", port), 5) as door:
                if door.recv(4) == b"SSH-":
                    return
        except OSError:
            time.sleep(0.0005)
    raise SystemExit("no version line came")


def one_start(argv, port):
    began = time.perf_counter()
    child = subprocess.Popen(argv, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    try:
        until_banner(port)
        return (time.perf_counter() - began) * 1000
    finally:
        child.kill()
        child.wait()


def command(name, keys, port):
    if name == "muster worker":
        return [f"{PREFIX}/bin/muster", "worker", "--key-dir", keys, "--port",
                str(port)]
    return ["/usr/sbin/sshd", "-D", "-f", "/dev/null", "-p", str(port), "-h",
            f"{keys}/id_rsa", "-o", "PidFile=none", "-o", "UsePAM=no", "-o",
            f"AuthorizedKeysFile={keys}/authorized_keys"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--json", required=True)
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="muster-bench-")
    keys = os.path.join(folder, "keys")
    subprocess.run([f"{PREFIX}/bin/muster", "keygen", "-o", keys], check=True,
                   stdout=subprocess.DEVNULL)
    os.makedirs("/run/sshd", exist_ok=True)
    taken = {"muster worker": [], "OpenSSH sshd": []}
    try:
        for round_number in range(options.count + 1):
            for name, times in taken.items():
                port = free_port()
                ms = one_start(command(name, keys, port), port)
                if round_number > 0:
                    times.append(round(ms, 2))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for name, times in taken.items():
        print(f"{name:15} median {statistics.median(times):6.1f} ms  "
              f"worst {max(times):6.1f} ms", flush=True)
    with open(options.json, "w", encoding="utf-8") as file:
        json.dump({"benchmark": "readiness", "milliseconds": taken}, file,
                  indent=1)


if __name__ == "__main__":
    main()
