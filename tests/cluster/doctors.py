# SPDX-License-Identifier: Apache-2.0
"""What the tests of `muster doctor` share: its report, and directories that
are laid into pods."""
import json
import os
import shutil
import tempfile

from harness import check, equal


def doctor(pod, *words, code=None, env=None):
    done = pod.exec(["muster", "doctor", "-o", "json", *words], timeout=120,
                    env=env)
    check(done.returncode in (0, 101), f"exit code {done.returncode}",
          done.stdout, done.stderr)
    report = json.loads(done.stdout)
    if code is not None:
        equal(done.returncode, code, "exit code", done.stdout, done.stderr)
    return report


def found(report, code):
    """The one finding of this code, which must say what to add."""
    all_ = [f for f in report["findings"] if f["code"] == code]
    equal(len(all_), 1, f"findings {code}", json.dumps(report, indent=1))
    check(all_[0]["yaml"], f"{code} has no YAML", all_)
    check(all_[0]["evidence"], f"{code} has no evidence", all_)
    return all_[0]


def absent(report, code):
    check(code not in [f["code"] for f in report["findings"]],
          f"{code} was found", json.dumps(report, indent=1))


def pods_of(one):
    """Short names of the pods that a finding of --job is about."""
    return sorted(h.split(".")[0] for h in one["hosts"])


class Folders:
    """Directories that all users may read, gone afterwards."""

    def __enter__(self):
        self.made = []
        return self

    def new(self, mode=0o755):
        path = tempfile.mkdtemp(prefix="muster-doctor-")
        os.chmod(path, mode)
        self.made.append(path)
        return path

    def __exit__(self, *_):
        for path in self.made:
            shutil.rmtree(path, ignore_errors=True)


def bind(path, folder, name=None, readonly=False):
    """An edit of pod specs: `folder` at `path`, in one pod or in all."""
    def edit(specs):
        for spec in specs:
            if name is None or spec["name"] == name:
                spec["binds"] = [b for b in spec["binds"] if b[1] != path]
                spec["binds"].append([folder, path, readonly])
    return edit


def both(*edits):
    def edit(specs):
        for one in edits:
            one(specs)
    return edit
