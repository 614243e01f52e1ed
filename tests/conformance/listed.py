# SPDX-License-Identifier: Apache-2.0
"""The differences that are known: differences.tsv, and for the environment of
ranks under mpirun the table of docs/conformance.md.

A row: `intended`, `defect` or `defect?`, which occurs at times only; modes, MPIs and lines where it occurs, and the
fields, each a list of patterns with `;`; the reason. A row that is met nowhere
in its whole scope is stale, but for `defect?`.
"""
import fnmatch
import os
from dataclasses import dataclass

from test_rank_env import intended

HERE = os.path.dirname(os.path.realpath(__file__))
KINDS = ("intended", "defect", "defect?")


@dataclass
class Row:
    kind: str
    modes: str
    mpis: str
    lines: str
    fields: str
    reason: str
    met: int = 0
    asked: int = 0

    def covers(self, mode, mpi, line):
        return (matches(mode, self.modes) and matches(mpi, self.mpis)
                and matches(line, self.lines))


def matches(text, patterns):
    return any(fnmatch.fnmatchcase(text, p) for p in patterns.split(";"))


def rows():
    found = []
    with open(os.path.join(HERE, "differences.tsv"), encoding="utf-8") as f:
        for text in f:
            if text.startswith("#") or not text.strip():
                continue
            cells = [cell.strip() for cell in text.rstrip("\n").split("\t")]
            if len(cells) != 6 or cells[0] not in KINDS or not cells[5]:
                raise ValueError(f"differences.tsv: not a row: {text!r}")
            found.append(Row(*cells))
    return found


class Known:
    def __init__(self):
        self.rows = rows()
        self.environment = intended()

    def begin(self, mode, mpi, line):
        for row in self.rows:
            row.asked += row.covers(mode, mpi, line)

    def kind(self, mode, mpi, line, field):
        """"intended", "defect" or None of one difference."""
        where = {"drop-in": "pods", "local": "one machine"}.get(mode)
        if field.startswith("env:") and where:
            _, name, how = field.split(":", 2)
            if any(fnmatch.fnmatchcase(name, pattern) and how == listed
                   and place in (where, "both")
                   for pattern, place, listed in self.environment):
                return "intended"
        kinds = set()
        for row in self.rows:
            if row.covers(mode, mpi, line) and matches(field, row.fields):
                row.met += 1
                kinds.add(row.kind.rstrip("?"))
        return next((k for k in ("defect", "intended") if k in kinds), None)

    def stale(self, scope):
        """Rows that were met nowhere, of those whose whole scope ran. scope:
        {(mode, MPI, line)} of everything that there is."""
        return [row for row in self.rows if not row.met
                and row.kind != "defect?" and row.asked
                == sum(row.covers(*one) for one in scope) > 0]
