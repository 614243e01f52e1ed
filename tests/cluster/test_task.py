# SPDX-License-Identifier: Apache-2.0
"""`muster task`: one rank that somebody else starts."""
import os
import signal
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


def test_what_nohup_ignores_stays_ignored():
    """And what it does not ignore reaches the program."""
    for before, code in ((signal.SIG_IGN, 3), (signal.SIG_DFL, 129)):
        task = subprocess.Popen(
            [*TASK, "--", "sh", "-c", "echo up; sleep 1; exit 3"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda how=before: signal.signal(signal.SIGHUP, how))
        contains(task.stdout.readline(), "up", "stdout")
        task.send_signal(signal.SIGHUP)
        _, err = task.communicate(timeout=60)
        equal(task.returncode, code, "exit code", err)


def test_as_pid_1_it_reaps_orphans():
    zombies = ('(sleep 0.2 &); sleep 0.7; '
               'grep -l "^State:.Z" /proc/[0-9]*/status; true')
    done = run("unshare", "--pid", "--fork", "--mount-proc", *TASK,
               "--log-format", "plain", "--", "sh", "-c", zombies)
    equal(done.returncode, 0, "exit code", done.stderr)
    equal(done.stdout, "", "zombies", done.stderr)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
