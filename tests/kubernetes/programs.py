# SPDX-License-Identifier: Apache-2.0
"""Builds the cluster's programs from published Go modules, and caches them.

A component at a version is a folder, CACHE/COMPONENT/VERSION, made beside it
and renamed when whole, so a folder that is there is complete. CACHE is
$MUSTER_KUBERNETES_CACHE, else $XDG_CACHE_HOME/muster-tests/kubernetes, else
/var/cache/muster-tests/kubernetes. What Go downloads and compiles lies in Go's
own caches; an interrupted build goes on from there.

Refuses, in one sentence: no Go, a Go that is too old, a build that fails.
"""
import contextlib
import fcntl
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from problems import Problem
from versions import COMPONENTS, GO, SUITE

HERE = os.path.dirname(os.path.abspath(__file__))


def cache():
    given = os.environ.get("MUSTER_KUBERNETES_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or "/var/cache"
    return given or os.path.join(base, "muster-tests", "kubernetes")


def folder(component):
    return os.path.join(cache(), component, COMPONENTS[component]["version"])


def contents(component):
    return [name for kind in ("packages", "tests", "files")
            for name in COMPONENTS[component].get(kind, ())]


def path(program, component=None):
    """Where a program, or a file taken out of a module, lies. `component` is
    the first that has it unless given."""
    owner = component or next(name for name in COMPONENTS
                              if program in contents(name))
    return os.path.join(folder(owner), program)


def missing(names):
    """Those of the components that are not in the cache."""
    return [name for name in names if not all(
        os.path.exists(os.path.join(folder(name), file))
        for file in contents(name))]


def ensure(names, limit):
    """Builds what is not in the cache, in `limit` seconds altogether."""
    if not missing(names):
        return
    check_go()
    os.makedirs(cache(), exist_ok=True)
    end = time.monotonic() + limit
    with open(os.path.join(cache(), "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second caller finds the first's
        for name in missing(names):
            build(name, end)


def check_go():
    need = ".".join(map(str, GO))
    try:
        text = subprocess.run(["go", "env", "GOVERSION"], capture_output=True,
                              text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as e:
        raise Problem(f"Go {need} or later is needed to build Kubernetes, and "
                      f"`go env` fails: {e}") from e
    m = re.match(r"go(\d+)\.(\d+)", text)
    if not m or tuple(map(int, m.groups())) < GO:
        raise Problem(f"Go {need} or later is needed to build Kubernetes; "
                      f"`go` on PATH is {text.strip() or 'of no version'}")


def build(name, end):
    component, target = COMPONENTS[name], folder(name)
    print(f"building {name} {component['version']}", flush=True)
    start = time.monotonic()
    parent = os.path.dirname(target)
    os.makedirs(parent, exist_ok=True)
    for left in glob.glob(os.path.join(parent, ".building-*")):
        shutil.rmtree(left, ignore_errors=True)  # by a build that was killed
    with contextlib.ExitStack() as stack:
        out = tempfile.mkdtemp(prefix=".building-", dir=parent)
        stack.callback(shutil.rmtree, out, ignore_errors=True)
        work = stack.enter_context(tempfile.TemporaryDirectory())
        module = write_module(component, work)
        flags = ["-mod=mod", "-trimpath", "-buildvcs=false", "-p=2",
                 "-ldflags", linker_flags(component)]
        packages = component.get("packages", {})
        # Several at once are named by Go after their packages.
        where = out + "/" if len(packages) > 1 else os.path.join(
            out, *packages)
        if packages:
            go(["build", *flags, "-o", where, *packages.values()], work, end,
               name)
        for program, package in component.get("tests", {}).items():
            go(["test", "-c", *flags, "-o", f"{out}/{program}", package],
               work, end, name)
        for file in component.get("files", ()):
            copy(os.path.join(module["Dir"], file), os.path.join(out, file))
        os.chmod(out, 0o755)
        shutil.rmtree(target, ignore_errors=True)  # of an older list of files
        os.rename(out, target)
    print(f"built {name} in {time.monotonic() - start:.0f} s", flush=True)


def write_module(component, work):
    """A module in `work` that requires the component and nothing else."""
    spec = f"{component['module']}@{component['version']}"
    found = subprocess.run(["go", "mod", "download", "-json", spec], cwd=work,
                           capture_output=True, text=True, check=False)
    try:
        module = json.loads(found.stdout)
    except ValueError:
        module = {"Error": found.stderr.strip()}
    if module.get("Error"):
        raise Problem(f"Go cannot download {spec}: {module['Error']}")
    with open(module["GoMod"]) as f:
        text = f.read()
    lines = ["module test.invalid/build", "",
             *re.findall(r"^go \S+", text, re.M), "",
             f"require {component['module']} {component['version']}"]
    for staged in re.findall(r"^\s*(\S+) => \./staging/", text, re.M):
        lines.append(f"replace {staged} => {staged} {component['staging']}")
    with open(os.path.join(work, "go.mod"), "w") as f:
        f.write("\n".join(lines) + "\n")
    if source := component.get("source"):
        for file in os.listdir(os.path.join(HERE, source)):
            shutil.copy(os.path.join(HERE, source, file), work)
    return module


def linker_flags(component):
    flags = ["-s", "-w"]
    major, minor = component["version"].lstrip("v").split(".")[:2]
    for package in component.get("stamp", ()):
        for key, value in (("gitVersion", component["version"]),
                           ("gitMajor", major), ("gitMinor", minor),
                           ("gitTreeState", "clean")):
            flags += ["-X", f"{package}.{key}={value}"]
    return " ".join(flags)


def go(arguments, work, end, name):
    env = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "", "GOWORK": "off"}
    left = end - time.monotonic()
    try:
        done = subprocess.run(["go", *arguments], cwd=work, env=env, text=True,
                              stdout=subprocess.PIPE, timeout=max(left, 1),
                              stderr=subprocess.STDOUT, check=False)
    except subprocess.TimeoutExpired as e:
        raise Problem(f"building {name} was not done in the time given; the "
                      "next run goes on from there") from e
    if done.returncode != 0:
        tail = "\n".join(done.stdout.splitlines()[-15:])
        raise Problem(f"`go {arguments[0]}` of {name} failed:\n{tail}")


def copy(source, target):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.isdir(source):
        shutil.copytree(source, target)
        # Files in Go's module cache are read-only.
        for root, _, _ in os.walk(target):
            os.chmod(root, 0o755)
    else:
        shutil.copy(source, target)


def main():
    try:
        ensure(SUITE, 60 * float(sys.argv[1]))
    except Problem as e:
        sys.exit(f"kubernetes: {e}")


if __name__ == "__main__":
    main()
