# SPDX-License-Identifier: Apache-2.0
"""The steps behind scripts/test: build, run, count.

Every step is a child in a process group of its own, under a time limit; what
is left of it afterwards is killed. A step that could not be run for a stated
reason is a skip and never counts as passed. A build that fails counts as one
failure and takes the steps that need it with it.
"""
import argparse
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from test_builds import MINUTE, PREFIXES, SANITIZED, Builds
from test_steps import ROOT, Child, Tally, no_pods_because, run

PYTHON = ["/usr/bin/python3", "-B"]
# Where pods of a coverage run leave their counters: a directory per user id.
COUNTERS = os.path.join(ROOT, "build", "coverage-pods")


class Runner:
    def __init__(self, options):
        self.options = options
        self.tally = Tally()
        self.builds = Builds(self.tally)
        self.newer = None  # the child that makes the Debian 13 root
        self.verbs = None  # the child with the machine of the verbs test

    def wants(self, *names):
        """Whether a step that goes by these names was asked for."""
        return not self.options.names or any(
            asked in name for asked in self.options.names for name in names)

    def timed(self, name, work):
        print(f"== {name}", flush=True)
        start = time.monotonic()
        work()
        self.tally.times.append((name, time.monotonic() - start))

    # Programs that meson knows: unit tests and fuzz targets

    def meson_tests(self, build, title):
        """Runs those of build/BUILD that were asked for."""
        listed = subprocess.run(
            ["meson", "test", "--list", "-C", os.path.join("build", build)],
            cwd=ROOT, capture_output=True, text=True, check=False)
        names = [line.split(" / ")[-1].strip()
                 for line in listed.stdout.splitlines()]
        names = [n for n in names
                 if re.fullmatch(r"[\w.-]+", n) and self.wants(n, title)
                 and n.startswith("fuzz_") == (title == "fuzz")]
        if names:
            self.timed(title, lambda: self.meson_tests_now(build, title, names))

    def meson_tests_now(self, build, title, names):
        folder = os.path.join("build", build)
        results = os.path.join(ROOT, folder, "meson-logs", "testlog.json")
        if os.path.exists(results):
            os.unlink(results)
        # Three times the limit of each test: CI machines are slow and shared.
        env = {"MUSTER_SWEEP": "all"} if self.options.long else None
        step = run(["meson", "test", "--no-rebuild", "--print-errorlogs",
                    "--timeout-multiplier=3", "-C", folder, *names],
                   20 * MINUTE, env, title, show=False)
        seen = set()
        if os.path.exists(results):
            with open(results) as f:
                for line in filter(str.strip, f):
                    result = json.loads(line)
                    name = result["name"].split(" / ")[-1].strip()
                    seen.add(name)
                    self.count_program(name, result)
        for name in sorted(set(names) - seen):
            print(f"FAIL  {name}: no result", flush=True)
            self.tally.fail(name)
        if not step.ok:
            print("\n".join(step.output.splitlines()[-60:]), flush=True)

    def count_program(self, name, result):
        """One Catch2 program counts as its test cases, any other as one."""
        text = result.get("stdout") or ""
        cases, failed = 1, 0
        if m := re.search(r"^All tests passed \(.* in (\d+) test case", text,
                          re.M):
            cases = int(m[1])
        elif m := re.search(r"^test cases: +(\d+) \|(.*)", text, re.M):
            cases = int(m[1])
            bad = re.search(r"(\d+) failed", m[2])
            failed = int(bad[1]) if bad else 0
        if result["result"] == "SKIP":
            self.tally.skip(name, "the program says so")
            return
        if result["result"] != "OK":
            failed = max(failed, 1)
            self.tally.fail(name, failed)
        self.tally.passed += cases - failed
        word = "FAIL" if failed else "ok  "
        print(f"{word}  {name}: {cases - failed} passed, {failed} failed, "
              f"{result['duration']:.1f} s", flush=True)
        if failed:
            print("\n".join(text.splitlines()[-40:]), flush=True)

    # Scripts that print `N passed, N failed` themselves

    def script(self, name, argv, limit, env=None):
        self.timed(name, lambda: self.script_now(name, argv, limit, env))

    def script_now(self, name, argv, limit, env):
        self.count_script(name, run(argv, limit, env, name))

    def count_script(self, name, step):
        lines = step.output.split("\n")
        last = next((s for s in reversed(lines) if s.strip()), "")
        m = re.fullmatch(r"(\d+) passed, (\d+) failed(?:, (\d+) skipped)?",
                         last.strip())
        if m:
            self.tally.passed += int(m[1])
            if int(m[2]):
                self.tally.fail(name, int(m[2]))
            self.tally.skips += [name] * int(m[3] or 0)
        if not m or (step.status != 0 and not int(m[2])):
            ended = "out of time" if step.status is None else (
                f"exit status {step.status}")
            print(f"FAIL  {name}: {ended}, last line {last!r}", flush=True)
            self.tally.fail(name)

    def podnet(self):
        """The test bed by itself, which needs no build."""
        if not self.wants("podnet"):
            return
        if reason := no_pods_because():
            self.tally.skip("podnet", reason)
            return
        self.script("podnet", ["tests/podnet/selftest"], 15 * MINUTE)

    def cluster(self, build="release", extra_env=None):
        folder = os.path.join(ROOT, "tests", "cluster")
        files = sorted(glob.glob(os.path.join(folder, "test_*.py")))
        limits = dict.fromkeys(files, 15 * MINUTE)
        if self.options.long:
            for path in sorted(glob.glob(os.path.join(folder, "long_*.py"))):
                limits[path] = 120 * MINUTE
        limits = {path: limit for path, limit in limits.items()
                  if self.wants(os.path.basename(path), "cluster")}
        if not limits:
            return
        if reason := no_pods_because():
            self.tally.skip("cluster tests", reason)
            return
        if not self.builds.need(build):
            return
        env = {"MUSTER_PREFIX": PREFIXES[build], **(extra_env or {})}
        self.timed("Debian 13 root", lambda: env.update(self.newer_root()))
        for path, limit in limits.items():
            name = os.path.basename(path).removesuffix(".py")
            self.script(name, [*PYTHON, path], limit, env)

    def papers(self):
        """What needs no pods: container files, links of the documents, what
        an installation asks of an image, the recorded contracts, and the
        example manifests against the program's own options."""
        if self.wants("images"):
            self.script("images", [*PYTHON,
                                   "tests/images/test_containerfiles.py"],
                        5 * MINUTE)
            self.script("image_steps", [*PYTHON,
                                        "tests/images/test_ubi9_steps.py"],
                        5 * MINUTE)
        if self.wants("documents"):
            self.script("documents", [*PYTHON,
                                      "tests/images/test_documents.py"],
                        5 * MINUTE)
        if self.wants("structure"):
            self.script("structure", [*PYTHON,
                                      "tests/structure/test_structure.py"],
                        5 * MINUTE)
        if self.wants("kit") and self.builds.need("release"):
            self.script("kit", [*PYTHON, "tests/images/test_kit.py",
                                PREFIXES["release"]], 5 * MINUTE)
        if self.wants("contracts") and self.builds.need("release"):
            self.script("contracts", [
                *PYTHON, "tests/contracts/test_contracts.py",
                os.path.join(PREFIXES["release"], "bin", "muster")],
                5 * MINUTE)
        if self.wants("commands") and self.builds.need("release"):
            self.script("commands", [
                *PYTHON, "tests/images/test_commands.py",
                os.path.join(PREFIXES["release"], "bin", "muster")],
                5 * MINUTE)
        if self.wants("examples") and self.builds.need("release"):
            self.script("examples", [
                *PYTHON, "tests/images/test_examples.py",
                os.path.join(PREFIXES["release"], "bin", "muster")],
                5 * MINUTE)

    def gpu(self):
        """Recorded runs of a machine with a GPU, played back; a GPU itself
        where there is one, with --long or by name."""
        if not self.wants("gpu") or not self.builds.need("release"):
            return
        env = {"MUSTER_PREFIX": PREFIXES["release"]}
        self.script("gpu_replay", [*PYTHON, "tests/gpu/test_replay.py"],
                    10 * MINUTE, env)
        if self.options.long or self.options.names:
            self.timed("gpu", lambda: self.real_gpu(env))

    def real_gpu(self, env):
        step = run([*PYTHON, "tests/gpu/run.py"], 10 * MINUTE, env, "gpu")
        if step.status == 77:
            self.tally.skip("gpu", step.output.strip())
        else:
            self.count_script("gpu", step)

    def interop(self):
        """SSH clients of others, floods and hostile peers on one worker."""
        paths = [path for path in sorted(glob.glob(
                     os.path.join(ROOT, "tests", "interop", "test_*.py")))
                 if self.wants(os.path.basename(path), "interop")]
        if not paths or not self.builds.need("release"):
            return
        env = {"MUSTER": os.path.join(PREFIXES["release"], "bin", "muster")}
        more, limit = [], 10 * MINUTE
        if self.options.long:
            more, limit = ["--long"], 180 * MINUTE
        for path in paths:
            name = "interop_" + os.path.basename(path).removesuffix(".py")
            self.script(name, [*PYTHON, path, *more], limit, env)

    def conformance(self):
        """Lines by each MPI alone and by muster in its place: a few of them,
        and all with --long or by name."""
        if not self.wants("conformance"):
            return
        if reason := no_pods_because():
            self.tally.skip("conformance", reason)
            return
        if not self.builds.need("release"):
            return
        more, limit = [], 15 * MINUTE
        if self.options.long or self.options.names:
            more, limit = ["--long"], 120 * MINUTE
        self.script("conformance", [
            *PYTHON, "tests/conformance/test_differences.py", *more], limit,
            {"MUSTER_PREFIX": PREFIXES["release"]})

    def begin_verbs(self):
        """Real verbs in an emulated machine, whose clock goes by instructions:
        it may run beside tests on pods."""
        if self.builds.need("release"):
            self.verbs = Child([*PYTHON, "tests/vm/test_verbs.py"],
                               {"MUSTER_PREFIX": PREFIXES["release"]},
                               "vm_test_verbs")

    def machine(self):
        """Emulated machines with another kernel: real verbs, cgroup v2. The
        latter only with --long or by name: docs/test-results.md says why."""
        if self.verbs is not None:
            self.timed("vm_test_verbs", lambda: self.count_script(
                "vm_test_verbs", self.verbs.finish(12 * MINUTE)))
        if not self.options.long and not self.options.names:
            return
        for path in sorted(glob.glob(
                os.path.join(ROOT, "tests", "vm", "test_*.py"))):
            name = os.path.basename(path).removesuffix(".py")
            if self.wants(name, "vm") and self.builds.need("release"):
                self.script("vm_" + name, [*PYTHON, path], 12 * MINUTE,
                            {"MUSTER_PREFIX": PREFIXES["release"]})

    def kubernetes(self):
        """A real cluster of one node, where its programs are built already:
        that takes long, so only --long, or its name, builds them and runs all
        of its tests."""
        argv = [*PYTHON, "tests/kubernetes/run.py"]
        given = self.options.kubeconfig
        if given:
            argv += ["--kubeconfig", given]
        suite = self.options.long or any(
            "kubernetes_e2e" in name for name in self.options.names)
        for name, more in (("kubernetes", []), ("kubernetes_e2e", ["--suite"])):
            if not (suite if more else self.wants(name)):
                continue
            lacking = "" if given else subprocess.run(
                [*argv, *more, "--ready"], cwd=ROOT, check=False, text=True,
                capture_output=True).stdout.strip()
            if lacking and not self.options.names and not self.options.long:
                self.tally.skip(name, lacking)
                continue
            if not given and not self.builds.need("release"):
                return
            if not self.options.names and not self.options.long:
                more = ["test_mpijob", "test_mistakes", "test_pods"]
            # Behind the limits of run.py: a build's, and 30 or 40 for the rest.
            self.script(name, [*argv, *more], (105 if lacking else 45) * MINUTE,
                        {"MUSTER_PREFIX": PREFIXES["release"]})

    def begin_newer_root(self):
        """It is mostly downloads, so the first build need not wait for it."""
        if self.newer is None:
            self.newer = Child(["tests/podnet/trixie_root"], None, "trixie")

    def newer_root(self):
        """Builds what tests of newer MPIs run on, once, outside of their time
        limits. Where it cannot be had those tests are told to skip."""
        self.begin_newer_root()
        step = self.newer.finish(12 * MINUTE, show=False)
        if step.ok:
            return {}
        lines = step.output.strip().splitlines() or ["it took too long"]
        print(f"no Debian 13 root: {lines[-1]}", flush=True)
        return {"MUSTER_NO_TRIXIE": lines[-1]}

    def bare(self):
        """Demo and tests once more, where nothing but Debian is installed."""
        if not (self.options.long or self.options.names) \
                or not self.wants("bare"):
            return
        if reason := no_pods_because():
            self.tally.skip("bare", reason)
            return
        self.timed("bare", self.bare_now)

    def bare_now(self):
        step = run(["tests/bare/run"], 150 * MINUTE, None, "bare")
        if step.ok:
            self.tally.passed += 1
            return
        print("FAIL  bare: build/logs/bare.log has it all", flush=True)
        self.tally.fail("bare")

    # Fuzzing

    def fuzz(self):
        if not self.wants("clang") and not any(
                "fuzz" in name for name in self.options.names):
            return
        if SANITIZED != "clang":
            self.tally.skip("clang build and fuzz replays", "no clang++ here")
            return
        if not self.builds.need("clang"):
            return
        if self.wants("clang"):
            print("ok    clang: no warnings", flush=True)
            self.tally.passed += 1
        self.meson_tests("clang", "fuzz")
        if self.options.long:
            self.fuzz_long()

    def fuzz_long(self):
        seconds = int(os.environ.get("MUSTER_FUZZ_SECONDS", "300"))
        folder = os.path.join(ROOT, "build", "clang", "tests", "fuzz")
        for path in sorted(glob.glob(os.path.join(folder, "fuzz_*"))):
            name = os.path.basename(path)
            if not os.access(path, os.X_OK) or os.path.isdir(path):
                continue
            if not self.wants(name):
                continue
            grown = os.path.join(folder, "grown_" + name.removeprefix("fuzz_"))
            os.makedirs(grown, exist_ok=True)
            corpus = os.path.join(ROOT, "tests", "fuzz", "corpus",
                                  name.removeprefix("fuzz_"))
            argv = [path, f"-max_total_time={seconds}", "-print_final_stats=1",
                    f"-artifact_prefix={folder}/", grown, corpus]
            self.timed(f"{name} for {seconds} s",
                       lambda: self.fuzz_one(name, argv, seconds + 2 * MINUTE))

    def fuzz_one(self, name, argv, limit):
        step = run(argv, limit, None, name + "-long", show=False)
        if step.ok:
            self.tally.passed += 1
            return
        print("\n".join(step.output.splitlines()[-60:]), flush=True)
        print(f"FAIL  {name}: an input is in {os.path.dirname(argv[0])}")
        self.tally.fail(name)

    # Coverage

    def coverage(self):
        """Lines of src/ that unit and cluster tests run, in percent."""
        if not self.builds.need("coverage"):
            return
        folder = os.path.join(ROOT, "build", "coverage")
        for old in glob.glob(folder + "/**/*.gcda", recursive=True):
            os.unlink(old)
        shutil.rmtree(COUNTERS, ignore_errors=True)
        os.makedirs(COUNTERS)
        self.meson_tests("coverage", "unit")
        if not self.options.quick:
            self.cluster("coverage", {"MUSTER_COVERAGE_DIR": COUNTERS,
                                      "MUSTER_COVERAGE_BUILD": folder})
        self.merge_counters(folder)
        argv = ["gcovr", "-j", "2", "--root", ROOT, "--filter", "src/",
                "--print-summary", "--gcov-ignore-parse-errors",
                "--html-details", "build/coverage/report.html",
                os.path.join("build", "coverage", "src")]
        step = run(argv, 25 * MINUTE, None, "gcovr", show=False)
        m = re.search(r"^lines: ([\d.]+)% \((.*)\)", step.output, re.M)
        if not m:
            print(step.output)
            self.tally.fail("gcovr")
            return
        print(f"coverage: {m[1]} % of the lines in src/ ({m[2]}); "
              "build/coverage/report.html", flush=True)

    def merge_counters(self, folder):
        """Adds what pods counted to what the unit tests counted."""
        merged = os.path.join(ROOT, "build", "coverage-merged")
        for counted in sorted(glob.glob(COUNTERS + "/*")):
            shutil.rmtree(merged, ignore_errors=True)
            step = run(["gcov-tool", "merge", folder, counted, "-o", merged],
                       5 * MINUTE, None, "gcov-tool", show=False)
            if not step.ok:
                print(step.output)
                self.tally.fail("gcov-tool")
                return
            shutil.copytree(merged, folder, dirs_exist_ok=True)

    def everything(self):
        if self.options.coverage:
            self.coverage()
            return
        unit = not self.options.names or any(
            "unit" in name for name in self.options.names)
        if not self.options.names and not self.options.quick:
            if not no_pods_because():
                self.begin_newer_root()
            # Tests on pods mostly wait; builds fill the gaps.
            self.builds.begin("release")
            self.podnet()
            if self.builds.need("release"):
                self.builds.begin(SANITIZED)
        elif not self.options.quick:
            self.podnet()
        if not self.options.quick:
            self.papers()
            self.interop()
            self.gpu()
            if not self.options.names and not self.options.long:
                self.begin_verbs()
            self.cluster()
            self.conformance()
            self.kubernetes()
            self.machine()
            self.bare()
        if unit and self.builds.need(SANITIZED):
            self.meson_tests(SANITIZED, "unit")
        if not self.options.quick:
            self.fuzz()


def parse(argv):
    parser = argparse.ArgumentParser(
        prog="scripts/test", description="Builds muster and runs its tests.")
    parser.add_argument("names", nargs="*", help="only what has one of these in"
                        " its name: unit, unit_job, fuzz_frame, clang, podnet,"
                        " interop, cluster, test_…, conformance,"
                        " kubernetes, kubernetes_e2e, vm, bare, images, documents, structure,"
                        " contracts, commands, examples")
    parser.add_argument("--quick", action="store_true", help="unit tests only")
    parser.add_argument("--long", action="store_true", help="also soaks, floods"
                        " and fuzzing (MUSTER_FUZZ_SECONDS per target, 300)")
    parser.add_argument("--kubeconfig", metavar="FILE", help="run the tests on"
                        " Kubernetes on a cluster of your own")
    parser.add_argument("--coverage", action="store_true", help="unit and"
                        " cluster tests (--quick: unit tests) in a build that"
                        " counts lines; prints the percentage for src/")
    return parser.parse_args(argv)


def main(argv):
    # In the background, or under nohup, these are ignored, and would be by all
    # that is tested.
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    options = parse(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    runner = Runner(options)
    tally = runner.tally
    start = time.monotonic()
    try:
        runner.everything()
    except KeyboardInterrupt:
        tally.fail("interrupted")
    finally:
        runner.builds.stop()
        for child in (runner.newer, runner.verbs):
            if child is not None:
                child.stop()
    if not (tally.passed or tally.failed or tally.skips):
        print(f"no test is called {' or '.join(options.names)}")
        tally.fail("selection")
    print("== times")
    for name, seconds in tally.times:
        print(f"{seconds:7.1f} s  {name}")
    print(f"{time.monotonic() - start:7.1f} s  altogether")
    for name in tally.failures:
        print(f"failed: {name}")
    if tally.skips:
        print(f"{len(tally.skips)} skipped")
    print(f"{tally.passed} passed, {tally.failed} failed", flush=True)
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
