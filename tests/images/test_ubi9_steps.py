# SPDX-License-Identifier: Apache-2.0
"""Carries out images/ubi9/Containerfile, stage by stage, in small roots that
hold what UBI 9 has before anything is installed. The shell of each RUN is the
file's own, and so are useradd, tar and the like (this machine's); package
managers, compilers and downloads are stand-ins (ubi9_stubs). So no package
name is proved here, but each line between them is. Needs root and namespaces;
nothing is left. Prints "N passed, N failed, N skipped".
"""
import io
import json
import os
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile

from test_containerfiles import ROOT, instructions, need

HERE = os.path.dirname(os.path.realpath(__file__))
STUBS = os.path.join(HERE, "ubi9_stubs")
FILE = os.path.join(ROOT, "images/ubi9/Containerfile")
HOST_PATH = "/usr/bin:/usr/sbin"
ARCHIVE = "https://example.org/openmpi-5.tar.bz2"
# Programs of bash, coreutils-single, grep, sed, gawk and glibc-common, which
# ubi-minimal has; and what ubi has besides.
MINIMAL = """awk basename bash cat chgrp chmod chown comm cp cut date dirname
    echo env expr false getent grep head id install ln ls mkdir mktemp mv nproc
    printf pwd readlink realpath rm rmdir sed sh sleep sort stat tail tee test
    touch tr true uname uniq wc""".split()
FULL = ["find", "gzip", "tar", "xargs"]
PACKAGES = {"shadow-utils": ["useradd", "usermod", "groupadd"],
            "bzip2": ["bzip2"], "findutils": ["find", "xargs"]}
# Those whose program is one of ours.
STUB_PACKAGES = {"meson": "meson", "ninja-build": "ninja", "make": "make"}


def write(root, path, text, mode=0o644):
    at = os.path.join(root, path.lstrip("/"))
    os.makedirs(os.path.dirname(at), exist_ok=True)
    with open(at, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(at, mode)


def host_program(root, name, folder="usr/bin"):
    found = shutil.which(name, path=HOST_PATH)
    at = os.path.join(root, folder)
    os.makedirs(at, exist_ok=True)
    if not os.path.lexists(f"{at}/{name}"):
        os.symlink("/host" + os.path.realpath(found), f"{at}/{name}")


def openmpi_archive(path):
    """What `configure` gets is what the line says, and kept for make."""
    script = ("#!/bin/sh\nset -eu\nfor word; do case $word in\n"
              "  --prefix=/*) echo \"${word#*=}\" > configured ;;\n"
              "  --with-?*=?*) ;; *) exit 1 ;; esac; done\n").encode()
    with tarfile.open(path, "w:bz2") as archive:
        member = tarfile.TarInfo("openmpi-5.0.1/configure")
        member.size, member.mode = len(script), 0o755
        archive.addfile(member, io.BytesIO(script))


def packages(root):
    base = f"{root}/.packages"
    for name, programs in PACKAGES.items():
        for program in programs:
            host_program(f"{base}/{name}", program)
    for name, program in STUB_PACKAGES.items():
        os.makedirs(f"{base}/{name}/usr/bin")
        shutil.copy(f"{STUBS}/{program}", f"{base}/{name}/usr/bin/")
    write(f"{base}/gcc-toolset-13-gcc-c++", "/opt/rh/gcc-toolset-13/enable",
          "export PATH=/opt/rh/gcc-toolset-13/root/usr/bin:$PATH\n")
    write(f"{base}/libssh-devel", "/usr/lib64/libssh.so.4", "a library\n")
    write(f"{base}/libssh-devel", "/usr/share/licenses/libssh/COPYING", "LGPL\n")
    write(f"{base}/openmpi", "/usr/lib64/openmpi/bin/mpirun", "#!/bin/sh\n",
          0o755)
    openmpi_archive(f"{base}/openmpi-5.tar.bz2")


def base_root(root, minimal):
    """What every program needs comes from this machine, by way of /host."""
    for name in ("dev", "host", "home", "opt", "proc", "root", "usr/sbin",
                 "usr/local/bin", "etc/yum.repos.d",
                 "etc/profile.d", "usr/lib64", "var"):
        os.makedirs(f"{root}/{name}")
    os.mkdir(f"{root}/tmp")
    os.chmod(f"{root}/tmp", 0o1777)
    for link, target in {"bin": "usr/bin", "sbin": "usr/sbin",
                         "lib": "host/usr/lib", "lib64": "host/usr/lib64",
                         "usr/lib": "../host/usr/lib"}.items():
        os.symlink(target, f"{root}/{link}")
    write(root, "/etc/passwd", "root:x:0:0:root:/root:/bin/bash\n")
    write(root, "/etc/group", "root:x:0:\nusers:x:100:\n")
    write(root, "/etc/shadow", "root:*:19000:0:99999:7:::\n", 0o600)
    for name in MINIMAL + ([] if minimal else FULL):
        host_program(root, name)
    for name in ["curl", "rpm"]:
        shutil.copy(f"{STUBS}/{name}", f"{root}/usr/bin/")
    shutil.copy(f"{STUBS}/dnf",
                f"{root}/usr/bin/{'microdnf' if minimal else 'dnf'}")
    packages(root)


def mounts(root):
    """Goes with the mount namespace. Nothing of the machine can be written."""
    for words in (["--bind", "/", f"{root}/host"],
                  ["-o", "remount,bind,ro", f"{root}/host"]):
        subprocess.run(["mount", *words], check=True, timeout=60)
    if not os.path.exists(f"{root}/dev/null"):
        os.mknod(f"{root}/dev/null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        os.chmod(f"{root}/dev/null", 0o666)


class Stage:
    def __init__(self, root, parent=None):
        self.root = root
        self.env = dict(parent.env) if parent else {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"}
        self.user = parent.user if parent else "0:0"
        self.cwd = parent.cwd if parent else "/"
        self.entrypoint = parent.entrypoint if parent else []
        self.args = {}

    def run(self, script):
        done = subprocess.run(
            ["/usr/sbin/chroot", "--userspec=" + self.user, "--groups=",
             self.root, "/bin/sh", "-c", f"cd {self.cwd} || exit\n{script}"],
            env={**self.args, **self.env}, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=60, check=False)
        need(done.returncode == 0, f"exit code {done.returncode} of\n{script}\n"
             f"{done.stdout}{done.stderr}")
        return done.stdout

    def copy(self, rest, stages):
        words, source_root = rest.split(), ROOT
        if words[0].startswith("--from="):
            source_root = stages[words.pop(0).removeprefix("--from=")].root
        *sources, target = words
        folder = target.endswith("/") or target in (".", "..")
        at = self.root + os.path.normpath(os.path.join(self.cwd, target))
        for source in sources:
            here = os.path.join(source_root, source.strip("/"))
            need(os.path.exists(here), f"COPY {source}: not there")
            # Of a directory its content, as builders do.
            inside = folder or os.path.isdir(here)
            os.makedirs(at if inside else os.path.dirname(at), exist_ok=True)
            subprocess.run(
                ["cp", "-a", "--no-preserve=ownership",
                 here + "/." * os.path.isdir(here), at], check=True, timeout=60)


class Build:
    """Carries the instructions out. `given`: arguments, as by --build-arg."""

    def __init__(self, folder, given=()):
        self.folder, self.given = folder, dict(given)
        self.stages, self.outer, self.now = {}, {}, None

    def all(self, found):
        for word, rest in found:
            if word in ("LABEL", "EXPOSE"):
                continue
            getattr(self, "do_" + word.lower())(rest)
        return self.stages

    def do_arg(self, rest):
        name, _, default = rest.partition("=")
        args = self.now.args if self.now else self.outer
        args[name] = self.given.get(name, default or self.outer.get(name, ""))

    def do_from(self, rest):
        base, _, name = rest.partition(" AS ")
        for variable, value in self.outer.items():
            base = base.replace("${" + variable + "}", value)
        root = os.path.join(self.folder, name)
        os.mkdir(root)
        parent = self.stages.get(base)
        self.now = self.stages[name] = Stage(root, parent)
        if parent:
            subprocess.run(["cp", "-ax", parent.root + "/.", root],
                           check=True, timeout=60)
        elif base != "scratch":
            base_root(root, minimal="minimal" in base)
        if base != "scratch":
            mounts(root)

    def do_env(self, rest):
        name, _, value = rest.partition("=")
        self.now.env[name] = value.replace("$PATH", self.now.env["PATH"])

    def do_run(self, rest):
        self.now.run(rest)

    def do_copy(self, rest):
        self.now.copy(rest, self.stages)

    def do_user(self, rest):
        self.now.user = rest

    def do_workdir(self, rest):
        self.now.cwd = os.path.join(self.now.cwd, rest)
        os.makedirs(self.now.root + self.now.cwd, exist_ok=True)

    def do_entrypoint(self, rest):
        self.now.entrypoint = json.loads(rest)


def lines_of(stage, path):
    with open(stage.root + path, encoding="utf-8") as file:
        return file.read().splitlines()


def check_user(stages):
    stage = stages["runtime"]
    entry = [line.split(":") for line in lines_of(stage, "/etc/passwd")
             if line.startswith("mpiuser:")]
    need(len(entry) == 1 and entry[0][2:4] == stage.user.split(":"),
         f"USER {stage.user}, but passwd has {entry}")
    need(stage.run("pwd; ls -A; id -u").split()[0] == entry[0][5],
         "the working directory is no home of the user")
    for place, folders, files in os.walk(stage.root + entry[0][5]):
        for one in [place, *(f"{place}/{name}" for name in folders + files)]:
            mode = os.lstat(one).st_mode
            need(stat.S_ISLNK(mode) or mode >> 3 & 7 == mode >> 6 & 7,
                 f"{one}: group 0 may not what the user may")
    need(lines_of(stage, entry[0][5] + "/.sshd_config") == [
        "Port 2222", f"HostKey {entry[0][5]}/.ssh/id_rsa"], ".sshd_config")


def check_programs(stages):
    for name in ("runtime", "openmpi", "openmpi5"):
        stage = stages[name]
        need(stage.run(" ".join(stage.entrypoint[:1] + ["version"]))
             == "muster 0.9.0\n", f"{name}: the entry is not on PATH")
        need(stage.run("readlink -f /usr/sbin/sshd").strip()
             == "/opt/muster/bin/muster", f"{name}: sshd is not muster")
    for name, where in (("openmpi", "/usr/lib64/openmpi/bin/mpirun"),
                        ("openmpi5", "/opt/openmpi/bin/mpirun")):
        need(stages[name].run("command -v mpirun").strip() == where,
             f"{name}: mpirun of the image is not on PATH")


def check_licenses(stages):
    for place in ("/licenses", "/opt/muster/share/licenses/muster"):
        need(set(os.listdir(stages["runtime"].root + place))
             == {"LICENSE", "libssh-COPYING"}, f"licenses in {place}")
    bill = json.loads("\n".join(lines_of(
        stages["kit"], "/opt/muster/share/muster/sbom.spdx.json")))
    names = {one["name"]: one["versionInfo"] for one in bill["packages"]}
    need(names.get("muster") == "0.9.0" and names.get("libssh") == "1.2-3.el9"
         and "fmt-devel" in names, f"bill of materials: {names}")


def check_repository(stages):
    need(lines_of(stages["openmpi"], "/etc/yum.repos.d/mpi.repo") == [
        "[mpi]", "name=mpi", "baseurl=https://example.org/repo", "gpgcheck=1",
        "gpgkey=https://example.org/key"], "mpi.repo")


def inside(folder):
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512m", "tmpfs", folder],
                   check=True, timeout=60)
    found = instructions(FILE)
    passed = failed = 0
    given = {"OPENMPI5_URL": ARCHIVE, "MPI_REPO": "https://example.org/repo",
             "MPI_REPO_KEY": "https://example.org/key", "JOBS": "2"}
    # CUDA's images are made from the full UBI, which has dnf only.
    for what in (given, {"OPENMPI5_URL": ARCHIVE},
                 {"OPENMPI5_URL": ARCHIVE,
                  "RUNTIME_BASE": "registry.access.redhat.com/ubi9/ubi"}):
        checks = [check_user, check_programs, check_licenses]
        if "MPI_REPO" in what:
            checks.append(check_repository)
        place = tempfile.mkdtemp(dir=folder)
        os.chmod(place, 0o755)
        try:
            stages = Build(place, what).all(found)
            passed += 1
            for check in checks:
                check(stages)
                passed += 1
        except AssertionError as error:
            failed += 1
            print(f"FAILED: {error}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def cannot():
    """Why not here; empty if it can."""
    if os.geteuid() != 0:
        return "needs root"
    if subprocess.run(["unshare", "--mount", "--net", "true"], check=False,
                      capture_output=True, timeout=60).returncode != 0:
        return "needs namespaces"
    wanted = MINIMAL + FULL + sum(PACKAGES.values(), [])
    missing = [n for n in wanted if not shutil.which(n, path=HOST_PATH)]
    return "not on this machine: " + " ".join(missing) if missing else ""


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--inside":
        return inside(sys.argv[2])
    if reason := cannot():
        print(f"skip  the steps of ubi9: {reason}\n"
              "0 passed, 0 failed, 1 skipped")
        return 0
    folder = tempfile.mkdtemp(prefix="muster-ubi9-")
    os.chmod(folder, 0o755)
    try:
        return subprocess.run(
            ["unshare", "--mount", "--net", sys.executable, "-B", __file__,
             "--inside", folder], timeout=240, check=False).returncode
    finally:
        os.rmdir(folder)  # empty: its mounts went with the namespace


if __name__ == "__main__":
    sys.exit(main())
