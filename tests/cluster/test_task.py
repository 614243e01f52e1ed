# SPDX-License-Identifier: Apache-2.0
"""`muster task`: one rank that somebody else starts."""
import os
import subprocess
import sys

from harness import PREFIX, contains, equal, main

TASK = [os.path.join(PREFIX, "bin", "muster"), "task"]


def run(*words):
    return subprocess.run([*words], stdin=subprocess.DEVNULL, text=True,
                          capture_output=True, timeout=60)


def test_lines_and_codes_are_the_programs():
    done = run(*TASK, "--", "sh", "-c", "echo one; echo two >&2; exit 7")
    equal(done.returncode, 7, "exit code", done.stderr)
    for line in ("one", "two"):
        contains(done.stdout, "] " + line + "\n", "stdout")
    done = run(*TASK, "--", "sh", "-c", "kill -TERM $$")
    equal(done.returncode, 143, "exit code", done.stderr)


def test_as_pid_1_it_reaps_orphans():
    zombies = ('(sleep 0.2 &); sleep 0.7; '
               'grep -l "^State:.Z" /proc/[0-9]*/status; true')
    done = run("unshare", "--pid", "--fork", "--mount-proc", *TASK,
               "--log-format", "plain", "--", "sh", "-c", zombies)
    equal(done.returncode, 0, "exit code", done.stderr)
    equal(done.stdout, "", "zombies", done.stderr)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
