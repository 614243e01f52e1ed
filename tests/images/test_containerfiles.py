# SPDX-License-Identifier: Apache-2.0
"""Lints images/*/Containerfile without building: instructions, stages, the
shell of every RUN line (sh -n, and shellcheck where there is one), what COPY
names, and what both images promise. Prints "N passed, N failed".
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__))))
KNOWN = {"ARG", "FROM", "RUN", "COPY", "ENV", "LABEL", "USER", "WORKDIR",
         "EXPOSE", "ENTRYPOINT"}


def need(condition, text):
    if not condition:
        raise AssertionError(text)


def instructions(path):
    """(word, rest) with continuation lines joined, comments left out."""
    with open(path, encoding="utf-8") as file:
        lines = [line for line in file.read().splitlines()
                 if not line.lstrip().startswith("#")]
    text = re.sub(r"\\\n", "\\\\\n", "\n".join(lines))
    found, part = [], ""
    for line in text.split("\n"):
        part += line + "\n"
        if line.endswith("\\"):
            continue
        if part.strip():
            word, _, rest = part.strip().partition(" ")
            found.append((word, rest.strip()))
        part = ""
    return found


def check_words(found):
    for word, _ in found:
        need(word in KNOWN, f"unexpected instruction {word}")


def check_stages(found):
    known, arguments = set(), set()
    for word, rest in found:
        if word == "ARG":
            arguments.add(rest.split("=")[0])
        elif word == "FROM":
            base, _, name = rest.partition(" AS ")
            need(name, f"FROM {base} has no name")
            variable = re.fullmatch(r"\$\{(\w+)\}", base)
            need(base == "scratch" or base in known
                 or (variable and variable[1] in arguments),
                 f"FROM {base}: not a stage, not an argument")
            known.add(name)
        elif word == "COPY" and "--from=" in rest:
            source = re.search(r"--from=(\S+)", rest)[1]
            need(source in known, f"COPY --from={source}: no such stage")
    need({"builder", "kit", "runtime", "openmpi"} <= known, f"stages {known}")


def check_copies(found):
    for word, rest in found:
        if word != "COPY" or "--from=" in rest:
            continue
        for source in rest.split()[:-1]:
            need(os.path.exists(os.path.join(ROOT, source)),
                 f"COPY {source}: no such file")


def check_shell(found):
    for word, rest in found:
        if word != "RUN":
            continue
        script = "#!/bin/sh\n" + rest + "\n"
        done = subprocess.run(["sh", "-n"], input=script, text=True,
                              capture_output=True, timeout=10)
        need(done.returncode == 0, f"{rest}\n{done.stderr}")
        if shutil.which("shellcheck"):
            # SC2046: -jN is one word or none. SC1091: a file of the image.
            done = subprocess.run(
                ["shellcheck", "--exclude", "SC2046,SC1091,SC2154", "-"],
                input=script, text=True, capture_output=True, timeout=30)
            need(done.returncode == 0, f"{rest}\n{done.stdout}")


def check_promises(found):
    last = [rest for word, rest in found if word == "ENTRYPOINT"]
    need([json.loads(r) for r in last] == [["muster", "entry"]], "ENTRYPOINT")
    users = [rest for word, rest in found if word == "USER"]
    need(users[-1] == "1000:0", "the image ends as user 1000, group 0")
    text = "\n".join(f"{w} {r}" for w, r in found)
    for part in ("/usr/sbin/sshd", "PATH=/opt/muster/dropin/bin:",
                 "licenses-and-sbom", "org.opencontainers.image.licenses"):
        need(part in text, f"nothing about {part}")
    need("openssh" not in text, "OpenSSH is not wanted")


def main():
    passed = failed = 0
    for path in sorted(glob.glob(os.path.join(ROOT, "images/*/Containerfile"))):
        found = instructions(path)
        for check in (check_words, check_stages, check_copies, check_shell,
                      check_promises):
            try:
                check(found)
                passed += 1
            except AssertionError as error:
                failed += 1
                print(f"{os.path.relpath(path, ROOT)}: {check.__name__}: "
                      f"{error}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
