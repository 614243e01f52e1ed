# SPDX-License-Identifier: Apache-2.0
"""The documents against the tree: links lead somewhere, and every test that
docs/requirements.md names exists. Sources against .clang-format, where there
is the version that it was written for. Prints "N passed, N failed"."""
import glob
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__))))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def dead_links(path):
    """Links to files of the repository that are not there."""
    for target in re.findall(r"\]\(([^)\s]+)\)", read(path)):
        if re.match(r"[a-z]+:", target) or target.startswith("#"):
            continue
        name = os.path.join(os.path.dirname(path), target.split("#")[0])
        if not os.path.exists(name):
            yield f"link to {target}"
            continue
        wanted = target.partition("#")[2]
        heads = [re.sub(r"[^\w -]", "", line.lstrip("#").strip()).lower()
                 .replace(" ", "-") for line in read(name).splitlines()
                 if line.startswith("#")] if name.endswith(".md") else []
        if wanted and wanted not in heads:
            yield f"link to {target}: no such heading"


def missing_tests(path):
    """Paths in backquotes below known folders, with test names behind ':'."""
    known = r"`((?:tests|src|bench|scripts|images)/[\w./-]+)(?::(\w+))?`"
    for name, test in re.findall(known, read(path)):
        full = os.path.join(ROOT, name)
        if not os.path.exists(full):
            yield f"no {name}"
        elif test and f"def {test}(" not in read(full):
            yield f"no {test} in {name}"


def not_formatted(_):
    """Other versions of clang-format break lines elsewhere."""
    program = shutil.which("clang-format-14") or "clang-format"
    try:
        version = subprocess.run([program, "--version"], check=True, text=True,
                                 capture_output=True).stdout
    except OSError:
        return
    if "version 14." not in version:
        return
    files = [os.path.join(folder, name) for top in ("src", "tests", "bench")
             for folder, _, names in os.walk(os.path.join(ROOT, top))
             for name in names if name.endswith((".cc", ".h", ".c"))]
    said = subprocess.run([program, "--dry-run", *files], check=True,
                          text=True, capture_output=True).stderr
    for name in sorted(set(re.findall(r"^(.+?):\d+:\d+: warning", said,
                                      re.MULTILINE))):
        yield f"clang-format would change {os.path.relpath(name, ROOT)}"


def main():
    checks = [(p, dead_links) for p in sorted(
        glob.glob(os.path.join(ROOT, "*.md"))
        + glob.glob(os.path.join(ROOT, "docs", "*.md")))]
    checks += [(os.path.join(ROOT, "docs", name), missing_tests)
               for name in ("requirements.md", "comparison.md")]
    checks += [(os.path.join(ROOT, ".clang-format"), not_formatted)]
    failed = 0
    for path, check in checks:
        wrong = list(check(path))
        failed += bool(wrong)
        for text in wrong:
            print(f"{os.path.relpath(path, ROOT)}: {text}")
    print(f"{len(checks) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
