# SPDX-License-Identifier: Apache-2.0
"""Keeps the nodes of a cluster, and removes all of them when one of them or
their owner ends.

The owner (cluster.py) holds the other end of standard input. The keeper has a
session of its own, so that a SIGKILL for the owner and its group leaves it to
do its work: the end of input makes it end the nodes, whose processes 1 take all
else along, and remove the control groups and the data. A keeper that is killed
itself takes the nodes along as well (PR_SET_PDEATHSIG); control groups and data
are then removed by the next start.

Prints one line of JSON when all nodes are up or cannot be: {"pids": {NODE:
PID}, "cgroup": NAME} with the nodes' processes 1, or {"problem": SENTENCE}.

The pipe Folders.power takes lines: "cut NODE" ends a node as a power cut does,
without a word to anybody, and "start NODE" starts it again with its disk as it
was. The first node, which has the control plane, cannot be cut.
"""
import json
import os
import select
import shutil
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import authority  # noqa: E402
import control_groups  # noqa: E402
import plan  # noqa: E402
import settings  # noqa: E402
from podnet import linux  # noqa: E402


class Keeper:
    def __init__(self, folders, shape):
        self.folders, self.shape = folders, shape
        self.cgroup = control_groups.PREFIX + str(os.getpid())
        self.nodes = shape.all_nodes()
        self.running = {}  # by name
        self.told = False

    def prepare(self):
        folders = self.folders
        shutil.rmtree(folders.run, ignore_errors=True)
        for path in (folders.etcd, *(path for node in self.nodes
                                     for path in folders.of(node).all())):
            os.makedirs(path)
        os.mkfifo(folders.power)
        authority.make(folders, self.nodes)
        settings.write(folders, self.nodes)
        for stale in control_groups.stale():
            control_groups.remove(stale, 1)
        control_groups.make(self.cgroup)

    def start(self, node):
        group = os.path.join(self.cgroup, node.name)
        control_groups.remove(group)  # what a power cut has left
        control_groups.make_node(group)
        first = self.running.get(plan.FIRST.name)
        self.running[node.name] = Running(self.folders, self.shape, node,
                                          group, first)

    def cut(self, node):
        """Its packets end first: a process that ends says goodbye."""
        first = self.running[plan.FIRST.name]
        subprocess.run(["nsenter", f"--net=/proc/{first.pid}/ns/net", "ip",
                        "link", "delete", node.name], check=True)
        self.running.pop(node.name).end()

    def switch(self, line):
        verb, _, name = line.partition(" ")
        node = next((n for n in self.nodes[1:] if n.name == name), None)
        if node and verb == "cut" and name in self.running:
            self.cut(node)
        elif node and verb == "start" and name not in self.running:
            self.start(node)

    def work(self):
        """Until the owner or a node ends; the sentence that says why."""
        self.start(self.nodes[0])
        power = os.open(self.folders.power, os.O_RDWR)
        while True:
            outputs = {r.output: r for r in self.running.values()}
            ready, _, _ = select.select([0, power, *outputs], [], [])
            if 0 in ready and not os.read(0, 4096):
                return ""
            if power in ready:
                for line in os.read(power, 4096).decode().splitlines():
                    self.switch(line)
                continue
            for output in set(ready) & set(outputs):
                if not os.read(output, 4096):
                    return last_words(outputs[output].log)
                self.is_up(outputs[output])

    def is_up(self, node):
        node.up = True
        if self.told:
            return
        if len(self.running) == 1:
            for other in self.nodes[1:]:
                self.start(other)
        if all(r.up for r in self.running.values()):
            self.told = True
            say(pids={name: r.pid for name, r in self.running.items()},
                cgroup=self.cgroup)

    def end(self):
        for node in self.running.values():
            node.end()


class Running:
    """One node's process 1, and the pipes to its input and from its output."""

    def __init__(self, folders, shape, node, group, first):
        self.up = False
        self.log = os.path.join(folders.of(node).log, "node.log")
        input_end, self.input = os.pipe()
        self.output, output_end = os.pipe()
        # The network of the first node, which the others join.
        network = os.open(f"/proc/{first.pid if first else 'self'}/ns/net",
                          os.O_RDONLY)
        own = os.open("/proc/self/ns/pid", os.O_RDONLY)
        linux.unshare(linux.CLONE_NEWPID)
        self.pid = os.fork()
        if self.pid == 0:
            linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
            with open(self.log, "ab") as log:
                os.dup2(log.fileno(), 2)
            os.dup2(input_end, 0)
            os.dup2(output_end, 1)
            os.dup2(network, 3)
            os.closerange(4, 256)
            linux.unshare(linux.CLONE_NEWNS | linux.CLONE_NEWNET
                          | linux.CLONE_NEWUTS)
            linux.mount(None, "/", None, linux.MS_REC | linux.MS_PRIVATE)
            os.execv(sys.executable, [
                sys.executable, "-B", os.path.join(HERE, "node.py"),
                folders.run, shape.text(), str(node.number), group])
        linux.setns(own, linux.CLONE_NEWPID)
        for fd in (input_end, output_end, network, own):
            os.close(fd)

    def end(self):
        os.close(self.input)
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.waitpid(self.pid, 0)
        os.close(self.output)


def last_words(log):
    with open(log, errors="replace") as f:
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


def main(run, keep_logs, shape):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    folders = plan.Folders(run)
    keeper = Keeper(folders, plan.Shape.of(shape))
    keeper.prepare()
    problem = keeper.work()
    keeper.end()
    remove(folders, keeper.cgroup, keep_logs)
    if not keeper.told:
        say(problem=problem or "its owner ended")
    return keeper.told


if __name__ == "__main__":
    sys.exit(0 if main(*sys.argv[1:]) else 1)
