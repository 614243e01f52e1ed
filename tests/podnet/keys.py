# SPDX-License-Identifier: Apache-2.0
"""Key material as the operators make it: ECDSA P-521, SEC1 PEM ("EC PRIVATE KEY"), and an authorized_keys line.

Also one OpenSSH host key per process, standing for the keys that an image with openssh-server carries.
Refuses: nothing. Needs the openssl and ssh-keygen programs; files live in a private directory for a moment only.
"""
import functools
import os
import subprocess
import tempfile


def _run(*argv):
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def job_key():
    """(private PEM, public line)"""
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "key")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:
            f.write(_run("openssl", "ecparam", "-name", "secp521r1", "-genkey", "-noout"))
        with open(path) as f:
            return f.read(), _run("ssh-keygen", "-y", "-f", path)


@functools.cache
def image_host_key():
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "key")
        _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path)
        with open(path) as f:
            return f.read()
