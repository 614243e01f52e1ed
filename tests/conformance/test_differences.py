#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same line by an MPI alone and by muster in its place, in pods of their
own, and everything that people can tell apart.

    test_differences.py [--long] [--mpi NAME]... [--line PATTERN]...
                        [--mode NAME]... [--json FILE]

A line is given to the MPI alone over OpenSSH in pods (`plain`) and on one
machine, and to muster: under mpirun's name (`drop-in`), as `muster launch
--bootstrap pmix -- mpirun …` (`native`), and as `muster launch --local`. It
fails for each difference that differences.tsv does not have, and for each row
there that has become stale. Without --long: the short lines.
"""
import argparse
import fnmatch
import json
import os
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import mpis  # noqa: E402  (it adds the folders of what follows)
from compare import differences  # noqa: E402
from harness import ROOT, Skip, cluster  # noqa: E402
from lines import LINES, named  # noqa: E402
from listed import Known  # noqa: E402
from sides import Side  # noqa: E402
from test_rank_env import pods_env  # noqa: E402

SECTION = "## Intended differences"
REFERENCE = {"drop-in": "plain", "native": "plain", "auto": "plain",
             "local": "here"}


def shown(value):
    text = repr(value)
    return text if len(text) < 300 else text[:200] + " … " + text[-90:]


def tail(text, count=900):
    return text.decode(errors="replace")[-count:]


class Run:
    def __init__(self, options):
        self.options = options
        self.known = Known()
        self.passed, self.failed, self.skipped, self.defects = 0, 0, 0, 0
        self.seen = []   # every difference, for --json
        self.table = {}  # MPI: [runs, as plain or intended, defects]

    def chosen(self, name, mpi):
        own = self.options
        return [line for line in LINES if named(line, name, mpi)
                and (own.long or own.line
                     or line.short > (name not in mpis.DEBIAN))
                and (not own.line or any(
                    fnmatch.fnmatchcase(line.name, p) for p in own.line))]

    def mpi(self, name):
        mpi = mpis.MPIS[name]()
        lines = self.chosen(name, mpi)
        if not lines:
            return
        with cluster(f"conf-{name}-1") as c1, cluster(f"conf-{name}-2") as c2:
            plain, muster = Side(mpi, c1, False), Side(mpi, c2, True)
            try:
                pods = {pod.hostname: pods_env(pod)
                        for pod in muster.job.pods}
                for line in lines:
                    self.line(name, line, plain, muster, pods)
            finally:
                plain.close()
                muster.close()

    def line(self, name, line, plain, muster, pods):
        seen = {}
        for mode in line.modes:
            if self.options.mode and mode not in self.options.mode:
                continue
            began = time.monotonic()
            reference = REFERENCE[mode]
            if reference not in seen:
                seen[reference] = plain.run(line, reference)
            if seen[reference].code is None:
                self.skipped += 1
                print(f"{name} {mode}: {line.name}: skipped: the MPI alone "
                      "is not over", flush=True)
                continue
            ours = muster.run(line, mode)
            self.known.begin(mode, name, line.name)
            self.judge(mode, name, line, seen[reference], ours,
                       pods if mode != "local" else {},
                       time.monotonic() - began)

    def judge(self, mode, name, line, plain, ours, pods, seconds):
        found = {}  # by field: the first rank's stands for all
        for field, rank, one, two in differences(plain, ours, pods):
            found.setdefault(field, []).append((rank, one, two))
        odd, defects = [], []
        for field, ranks in found.items():
            rank, one, two = ranks[0]
            kind = self.known.kind(mode, name, line.name, field)
            more = f" and {len(ranks) - 1} more" if len(ranks) > 1 else ""
            text = (f"{field}{f' of rank {rank}{more}' if rank != '' else ''}: "
                    f"plain {shown(one)}, muster {shown(two)}")
            self.seen.append([name, mode, line.name, field, kind, text])
            if kind is None:
                odd.append(text)
            elif kind == "defect":
                defects.append(text)
        row = self.table.setdefault(name, [0, 0, 0])
        row[0] += 1
        row[2] += bool(defects)
        self.defects += bool(defects)
        self.failed += bool(odd)
        self.passed += not odd
        row[1] += not odd and not defects
        word = "FAILED" if odd else "defect" if defects else "ok"
        print(f"{name} {mode}: {line.name}: {word} ({seconds:.1f} s)",
              flush=True)
        for text in defects:
            print("      known defect: " + text)
        for text in odd:
            print("      " + text)
        if odd:
            print(f"      plain: {shown(plain.words)}\n{tail(plain.err)}")
            print(f"      muster: {shown(ours.words)}\n{tail(ours.err)}",
                  flush=True)

    def everything(self):
        for name in self.options.mpi or mpis.MPIS:
            try:
                self.mpi(name)
            except Skip as reason:
                self.skipped += 1
                print(f"{name}: skipped: {reason}", flush=True)
        self.check_stale()
        self.check_page()
        if self.options.json:
            with open(self.options.json, "w", encoding="utf-8") as f:
                json.dump(self.seen, f, indent=1)
        for name, (runs, same, defects) in self.table.items():
            print(f"{name}: {runs} comparisons, {same} as plain or intended, "
                  f"{defects} with a known defect")
        skips = f", {self.skipped} skipped" if self.skipped else ""
        print(f"{self.passed} passed, {self.failed} failed{skips}", flush=True)
        return 1 if self.failed else 0

    def check_stale(self):
        scope = set()
        for name in mpis.MPIS:
            try:
                mpi = mpis.MPIS[name]()
            except Skip:
                continue
            scope |= {(mode, name, line.name) for line in LINES
                      if named(line, name, mpi) for mode in line.modes}
        for row in self.known.stale(scope):
            self.failed += 1
            print(f"FAILED: a stale row of differences.tsv, which was met "
                  f"nowhere: {row.fields} ({row.modes}, {row.mpis}, "
                  f"{row.lines}): {row.reason}")

    def check_page(self):
        """docs/conformance.md tells people each intended difference."""
        with open(os.path.join(ROOT, "docs", "conformance.md"),
                  encoding="utf-8") as f:
            page = f.read().split(SECTION, 1)[-1].split("\n## ")[0]
        for row in self.known.rows:
            if row.kind == "intended" and row.reason not in page:
                self.failed += 1
                print(f"FAILED: docs/conformance.md, {SECTION!r}, lacks: "
                      f"{row.reason}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--mpi", action="append", choices=list(mpis.MPIS))
    parser.add_argument("--line", action="append")
    parser.add_argument("--mode", action="append", choices=list(REFERENCE))
    parser.add_argument("--json", metavar="FILE",
                        help="every difference, intended ones too")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    return Run(parser.parse_args()).everything()


if __name__ == "__main__":
    sys.exit(main())
