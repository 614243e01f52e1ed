#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""OpenSSH's own regression tests (Debian: openssh-tests) with our server in
the place of sshd: those of its client that need nothing we refuse.

    test_openssh_regress.py [--muster PATH] [--only NAME] [--long]

The scripts run as they are, through OpenSSH's test-exec.sh. They are given two
stand-ins: an `sshd` that joins them to our worker, and an `ssh` whose list of
algorithms (`-Q`) is what we offer. Not run: what tests sshd's options, agents,
certificates, forwarding, sftp or scp, more channels than one; PuTTY's (their key
has 2,048 bits, too few for us).
"""
import os
import pathlib
import shutil
import subprocess

import bed

REGRESS = pathlib.Path("/usr/lib/openssh/regress")
QUICK = ["connect", "connect-uri", "transfer", "stderr-after-eof", "broken-pipe", "yes-head", "localcommand",
         "host-expand", "exit-status-signal", "proto-version", "brokenkeys", "try-ciphers", "kextype"]
LONG = ["exit-status", "stderr-data", "integrity", "rekey"]

SSH = """#!/bin/sh
# The algorithms that both ends have.
case " $* " in
  *" -Q kex "*) printf '%s\\n' curve25519-sha256 curve25519-sha256@libssh.org ecdh-sha2-nistp256 \\
    ecdh-sha2-nistp384 ecdh-sha2-nistp521 ;;
  *" -Q cipher "*) printf '%s\\n' aes128-ctr aes192-ctr aes256-ctr aes128-gcm@openssh.com aes256-gcm@openssh.com \\
    chacha20-poly1305@openssh.com ;;
  *" -Q cipher-auth "*) printf '%s\\n' aes128-gcm@openssh.com aes256-gcm@openssh.com chacha20-poly1305@openssh.com ;;
  *" -Q mac "*) printf '%s\\n' hmac-sha2-256 hmac-sha2-512 hmac-sha2-256-etm@openssh.com \\
    hmac-sha2-512-etm@openssh.com ;;
  *) exec /usr/bin/ssh "$@" ;;
esac
"""

SSHD = """#!/bin/sh
# -t: the configuration is good. -i: on this stdin and stdout. Else: in the
# background, which it is already.
for word; do
  case $word in
    -t) exit 0 ;;
    -i) exec "{obj}/netcat" 127.0.0.1 {port} ;;
  esac
done
(
  trap 'rm -f "{obj}/pidfile"; exit' TERM
  i=0
  while [ $i -lt 600 ]; do sleep 0.2; i=$((i + 1)); done
) >/dev/null 2>&1 </dev/null &
echo $! > "{obj}/pidfile"
"""


class Bed:
    def __init__(self, args, scratch):
        self.obj = scratch / "obj"
        shutil.copytree(REGRESS, self.obj, symlinks=True)
        # rekey.sh goes on with what sshd does by its RekeyLimit.
        script = self.obj / "rekey.sh"
        text = script.read_text()
        end = text.find("server rekeylimit")
        script.write_text(text[:text.rfind("for s in", 0, end)])
        self.make_keys()
        self.keys = scratch / "keys"
        self.keys.mkdir()
        shutil.copy(self.obj / "ssh-rsa", self.keys / "id_rsa")
        (self.keys / "authorized_keys").symlink_to(self.obj / "authorized_keys_root")
        self.worker = bed.Worker(args.muster, self.keys, "--allow-any-command")
        for name, text in (("ssh.in", SSH), ("sshd.in", SSHD)):
            path = self.obj / name
            path.write_text(text.replace("{obj}", str(self.obj)).replace("{port}", str(self.worker.port)))
            path.chmod(0o755)

    def make_keys(self):
        kinds = subprocess.run(["ssh", "-Q", "key-plain"], capture_output=True, text=True).stdout.split()
        with (self.obj / "authorized_keys_root").open("w") as out:
            for kind in kinds:
                if kind.startswith("sk-"):
                    continue
                subprocess.run(["ssh-keygen", "-q", "-N", "", "-t", kind, "-f", str(self.obj / kind)], check=True,
                               stdin=subprocess.DEVNULL)
                out.write((self.obj / (kind + ".pub")).read_text())

    def run(self, name):
        environment = {
            "PATH": os.environ["PATH"], "HOME": str(self.obj), "USER": "root", "LOGNAME": "root", "TEST_SHELL": "sh",
            "TEST_SSH_SSH": str(self.obj / "ssh.in"), "TEST_SSH_SSHD": str(self.obj / "sshd.in"),
            "TEST_SSH_PORT": str(self.worker.port), "TEST_SSH_UNSAFE_PERMISSIONS": "1", "TEST_SSH_SSHKEYGEN": "/usr/bin/ssh-keygen"}
        return subprocess.run(["sh", str(self.obj / "test-exec.sh"), str(self.obj), str(self.obj / (name + ".sh"))],
                              cwd=self.obj, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=900)


def why_not():
    if not (REGRESS / "test-exec.sh").exists():
        return "not installed (Debian: openssh-tests)"
    return "the scripts expect to be root here" if os.geteuid() != 0 else None


def main():
    args = bed.arguments(__doc__, only={})
    tally = bed.Tally()
    if why := why_not():
        tally.skip("OpenSSH's regression tests", why)
        tally.finish()
    with bed.Scratch() as scratch:
        place = Bed(args, scratch)
        with place.worker:
            for name in QUICK + (LONG if args.long else []):
                if args.only not in (None, name):
                    continue
                done = place.run(name)
                last = (done.stdout.strip().splitlines() or [""])[-1]
                if "SKIP" in done.stdout or "not supported" in done.stdout:
                    tally.skip(f"openssh: {name}", last)
                    continue
                tally.check(done.returncode == 0 and last.startswith("ok "), f"openssh: {name}",
                            done.stdout[-600:] + done.stderr[-300:])
    tally.finish()


main()
