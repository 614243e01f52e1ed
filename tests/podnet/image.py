# SPDX-License-Identifier: Apache-2.0
"""What the container image is supposed to contain, laid over a root directory (the machine's own by default).

Does: the user mpiuser (1000), clean passwd and group files, private homes, and with layer "mpioperator" the ssh
      configuration that the operators' base image has: Port 2222, StrictModes no, no host key checks, host keys,
      /home/mpiuser/.sshd_config with its four settings. Layer "none": an image that never heard of ssh
      (no /usr/sbin/sshd, no ssh, no configuration): what muster must be enough for.
Refuses: another layer's name.
"""
import os

from . import keys
from .manifest import ManifestError

_SSHD_USER_CONFIG = """PidFile /home/mpiuser/sshd.pid
HostKey /home/mpiuser/.ssh/id_rsa
StrictModes no
Port 2222
"""
_SSH_CONFIG = """Host *
    StrictHostKeyChecking no
    UserKnownHostsFile /dev/null
    Port 2222
    SendEnv LANG LC_*
    HashKnownHosts yes
"""
_SSHD_CONFIG = """Port 2222
StrictModes no
KbdInteractiveAuthentication no
UsePAM yes
X11Forwarding yes
PrintMotd no
AcceptEnv LANG LC_*
Subsystem sftp /usr/lib/openssh/sftp-server
"""


def _users(root):
    """System users of the root directory and mpiuser; people who happen to live on this machine are left out."""
    out = {}
    for name, extra in (("passwd", "mpiuser:x:1000:1000::/home/mpiuser:/bin/sh"), ("group", "mpiuser:x:1000:")):
        lines = []
        try:
            with open(os.path.join(root, "etc", name)) as f:
                for line in f.read().splitlines():
                    number = line.split(":")[2]
                    if number.isdigit() and (int(number) < 1000 or int(number) == 65534):
                        lines.append(line)
        except OSError:
            lines.append("root:x:0:0:root:/root:/bin/sh" if name == "passwd" else "root:x:0:")
        out[name] = "\n".join([*lines, extra]) + "\n"
    return out


def home_of(uid):
    """What a container runtime puts into HOME: passwd's directory, / for a user without an entry."""
    return {0: "/root", 1000: "/home/mpiuser"}.get(uid, "/")


def parts(root, layer):
    """The image's share of a pod spec: layer, links, removed, homes, directories, run_dirs."""
    if layer not in ("mpioperator", "none"):
        raise ManifestError(f'image layer "mpioperator" or "none", not {layer!r}')
    users = _users(root)
    files = {"/etc/passwd": {"data": users["passwd"]}, "/etc/group": {"data": users["group"]}}
    homes = {"/root": [0, 0, "750", {}], "/home": [0, 0, "755", {}], "/home/mpiuser": [1000, 1000, "755", {}]}
    removed = []
    if layer == "mpioperator":
        files["/etc/ssh/ssh_config"] = {"data": _SSH_CONFIG}
        files["/etc/ssh/sshd_config"] = {"data": _SSHD_CONFIG}
        files["/etc/ssh/ssh_host_ed25519_key"] = {"data": keys.image_host_key(), "mode": "600"}
        homes["/home/mpiuser"][3][".sshd_config"] = _SSHD_USER_CONFIG
    else:
        removed = ["/usr/sbin/sshd", "/usr/bin/ssh", "/etc/ssh/ssh_config", "/etc/ssh/sshd_config"]
    return {"layer": files, "links": {}, "removed": removed, "homes": homes, "directories": [],
            "run_dirs": ["lock", "sshd"]}
