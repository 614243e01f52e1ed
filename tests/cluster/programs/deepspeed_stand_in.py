#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Stands in for `deepspeed --hostfile F --launcher openmpi SCRIPT ARGS`: reads the hostfile and replaces itself by the
mpirun line that DeepSpeed's OpenMPIRunner builds."""
import os
import re
import sys

words = sys.argv[1:]
hostfile = words[words.index("--hostfile") + 1]
script = words[words.index("openmpi") + 1:]
with open(hostfile, encoding="utf-8") as f:
    slots = sum(int(n) for n in re.findall(r"^\S+ slots=(\d+)", f.read(), re.M))
os.execvp("mpirun", [
    "mpirun", "-n", str(slots), "-hostfile", hostfile, "--mca", "btl",
    "^openib", "--mca", "btl_tcp_if_include", "eth0", "-x", "PYTHONPATH=/opt",
    "python3", "-u", *script])
