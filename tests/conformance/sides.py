# SPDX-License-Identifier: Apache-2.0
"""A job's pods with or without muster, in which lines run; what each run was
seen to do."""
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass, field

from harness import (EXAMPLES, PATIENCE, PROGRAMS, apply, check,
                     job_processes, listening, program)
from lines import LONGEST

RECORDS = "/records"
HANG_GUARD = 240  # of one line, on a machine that does other work beside
SLOTS = 2
NUMBER = "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"
# What the operator tells an MPI of its hosts, for a run on one machine alone.
HOSTS_OF_THE_OPERATOR = ["OMPI_MCA_orte_default_hostfile",
                         "OMPI_MCA_orte_set_default_slots",
                         "PRTE_MCA_prte_default_hostfile", "HYDRA_HOST_FILE",
                         "I_MPI_HYDRA_HOST_FILE", "I_MPI_PERHOST"]


@dataclass
class Seen:
    words: list
    code: object                 # None: not over
    out: bytes
    err: bytes
    records: list = field(default_factory=list)  # of processes, facts by name
    left: list = field(default_factory=list)
    made: dict = field(default_factory=dict)     # files that the line asks for


def manifest(mpi, folder):
    """The example with more slots."""
    with open(os.path.join(EXAMPLES, mpi.manifest), encoding="utf-8") as f:
        text = f.read()
    changed = re.sub(r"slotsPerWorker: \d+", f"slotsPerWorker: {SLOTS}", text)
    path = os.path.join(folder, mpi.manifest)
    with open(path, "w", encoding="utf-8") as f:
        f.write(changed)
    return path


class Side:
    def __init__(self, mpi, c, with_muster):
        self.mpi, self.with_muster = mpi, with_muster
        self.folder = tempfile.mkdtemp(prefix="conformance-")
        self.records = os.path.join(self.folder, "records")
        os.mkdir(self.records)
        os.chmod(self.folder, 0o755)
        os.chmod(self.records, 0o777)
        self.probe = program("record", "gcc")
        options = {} if with_muster else {
            "prefix": None, "worker_command": self.plain_worker()}
        self.job = apply(c, manifest(mpi, self.folder), workers=2,
                         binds=[(self.records, RECORDS, False), *mpi.binds],
                         extra_env=mpi.env, **options)
        check(self.job.wait_ready(PATIENCE), "workers are not ready")
        listening(self.job.workers)
        done = self.job.launcher.exec(["cat", "/etc/mpi/hostfile"], check=True)
        self.hosts = [re.split(r"[ :]", line)[0]
                      for line in done.stdout.split("\n") if line]
        self.before = {}

    def plain_worker(self):
        """sshd's sessions have the image's environment, as its entrypoint or
        /etc/environment would give them."""
        words = ["/usr/sbin/sshd", "-De", "-f", "/home/mpiuser/.sshd_config"]
        env = {name: value.replace("/opt/muster/dropin/bin:", "")
               for name, value in self.mpi.env.items()}
        if env:
            words += ["-o", "SetEnv=" + " ".join(
                f"{name}={value}" for name, value in env.items())]
        return words

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def words(self, text):
        known = {"R": f"{self.probe} {RECORDS}", "M": self.mpi.ways,
                 "A": self.hosts[0], "B": self.hosts[1], "N": NUMBER,
                 "big": "x" * 131000, "bigger": "x" * LONGEST}
        for name, value in known.items():
            text = text.replace("{" + name + "}", value)
        return shlex.split(text)

    def command(self, line, mode):
        """`plain` and `here`: the MPI alone, in pods and on one machine."""
        own = [self.mpi.command, *self.mpi.always, *self.words(line.words)]
        alone = ["env", *(w for name in HOSTS_OF_THE_OPERATOR
                          for w in ("-u", name))]
        if mode == "auto":
            return ["muster", "launch", *self.words(line.program)]
        return {"plain": own, "drop-in": own, "here": [*alone, *own],
                "native": ["muster", "launch", "--bootstrap", "pmix", "--",
                           *own],
                "local": [*alone, "muster", "launch", "--local", f"1x{SLOTS}",
                          "--", *own]}[mode]

    def run(self, line, mode):
        self.reset()
        words = self.command(line, mode)
        if line.before:
            words = ["sh", "-c", line.before + '\nexec "$@"', "sh", *words]
        # A name that nobody asks to be passed on.
        env = {"ODD_LAUNCHER": "1", **line.env}
        if self.with_muster:
            env["MUSTER_LOG_FORMAT"] = "plain"
        else:
            env.update(self.mpi.plain)
            path = self.mpi.env.get("PATH", "")
            if path:
                env["PATH"] = path.replace("/opt/muster/dropin/bin:", "")
        # Open MPI 5 reads no stdin that is a file.
        stdin = subprocess.PIPE if line.stdin else subprocess.DEVNULL
        process = self.job.launcher.popen(
            words, stdin=stdin, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=env)
        try:
            out, err = process.communicate(line.stdin or None, HANG_GUARD)
            code = process.returncode
            code = 128 - code if code < 0 else code
        except subprocess.TimeoutExpired as hung:
            process.kill()
            process.wait()
            code, out, err = None, hung.stdout or b"", hung.stderr or b""
        seen = Seen(words, code, out, err)
        seen.left = self.left(code is None)
        for name in sorted(os.listdir(self.records)):
            with open(os.path.join(self.records, name), "rb") as f:
                if name.startswith(".out"):
                    seen.made[name] = f.read()
                elif not name.startswith("."):
                    seen.records.append(facts(f))
        return seen

    def reset(self):
        for name in os.listdir(self.records):
            path = os.path.join(self.records, name)
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        hosts = os.path.join(self.records, ".hosts")
        with open(hosts, "w", encoding="utf-8") as f:
            form = "{} slots=2\n" if self.mpi.family == "open" else "{}:2\n"
            f.write(form.format(self.hosts[1]))
            f.write(form.format(self.hosts[0]))
        os.chmod(hosts, 0o644)
        self.job.launcher.exec(["sh", "-c", "rm -rf ~/.openmpi"])
        if not self.before:
            self.before = {pod.name: files(pod) for pod in self.job.pods}

    def left(self, hung):
        """Processes and files that a line leaves in any pod; it removes them.
        Daemons need a moment after mpirun's end."""
        end = time.monotonic() + (0 if hung else 5)
        while processes := [
                (pod, pid, text) for pod in self.job.pods
                for pid, text in job_processes(pod).items()
                if pod.pid != pid and "sshd" not in text
                and "muster worker" not in text]:
            if time.monotonic() > end:
                break
            time.sleep(0.05)
        found = []
        for pod, pid, text in processes:
            found.append("process " + without_numbers(text.split()[0]))
            pod.exec(["sh", "-c", f"kill -9 {pid_inside(pid)}"])
        for pod in self.job.pods:
            new = files(pod) - self.before[pod.name]
            found += ["file " + without_numbers(path) for path in new]
            if new:
                pod.exec(["rm", "-rf", *new])
        return sorted(set(found))


def pid_inside(pid):
    try:
        with open(f"/proc/{pid}/status", encoding="ascii",
                  errors="replace") as f:
            return re.search(r"NSpid:.*?(\d+)\n", f.read())[1]
    except (OSError, TypeError):
        return "0"


def files(pod):
    """First-level entries: what is in a directory goes with it."""
    done = pod.exec(["find", "/tmp", "/dev/shm", "/var/tmp", "-xdev",
                     "-mindepth", "1", "-maxdepth", "1", "-not", "-path",
                     PROGRAMS])
    return set(done.stdout.split("\n")) - {""}


def without_numbers(text):
    text = re.sub(r"(?<=file_)\w+$", "N", text)
    return re.sub(r"[0-9a-f]*\d[0-9a-f]*", "N", text)


def facts(file):
    found = {}
    for row in file:
        name, _, value = row.rstrip(b"\n").partition(b" ")
        found[name.decode()] = bytes.fromhex(value.decode())
    return found
