#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests on a real Kubernetes: run.py [options] [test ...]

With no option it builds what is not in the cache, starts a node of its own,
installs mpi-operator, loads the images and runs test_*.py here, then those that
need two nodes on two. Tests that need more programs are skipped where those are
not built. README.md says what it
needs. The last line is N passed, N failed[, N skipped].
"""
import argparse
import dataclasses
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import controllers
import images
import machine
import plan
import programs
import suite
from cluster import Cluster
from problems import Problem
from versions import CLUSTER, MORE, SUITE, TRAINERS

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
OUT = os.path.join(ROOT, "build", "kubernetes")
CAPTURES = os.path.join(OUT, "captures")
# Two nodes, with NetworkPolicies enforced; the second one is a small one.
TWO = plan.Shape(nodes=2, memory=1536 << 20, policies=True)
SHAPES = {"test_two_nodes": TWO, "test_policies": TWO, "test_low_memory": TWO}
# Images that a file of tests needs beyond those of Open MPI.
KINDS = {"test_trainjob": ["mpich"], "test_examples": ["mpich", "intel"],
         "test_mpis": ["openmpi5", "mpich", "intel"]}
# Controllers with which a file of tests does more, where they are built.
MAY_USE = {"test_examples": ["trainer"], "test_codes": ["trainer"]}


def parse(argv):
    parser = argparse.ArgumentParser(prog="tests/kubernetes/run.py")
    parser.add_argument("names", nargs="*",
                        help="only these, as test_mpijob")
    parser.add_argument("--kubeconfig", help="a cluster of your own, that has"
                        " mpi-operator, instead of a node made here")
    parser.add_argument("--image", default=os.environ.get(
        "MUSTER_OPENMPI_IMAGE", "muster.test/openmpi:1"),
                        help="with --kubeconfig: an image with Open MPI,"
                        " muster and the programs that README.md names")
    parser.add_argument("--prefix", default=os.environ.get(
        "MUSTER_PREFIX", os.path.join(ROOT, "build", "prefix")),
        help="the install tree of muster (default: $MUSTER_PREFIX)")
    parser.add_argument("--build-minutes", type=float, default=60,
                        help="for what is not in the cache (default: 60)")
    parser.add_argument("--minutes", type=float,
                        help="for all the rest (default: 30; --suite: 40)")
    parser.add_argument("--build", action="store_true", help="build Trainer,"
                        " JobSet and Kueue, too, for the tests that need them")
    parser.add_argument("--trainer", choices=TRAINERS,
                        default=next(iter(TRAINERS)), help="Kubeflow Trainer's"
                        " release (default: %(default)s)")
    parser.add_argument("--services", type=int, default=300, help="in the"
                        " namespace of test_services (default: 300)")
    parser.add_argument("--suite", action="store_true", help="mpi-operator's"
                        " own end-to-end suite instead of our tests")
    parser.add_argument("--with-openssh", action="store_true",
                        help="with --suite: images with OpenSSH, to compare")
    parser.add_argument("--ready", action="store_true", help="run nothing;"
                        " say what is missing, if anything is")
    parser.add_argument("--up", action="store_true", help="run no test; keep"
                        " the nodes until the end of input: two where the"
                        " first of the tests named needs two")
    options = parser.parse_args(argv)
    options.minutes = options.minutes or (40 if options.suite else 30)
    return options


def on_own_node(options, counts):
    """Adds to `counts`, so that what was counted before a limit stays."""
    if lacking := machine.lacking():
        raise Problem(lacking)
    need_muster(options)
    programs.ensure(needed(options), 60 * options.build_minutes)
    kinds = kinds_of(options)
    for kind in kinds:
        images.debian(kind)
    limit_rest(options)
    folder = os.path.join(OUT, "images")
    archives = images.make(folder, options.prefix, kinds)
    shutil.rmtree(CAPTURES, ignore_errors=True)
    for shape, files in by_shape(options):
        able = [file for file in files if not lacks(options, file)]
        if files and not able:
            for file in files:
                skip(options, file, counts)
            continue
        more = [name for name in installed(options, able)
                if name in controllers.BY_COMPONENT]
        on_cluster(options, counts, shape, files, more, archives + [
            controllers.archive(folder, name) for name in more])


def by_shape(options):
    """Each kind of cluster that is needed, and the tests that run on it."""
    if options.suite or (options.up and not options.names):
        return [(plan.Shape(), [])]
    files = {}
    for name in chosen(options):
        files.setdefault(SHAPES.get(name, plan.Shape()), []).append(name)
    found = sorted(files.items(), key=lambda item: item[0].nodes)
    return found[:1] if options.up else found


def on_cluster(options, counts, shape, files, more, archives):
    start = time.monotonic()
    node = Cluster(OUT, **dataclasses.asdict(shape))
    with node:
        print(f"node ready in {time.monotonic() - start:.1f} s", flush=True)
        for archive in archives:
            node.load(archive)
        # The operators stay with the control plane.
        others = [name for name in node.pids if name != plan.FIRST.name]
        for name in others:
            node.kubectl("cordon", name)
        node.kubectl("apply", "--server-side", "-k", os.path.join(
            programs.path("manifests", "mpi-operator"), "overlays",
            "standalone"))
        node.kubectl("--namespace", "mpi-operator", "wait", "--timeout=90s",
                     "--for=condition=Available", "deployment/mpi-operator",
                     limit=120)
        controllers.install(node, os.path.join(OUT, "manifests"), more)
        for name in others:
            node.kubectl("uncordon", name)
        print("operators ready in "
              f"{time.monotonic() - start:.1f} s", flush=True)
        if options.up:
            keep(node)
            return
        if options.suite:
            suite.run(node.enter(), suite.images_of(options.with_openssh),
                      options.names, os.path.join(OUT, "suite"), counts)
        else:
            run_tests(options, node.kubectl_argv(), files, counts, node)
        rest = signal.alarm(0)
        print(f"most memory at once: {(node.peak_memory() or 0) >> 20} MiB")
        left = node.stop()
    for trace in left:
        print("left behind: " + trace)
        counts[1] += 1
    signal.alarm(rest)


def need_muster(options):
    """For images, or to make keys and read logs with."""
    if not os.path.exists(os.path.join(options.prefix, "bin", "muster")):
        raise Problem(f"no muster is installed in {options.prefix}; build it, "
                      "or name its install tree in MUSTER_PREFIX")


def needed(options):
    """Components without which nothing runs."""
    if options.suite:
        return SUITE
    if options.build:
        files = chosen(options)
        return (*CLUSTER, *wanted(options, files),
                *wanted(options, files, MAY_USE))
    return CLUSTER


def chosen(options):
    """The files of tests that are to run."""
    names = [os.path.basename(path).removesuffix(".py") for path in sorted(
        glob.glob(os.path.join(HERE, "test_*.py")))]
    return [name for name in names if not options.names
            or any(part in name for part in options.names)]


def wanted(options, files, needs=MORE):
    """The components that these files of tests need beyond CLUSTER."""
    names = []
    for file in files:
        for name in needs.get(file, ()):
            names += TRAINERS[options.trainer] if name == "trainer" else [name]
    return list(dict.fromkeys(names))


def installed(options, files):
    """The components beyond CLUSTER that these files of tests have."""
    more = [name for name in wanted(options, files, MAY_USE)
            if not programs.missing([name])]
    return list(dict.fromkeys([*wanted(options, files), *more]))


def lacks(options, file):
    return programs.missing(wanted(options, [file]))


def runnable(options):
    if options.suite:
        return []
    return [file for file in chosen(options) if not lacks(options, file)]


def kinds_of(options):
    if options.suite:
        return list(suite.KINDS[options.with_openssh].values())
    more = [kind for file in runnable(options) for kind in KINDS.get(file, ())]
    return list(dict.fromkeys(["openmpi", "openmpi-ssh", *more]))


def ready(options):
    """Says in one sentence why a node could not start now, if so."""
    why = machine.lacking()
    if names := programs.missing(needed(options)):
        why = why or f"not built yet: {', '.join(names)}"
    if why:
        print(why)
    return 1 if why else 0


def keep(node):
    signal.alarm(0)
    print("kubectl: " + " ".join(node.kubectl_argv()))
    print("run.py from another shell: " + " ".join(
        [*node.enter()[:2], "--net", os.path.abspath(__file__),
         "--kubeconfig=" + node.folders.kubeconfig("admin")]), flush=True)
    sys.stdin.read()


def limit_rest(options):
    def over(*_):
        raise Problem(f"not over after {options.minutes:g} minutes")
    signal.signal(signal.SIGALRM, over)
    signal.alarm(int(60 * options.minutes))


def on_given(options, counts):
    need_muster(options)
    limit_rest(options)
    programs.ensure(["mpi-operator"], 60 * options.build_minutes)
    shutil.rmtree(CAPTURES, ignore_errors=True)
    run_tests(options, [
        shutil.which("kubectl") or programs.path("kubectl"),
        "--kubeconfig=" + os.path.abspath(options.kubeconfig)],
              chosen(options), counts)


def run_tests(options, kubectl, files, counts, own=None):
    """`own` is the cluster where it is ours."""
    env = {**os.environ, "MUSTER_KUBECTL": json.dumps(kubectl),
           "MUSTER_OPENMPI_IMAGE": options.image,
           "MUSTER_OPENSSH_IMAGE": images.name("openmpi-ssh") if own else "",
           "MUSTER_EXAMPLE_IMAGES": json.dumps(example_images(options, own)),
           "MUSTER_OWN_NODE": "1" if own else "0",
           "MUSTER_TRAINER": options.trainer,
           "MUSTER_NODE_POWER": own.folders.power if own else "",
           "MUSTER_SERVICES": str(options.services),
           "MUSTER_CAPTURES": CAPTURES,
           "MUSTER": os.path.join(options.prefix, "bin", "muster"),
           "MUSTER_OPERATOR_PI": programs.path("examples/v2beta1/pi/pi.yaml")}
    for name in files:
        if own and lacks(options, name):
            skip(options, name, counts)
            continue
        print(f"-- {name}", flush=True)
        path = os.path.join(HERE, name + ".py")
        for i, count in enumerate(one(path, env)):
            counts[i] += count


def skip(options, name, counts):
    print(f"-- {name}\nskip  all of {name}: not built: "
          f"{', '.join(lacks(options, name))} "
          f"(tests/kubernetes/run.py --build {name})", flush=True)
    counts[2] += 1


def example_images(options, own):
    """What stands for an image that the examples name."""
    mpis = {mpi: images.name("example-" + mpi)
            for mpi in kinds_of(options) if mpi in images.MPIS} if own else {
                "openmpi": options.image}
    # The one example for TensorFlow does without.
    mpis["tensorflow"] = mpis["openmpi"]
    return {"muster-" + name: image for name, image in mpis.items()}


def one(path, env):
    """Passes its output on; passed, failed, skipped."""
    child = subprocess.Popen([sys.executable, "-B", path], env=env, text=True,
                             stdout=subprocess.PIPE)
    line = ""
    with child:
        try:
            for line in child.stdout:
                print(line, end="", flush=True)
        except BaseException:
            child.terminate()
            raise
    m = re.fullmatch(r"(\d+) passed, (\d+) failed(?:, (\d+) skipped)?\s*",
                     line)
    if not m or (child.returncode != 0 and m[2] == "0"):
        return 0, 1, 0
    return int(m[1]), int(m[2]), int(m[3] or 0)


def main(argv):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    options = parse(argv)
    if options.ready:
        return ready(options)
    counts = [0, 0, 0]  # passed, failed, skipped
    try:
        if options.kubeconfig:
            on_given(options, counts)
        else:
            on_own_node(options, counts)
    except Problem as e:
        print(f"kubernetes: {e}")
        counts[1] += 1
    print(f"{counts[0]} passed, {counts[1]} failed"
          + (f", {counts[2]} skipped" if counts[2] else ""), flush=True)
    return 1 if counts[1] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
