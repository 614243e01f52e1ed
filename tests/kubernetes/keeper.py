# SPDX-License-Identifier: Apache-2.0
"""Keeps one node, and removes all of it when the node or its owner ends.

The owner (cluster.py) holds the other end of standard input. The keeper has a
session of its own, so that a SIGKILL for the owner and its group leaves it to
do its work: the end of input makes it end the node, whose process 1 takes all
else along, and remove the control groups and the data. A keeper that is killed
itself takes the node along as well (PR_SET_PDEATHSIG); control groups and data
are then removed by the next start.

Prints one line of JSON when the node is up or cannot be: {"pid": PID} of the
node's process 1, or {"problem": SENTENCE}.
"""
import json
import os
import select
import shutil
import signal
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import authority  # noqa: E402
import control_groups  # noqa: E402
import plan  # noqa: E402
import settings  # noqa: E402
from podnet import linux  # noqa: E402


def prepare(folders, cgroup):
    shutil.rmtree(folders.run, ignore_errors=True)
    for path in (folders.log, folders.etcd, folders.containerd,
                 folders.var_lib, folders.settings, folders.pod_log,
                 folders.kubelet, folders.volumes):
        os.makedirs(path)
    authority.make(folders)
    settings.write(folders, cgroup)
    for stale in control_groups.stale():
        control_groups.remove(stale, 1)
    control_groups.make(cgroup)


def start_node(folders, cgroup):
    """Process id, and the pipes to its input and from its output."""
    input_end, input_ours = os.pipe()
    output_ours, output_end = os.pipe()
    linux.unshare(linux.CLONE_NEWPID)
    pid = os.fork()
    if pid == 0:
        linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
        os.dup2(input_end, 0)
        os.dup2(output_end, 1)
        with open(os.path.join(folders.log, "node.log"), "wb") as log:
            os.dup2(log.fileno(), 2)
        os.closerange(3, 256)
        linux.unshare(linux.CLONE_NEWNS | linux.CLONE_NEWNET
                      | linux.CLONE_NEWUTS)
        linux.mount(None, "/", None, linux.MS_REC | linux.MS_PRIVATE)
        os.execv(sys.executable, [
            sys.executable, "-B", os.path.join(HERE, "node.py"), folders.run,
            cgroup])
    os.close(input_end)
    os.close(output_end)
    return pid, input_ours, output_ours


def last_words(folders):
    with open(os.path.join(folders.log, "node.log"), errors="replace") as f:
        lines = f.read().strip().splitlines()
    return lines[-1] if lines else "the node ended without a word"


def say(**words):
    try:
        print(json.dumps(words), flush=True)
    except BrokenPipeError:
        pass  # The owner is gone; the end of input says so, too.


def remove(folders, cgroup, keep_logs):
    control_groups.remove(cgroup)
    if keep_logs:
        shutil.rmtree(keep_logs, ignore_errors=True)
        shutil.copytree(folders.log, keep_logs)
    shutil.rmtree(folders.run, ignore_errors=True)


def main(run, keep_logs):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    folders = plan.Folders(run)
    cgroup = control_groups.PREFIX + str(os.getpid())
    prepare(folders, cgroup)
    pid, to_node, from_node = start_node(folders, cgroup)
    node_up, told = False, False
    while True:
        ready, _, _ = select.select([0, from_node], [], [])
        if 0 in ready and not os.read(0, 4096):
            break
        if from_node in ready:
            if not os.read(from_node, 4096):
                break
            node_up = told = True
            say(pid=pid, cgroup=cgroup)
    os.close(to_node)
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    os.waitpid(pid, 0)
    problem = last_words(folders)
    remove(folders, cgroup, keep_logs)
    if not told:
        say(problem=problem)
    return node_up


if __name__ == "__main__":
    sys.exit(0 if main(*sys.argv[1:]) else 1)
