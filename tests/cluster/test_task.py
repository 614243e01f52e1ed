# SPDX-License-Identifier: Apache-2.0
"""`muster task`: one rank that somebody else starts."""
import os
import signal
import subprocess
import sys
import time

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


def test_a_reader_that_stalls_does_not_keep_it():
    """Less than a pipe holds, and as records more: the program ends, while its
    last lines cannot be written. Then the verdict neither."""
    program = "yes | head -c 30000; exit 5"
    for err in (subprocess.PIPE, subprocess.STDOUT):
        task = subprocess.Popen([*TASK, "--", "sh", "-c", program],
                                stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=err)
        try:
            equal(task.wait(60), 5, "exit code")
        finally:
            task.kill()
            task.communicate()


def test_a_slow_reader_gets_everything():
    program = "seq 1 20000; exit 5"
    task = subprocess.Popen([*TASK, "--log-format", "plain", "--", "sh", "-c",
                             program], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    seen = b""
    while piece := os.read(task.stdout.fileno(), 8000):
        seen += piece
        time.sleep(0.6)  # in all more than what a stalled one is given
    equal(seen.count(b"\n"), 20000, "lines")
    equal(task.wait(60), 5, "exit code")


def test_a_long_line_loses_nothing():
    """In pieces, but every byte; a program may begin like a UTF-16 file."""
    program = "sys.stdout.buffer.write(bytes([255, 254]) + b'x' * 3000000)"
    done = subprocess.run([*TASK, "--log-format", "plain", "--",
                           sys.executable, "-c", "import sys; " + program],
                          stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=60)
    equal(done.returncode, 0, "exit code", done.stderr)
    equal(done.stdout.count(b"x"), 3000000, "bytes", done.stderr)


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


def test_an_ignored_sigchld_does_not_hide_the_end():
    task = subprocess.run(
        [*TASK, "--", "sh", "-c", "exit 3"], stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=60,
        preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    equal(task.returncode, 3, "exit code", task.stderr)


def test_as_pid_1_it_reaps_orphans():
    zombies = ('(sleep 0.2 &); sleep 0.7; '
               'grep -l "^State:.Z" /proc/[0-9]*/status; true')
    done = run("unshare", "--pid", "--fork", "--mount-proc", *TASK,
               "--log-format", "plain", "--", "sh", "-c", zombies)
    equal(done.returncode, 0, "exit code", done.stderr)
    equal(done.stdout, "", "zombies", done.stderr)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
