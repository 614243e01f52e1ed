#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""ssh-audit against a checked-in list: every finding is expected, with a
reason, and every expectation is found.

    test_ssh_audit.py [--muster PATH]
"""
import json
import pathlib
import shutil
import subprocess

import bed

EXPECTED = pathlib.Path(__file__).with_name("ssh_audit_expected.json")


def findings(port):
    """{"kex/ecdh-sha2-nistp256": "fail", …} of the text report, worst level each."""
    out = subprocess.run(["ssh-audit", "-n", "-l", "warn", "-p", str(port), "127.0.0.1"], capture_output=True,
                         text=True, timeout=60).stdout
    found = {}
    for line in out.splitlines():
        if not line.startswith("(") or " -- " not in line:
            continue
        name, note = line.split(" -- ", 1)
        section, algorithm = name.strip("(").split(") ", 1)
        algorithm = algorithm.split()[0]
        if "[fail]" in note:
            found[f"{section}/{algorithm}"] = "fail"
        elif "[warn]" in note:
            found.setdefault(f"{section}/{algorithm}", "warn")
    return found, out


def main():
    args = bed.arguments(__doc__)
    tally = bed.Tally()
    if not shutil.which("ssh-audit"):
        tally.skip("ssh-audit", "not installed (Debian: ssh-audit)")
        tally.finish()
    expected = json.loads(EXPECTED.read_text())
    for kind, options in (("ecdsa-p521", []), ("ed25519", []), ("ecdsa-p256", ["--fips"])):
        name = kind + (" --fips" if options else "")
        with bed.Scratch() as scratch:
            keys = bed.make_keys(args.muster, scratch / "keys", kind)
            with bed.Worker(args.muster, keys, *options) as worker:
                found, out = findings(worker.port)
        wanted = {key: value["level"] for key, value in expected.items() if name in value["with"]}
        tally.check("(kex)" in out or found, f"{name}: ssh-audit understands the server", out[-500:])
        tally.check(found == wanted, f"{name}: {len(wanted)} findings, all expected",
                    f"new {sorted(set(found.items()) - set(wanted.items()))} gone {sorted(set(wanted.items()) - set(found.items()))}")
    tally.check(all(value["reason"] for value in expected.values()), "every expectation has a reason")
    tally.finish()


main()
