#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Stands in for `horovodrun --gloo`: asks the host discovery script and starts one rank per host over ssh, in the words
of its gloo launcher."""
import shlex
import subprocess
import sys

words = sys.argv[1:]
program = words[words.index("python"):]
script = words[words.index("--host-discovery-script") + 1]
hosts = subprocess.run([script], check=True, capture_output=True,
                       text=True).stdout.split()
running = []
for rank, host in enumerate(hosts):
    settings = {"HOROVOD_RANK": rank, "HOROVOD_SIZE": len(hosts),
                "HOROVOD_HOSTNAME": host}
    remote = "cd / > /dev/null 2>&1 ; " + " ".join(
        f"{k}={v}" for k, v in settings.items()) + " " + shlex.join(program)
    running.append(subprocess.Popen(
        "ssh -o PasswordAuthentication=no -o StrictHostKeyChecking=no "
        f"{host} {shlex.quote(remote)}", shell=True))
sys.exit(max([child.wait() for child in running]))
