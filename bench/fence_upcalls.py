#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Milliseconds from the last fence upcall that any agent gets from libpmix to
the last release that any agent gives back: what muster itself adds to a fence.

    bench/fence_upcalls.py [--nodes 64] [--count 3] [--fences 10] [--rest 0]

Two uprobes of the kernel on the agent's binary, while launch.py runs its fence
program; nothing in the agent is changed for it. All pods are on one machine,
so that one clock stamps all. The first fence of a launch, which meets ranks
still starting, is left out. Needs root, uprobes, and a prefix that is not
stripped (build/prefix or MUSTER_PREFIX).
"""
import argparse
import os
import re
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
PREFIX = os.environ.get("MUSTER_PREFIX",
                        os.path.join(os.path.dirname(HERE), "build", "prefix"))
AGENT = os.path.realpath(os.path.join(PREFIX, "libexec/muster/muster-agent"))
TRACING = "/sys/kernel/tracing"
UPCALL = re.compile(r" T muster::pmix_fence\(")
# What calls libpmix back once the data of all has come.
RELEASE = re.compile(r" t std::_Function_handler<void \(tl::expected<.*"
                     r"muster::pmix_fence\(.*::_M_invoke\([^[]*$")
EVENT = re.compile(r"-(\d+)\s+\[\d+\]\s+\S+\s+([\d.]+): (upcall|release):")


def file_offset(address):
    """Of an address, by the program headers."""
    text = subprocess.run(["readelf", "-lW", AGENT], capture_output=True,
                          text=True, check=True).stdout
    for line in text.splitlines():
        words = line.split()
        if words and words[0] == "LOAD":
            offset, start, _, size = (int(w, 16) for w in words[1:5])
            if start <= address < start + size:
                return address - start + offset
    raise SystemExit(f"{AGENT}: no segment holds {address:#x}")


def symbol(pattern):
    text = subprocess.run(["nm", "-C", AGENT], capture_output=True, text=True,
                          check=True).stdout
    found = [line for line in text.splitlines() if pattern.search(line)]
    if len(found) != 1:
        raise SystemExit(f"{AGENT}: {len(found)} symbols fit "
                         f"{pattern.pattern}; is it stripped?")
    return file_offset(int(found[0].split()[0], 16))


def tell(name, text):
    """Python's append mode seeks, which these files refuse."""
    file = os.open(os.path.join(TRACING, name), os.O_WRONLY | os.O_APPEND)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)


def traced(command):
    """Runs it; [(thread, seconds, event)] of what the probes saw."""
    if not os.path.exists(f"{TRACING}/uprobe_events"):
        subprocess.run(["mount", "-t", "tracefs", "tracefs", TRACING],
                       check=True)
    upcall, release = symbol(UPCALL), symbol(RELEASE)
    tell("uprobe_events", f"p:muster/upcall {AGENT}:{upcall:#x}\n")
    tell("uprobe_events", f"p:muster/release {AGENT}:{release:#x}\n")
    try:
        tell("trace_clock", "mono")
        with open(f"{TRACING}/trace", "w", encoding="ascii"):
            pass  # empties it
        tell("events/muster/enable", "1")
        subprocess.run(command, check=True)
        tell("events/muster/enable", "0")
        with open(f"{TRACING}/trace", encoding="utf-8") as file:
            return [(int(m[1]), float(m[2]), m[3])
                    for m in map(EVENT.search, file) if m]
    finally:
        tell("events/muster/enable", "0")
        tell("uprobe_events", "-:muster/upcall\n")
        tell("uprobe_events", "-:muster/release\n")


def by_launch(events, kind, nodes):
    """[[times of one agent]] for each launch, oldest first: each agent has a
    thread of its own for either event, and launches follow one another."""
    threads = {}
    for thread, seconds, event in events:
        if event == kind:
            threads.setdefault(thread, []).append(seconds)
    agents = sorted(threads.values(), key=lambda times: times[0])
    return [agents[i:i + nodes] for i in range(0, len(agents), nodes)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nodes", type=int, default=64)
    parser.add_argument("--count", type=int, default=3)
    parser.add_argument("--fences", type=int, default=10, help="of a launch")
    parser.add_argument("--rest", type=int, default=0,
                        help="milliseconds between fences")
    options = parser.parse_args()
    events = traced([sys.executable, "-B", os.path.join(HERE, "launch.py"),
                     "--shapes", f"{options.nodes}x1", "--what", "fence",
                     "--ways", "muster native", "--count", str(options.count),
                     "--fences", str(options.fences),
                     "--rest", str(options.rest)])
    took = []
    for asked, given in zip(by_launch(events, "upcall", options.nodes),
                            by_launch(events, "release", options.nodes)):
        fences = {len(times) for times in asked + given}
        if len(asked) != options.nodes or len(fences) != 1:
            print(f"a launch without all its events: {fences}", flush=True)
            continue
        took += [1000 * (max(t[i] for t in given) - max(t[i] for t in asked))
                 for i in range(1, fences.pop())]
    if not took:
        raise SystemExit("no fence was seen by both probes on all agents")
    print(f"{options.nodes} pods, {len(took)} fences: ms from the last upcall "
          f"to the last release: median {statistics.median(took):.1f}, best "
          f"{min(took):.1f}, worst {max(took):.1f}")


if __name__ == "__main__":
    main()
