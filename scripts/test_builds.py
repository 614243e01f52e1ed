# SPDX-License-Identifier: Apache-2.0
"""The build directories of scripts/test: how each is set up, and who waits.

`begin` starts a build that runs while tests do, on what processor time they
leave; `need` waits for a build, and starts it if nobody did. A build is tried
once; a failure counts once and takes the steps that need it with it.
`test_builds.py NAME` is one such build by itself, as scripts/demo needs it.
"""
import os
import re
import shlex
import shutil
import signal
import sys
import time

from test_steps import ROOT, Child, Progress, Tally

MINUTE = 60
# What the cluster tests get as MUSTER_PREFIX, by build directory.
PREFIXES = {
    "release": os.path.join(ROOT, "build", "prefix"),
    "coverage": os.path.join(ROOT, "build", "coverage-prefix"),
}
# ccache is a help, not a need.
CCACHE = "ccache " if os.path.exists("/usr/bin/ccache") else ""
GCC = {"CC": CCACHE + "gcc", "CXX": CCACHE + "g++"}
CLANG = {"CC": CCACHE + "clang", "CXX": CCACHE + "clang++"}
SANITIZERS = ["-Db_sanitize=address,undefined", "-Dwerror=true"]
SETUP = {
    # Unit tests and fuzz targets: one build for both, since it is the longest.
    # ccache takes precompiled headers only when told that times do not matter.
    "clang": ({**CLANG, "CCACHE_SLOPPINESS": "pch_defines,time_macros,"
               "include_file_mtime,include_file_ctime"},
              ["--buildtype=debug", *SANITIZERS, "-Db_lundef=false",
               "-Db_pch=true", "-Dfuzz=true",
               # Of debug information stack traces need the lines only. What
               # is undefined ends a test. (vptr opens a pipe, and takes any
               # object for a wrong one where a test leaves no descriptor.)
               "-Dcpp_args=-Xclang -fno-pch-timestamp -gline-tables-only"
               " -fno-sanitize-recover=undefined -fno-sanitize=vptr"]),
    # Unit tests where there is no clang.
    "test": (GCC, ["--buildtype=debug", *SANITIZERS,
                   "-Dcpp_args=-fno-sanitize-recover=undefined"]),
    "release": (GCC, ["--buildtype=release", "-Db_lto=true", "-Dwerror=true",
                      "-Dtests=false", "--prefix=" + PREFIXES["release"]]),
    "coverage": (GCC, ["--buildtype=debug", "-Db_coverage=true",
                       "--prefix=" + PREFIXES["coverage"]]),
}
# The build that unit tests are run in.
SANITIZED = "clang" if os.path.exists("/usr/bin/clang++") else "test"


class Builds:
    def __init__(self, tally):
        self.tally = tally
        self.done = {}       # name: whether it worked
        self.begun = {}      # name: its child

    def begin(self, name, patient=True):
        if name not in self.done and name not in self.begun:
            env, _ = SETUP[name]
            self.begun[name] = Child(["sh", "-ec", recipe(name)], env,
                                     f"build-{name}", patient)

    def need(self, name):
        """True when build/NAME is up to date."""
        if name not in self.done:
            print(f"== build {name}", flush=True)
            start = time.monotonic()
            self.begin(name, patient=False)
            step = self.begun.pop(name).finish(
                35 * MINUTE, show=False, progress=Progress(name))
            self.done[name] = step.ok
            self.tally.times.append((f"build {name}",
                                     time.monotonic() - start))
            if not step.ok:
                lines = step.output.splitlines()
                # ninja goes on after an error: it may be far from the end.
                wrong = [x for x in lines if re.search("error:|FAILED", x)]
                print("\n".join([*wrong[:20], *lines[-20:]]), flush=True)
                print(f"FAIL  build {name}", flush=True)
                self.tally.fail(f"build {name}")
        return self.done[name]

    def stop(self):
        """Ends what nobody waited for."""
        for child in self.begun.values():
            child.stop()
        self.begun.clear()


def recipe(name):
    """The shell lines that bring build/NAME up to date."""
    folder = os.path.join("build", name)
    lines = []
    if not os.path.exists(os.path.join(ROOT, folder, "build.ninja")):
        lines.append(["meson", "setup", *SETUP[name][1], folder])
    lines.append(["ninja", "-k", "20", "-C", folder])
    if name in PREFIXES:
        shutil.rmtree(PREFIXES[name], ignore_errors=True)
        lines.append(["meson", "install", "--no-rebuild", "-C", folder])
    return "\n".join(map(shlex.join, lines))


def main(name):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    builds = Builds(Tally())
    try:
        return 0 if builds.need(name) else 1
    finally:
        builds.stop()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
