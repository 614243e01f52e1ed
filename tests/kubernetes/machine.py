# SPDX-License-Identifier: Apache-2.0
"""What a machine must have to run a node."""
import os
import shutil
import subprocess

import plan

# Debian's package of each command.
COMMANDS = {
    "containerd": "containerd", "runc": "runc", "ip": "iproute2",
    "nft": "nftables", "iptables": "iptables", "conntrack": "conntrack",
    "nsenter": "util-linux", "debootstrap": "debootstrap", "gcc": "gcc"}
PLUGINS = ("bridge", "host-local", "loopback")


def lacking():
    """One sentence that says what is missing, or ""."""
    if os.geteuid() != 0:
        return "a Kubernetes node needs root: run this as root"
    packages = {package for command, package in COMMANDS.items()
                if not shutil.which(command)}
    if not all(os.path.exists(os.path.join(plan.CNI_PLUGINS, name))
               for name in PLUGINS):
        packages.add("containernetworking-plugins")
    if packages:
        return ("a Kubernetes node needs packages that are not installed ("
                + " ".join(sorted(packages))
                + "): scripts/install-deps --kubernetes installs them")
    probe = subprocess.run(
        ["unshare", "--mount", "--net", "--pid", "--uts", "--fork", "true"],
        capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        return ("this machine does not allow namespaces: "
                + probe.stderr.strip())
    return ""
