# SPDX-License-Identifier: Apache-2.0
"""Kubernetes objects as the user wrote them: documents of a YAML file, quantities, $(VAR) references.

Does: load_manifest(path) -> Manifest with documents found by kind and name.
Refuses: a file without exactly one job; fields whose meaning podnet would have to invent (ManifestError).
"""
import re

import yaml


JOBS = ("MPIJob", "TrainJob", "Job", "JobSet", "LeaderWorkerSet")


class ManifestError(ValueError):
    pass


_UNITS = {"": 1, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


def quantity(text):
    m = re.fullmatch(r"([0-9.]+)([a-zA-Z]*)", str(text))
    if not m or m[2] not in _UNITS:
        raise ManifestError(f"not a quantity: {text!r}")
    return float(m[1]) * _UNITS[m[2]]


def expand(text, env):
    """Kubernetes' $(VAR): an unknown name stays as written, $$ escapes."""
    def one(m):
        return "$" + m[0][2:] if m[0].startswith("$$") else env.get(m[1], m[0])
    return re.sub(r"\$\$\([^)]*\)|\$\(([^)]*)\)", one, str(text))


class Manifest:
    def __init__(self, documents):
        self.documents = [d for d in documents if d]

    def find(self, *kinds, name=None):
        for d in self.documents:
            if d.get("kind") in kinds and (name is None or d["metadata"]["name"] == name):
                return d
        return None

    @property
    def job(self):
        jobs = [d for d in self.documents if d.get("kind") in JOBS]
        if len(jobs) != 1:
            raise ManifestError(f"one of {', '.join(JOBS)} expected, the file has {len(jobs)}")
        return jobs[0]


def load_manifest(path):
    with open(path) as f:
        return Manifest(list(yaml.safe_load_all(f)))
