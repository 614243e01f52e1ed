# SPDX-License-Identifier: Apache-2.0
"""SSH clients that others wrote, each behind one face: an argv that runs a
remote command with this program's stdin, stdout and stderr, checking the host
key against `known` where the client can. Clients that are not installed are
left out with a reason; nothing is downloaded."""
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


class Client:
    # what it cannot do, with the reason
    lacks = {}
    signal_status = None   # its exit code for a command killed by SIGTERM; None: not told

    def __init__(self, bed):
        self.bed = bed     # muster, keys, port, scratch

    def why_not(self):
        return None

    def argv(self, command, wrong_host_key=False):
        raise NotImplementedError

    def public_line(self, wrong=False):
        directory = self.bed.other if wrong else self.bed.keys
        return (directory / "id_rsa.pub").read_text().split()[:2]

    def openssh_form(self):
        """The private key in OpenSSH's own form; some cannot read PEM."""
        copy = self.bed.scratch / "openssh.key"
        if not copy.exists():
            shutil.copy(self.bed.keys / "id_rsa", copy)
            copy.chmod(0o600)
            subprocess.run(["ssh-keygen", "-q", "-p", "-N", "", "-f", str(copy)], check=True,
                           stdout=subprocess.DEVNULL)
        return str(copy)

    def known_hosts(self, wrong):
        path = self.bed.scratch / ("known.wrong" if wrong else "known")
        if not path.exists():
            path.write_text(f"[127.0.0.1]:{self.bed.port} " + " ".join(self.public_line(wrong)) + "\n")
        return str(path)


class OpenSsh(Client):
    name = "openssh"
    prefix = []
    signal_status = 255
    extra = []

    def why_not(self):
        return None if shutil.which("ssh") else "no ssh"

    def argv(self, command, wrong_host_key=False, options=()):
        return self.prefix + [
            "ssh", "-F", "/dev/null", "-i", str(self.bed.keys / "id_rsa"), "-o", "IdentitiesOnly=yes", "-o",
            "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o",
            "UserKnownHostsFile=" + self.known_hosts(wrong_host_key), "-o", "LogLevel=ERROR", "-p",
            str(self.bed.port), *self.extra, *options, "anyone@127.0.0.1", command]

    def rekeying(self, command):
        return self.argv(command, options=("-o", "RekeyLimit=1M"))


class OpenSsh10(OpenSsh):
    """The one of Debian 13, in the root that tests/podnet/trixie_root builds."""
    name = "openssh10"

    def why_not(self):
        out = subprocess.run([str(ROOT / "tests/podnet/trixie_root"), "--path"], capture_output=True, text=True)
        self.root = out.stdout.strip()
        if not self.root:
            return "tests/podnet/trixie_root has not been run"
        # scratch lies in /tmp, which the other root sees at the same place
        self.prefix = ["unshare", "-m", "sh", "-c",
                       f'mount --bind /tmp {self.root}/tmp && mount --bind /dev {self.root}/dev && '
                       f'exec chroot {self.root} "$@"', "sh"]
        return None


class Dropbear(Client):
    name = "dbclient"
    lacks = {"rekey": "no option for it"}

    def why_not(self):
        return None if shutil.which("dbclient") else "no dbclient (Debian: dropbear-bin)"

    def argv(self, command, wrong_host_key=False):
        key = self.bed.scratch / "dropbear.key"
        if not key.exists():
            subprocess.run(["dropbearconvert", "openssh", "dropbear", self.openssh_form(), str(key)], check=True,
                           capture_output=True)
        return ["env", "HOME=" + self.home(wrong_host_key), "dbclient", "-i", str(key), "-p", str(self.bed.port),
                "-T", "anyone@127.0.0.1", command]

    def home(self, wrong):
        """It knows hosts from its home directory only, and those without their port."""
        home = self.bed.scratch / ("home.wrong" if wrong else "home")
        if not home.exists():
            (home / ".ssh").mkdir(parents=True)
            (home / ".ssh/known_hosts").write_text("127.0.0.1 " + " ".join(self.public_line(wrong)) + "\n")
        return str(home)


class Plink(Client):
    name = "plink"
    lacks = {"rekey": "no option for it in batch mode"}
    signal_status = 128    # for every signal

    def why_not(self):
        return None if shutil.which("plink") and shutil.which("puttygen") else "no plink (Debian: putty-tools)"

    def fingerprint(self, wrong):
        directory = self.bed.other if wrong else self.bed.keys
        out = subprocess.run(["ssh-keygen", "-lf", str(directory / "id_rsa.pub")], capture_output=True, text=True)
        return out.stdout.split()[1]

    def argv(self, command, wrong_host_key=False):
        key = self.bed.scratch / "putty.ppk"
        if not key.exists():
            subprocess.run(["puttygen", self.openssh_form(), "-o", str(key), "-O", "private"], check=True,
                           capture_output=True)
        return ["plink", "-batch", "-ssh", "-T", "-i", str(key), "-P", str(self.bed.port), "-hostkey",
                self.fingerprint(wrong_host_key), "anyone@127.0.0.1", command]


class Compiled(Client):
    """A small program of ours around a library, made here."""
    source = flags = None

    def build(self):
        out = self.bed.scratch / self.name
        if not out.exists():
            subprocess.run(["cc", "-O1", "-o", str(out), str(HERE / self.source), *self.flags], check=True)
        return str(out)

    def argv(self, command, wrong_host_key=False):
        line = self.public_line(wrong_host_key)
        return [self.build(), str(self.bed.port), str(self.bed.keys / "id_rsa"), line[1], command]


class Libssh2(Compiled):
    name = "libssh2"
    source = "client_libssh2.c"
    flags = ["-lssh2"]
    lacks = {"rekey": "the library never asks for new keys"}
    signal_status = 128 + 15

    def why_not(self):
        found = pathlib.Path("/usr/include/libssh2.h").exists() and shutil.which("cc")
        return None if found else "no libssh2 (Debian: libssh2-1-dev)"


class GoCrypto(Client):
    name = "go"
    source = HERE / "client_go.go"
    signal_status = 128 + 15

    def why_not(self):
        found = shutil.which("go") and pathlib.Path("/usr/share/gocode/src/golang.org/x/crypto/ssh").exists()
        return None if found else "no Go x/crypto (Debian: golang-go golang-golang-x-crypto-dev)"

    def build(self):
        out = self.bed.scratch / "go-client"
        if not out.exists():
            env = {"GOPATH": "/usr/share/gocode", "GO111MODULE": "off", "PATH": "/usr/bin:/bin",
                   "GOCACHE": str(self.bed.scratch / "gocache"), "HOME": "/nonexistent", "GOFLAGS": "-p=2"}
            subprocess.run(["go", "build", "-o", str(out), str(self.source)], check=True, env=env)
        return str(out)

    def argv(self, command, wrong_host_key=False, rekey="0"):
        line = self.public_line(wrong_host_key)
        return [self.build(), str(self.bed.port), str(self.bed.keys / "id_rsa"), line[1], command, rekey]

    def rekeying(self, command):
        return self.argv(command, rekey="1048576")


class Script(Client):
    module = None
    signal_status = None

    def why_not(self):
        found = subprocess.run(["/usr/bin/python3", "-c", "import " + self.module], capture_output=True)
        return None if found.returncode == 0 else f"no {self.module} (Debian: python3-{self.module})"

    def argv(self, command, wrong_host_key=False, rekey="0"):
        line = self.public_line(wrong_host_key)
        return ["/usr/bin/python3", "-B", "-W", "ignore", str(HERE / f"client_{self.module}.py"), str(self.bed.port),
                self.openssh_form(), line[1], command, rekey]

    def rekeying(self, command):
        return self.argv(command, rekey="1048576")


class Paramiko(Script):
    name = module = "paramiko"
    lacks = {"rekey": "one in five of its own key exchanges under load times out, with OpenSSH's sshd as well"}


class AsyncSsh(Script):
    name = module = "asyncssh"
    signal_status = 128 + 15


class Ours(Client):
    name = "muster"
    signal_status = 128 + 15

    def argv(self, command, wrong_host_key=False, options=()):
        directory = self.bed.other if wrong_host_key else self.bed.keys
        return ["env", "-u", "MUSTER_LAUNCHER_SOCKET", self.bed.muster, "ssh", "-i", str(directory / "id_rsa"), *options, "-p",
                str(self.bed.port), "127.0.0.1", command]

    def rekeying(self, command):
        return self.argv(command, options=("-o", "RekeyLimit=1M"))


ALL = [Ours, OpenSsh, OpenSsh10, Dropbear, Plink, Libssh2, Paramiko, AsyncSsh, GoCrypto]
