# SPDX-License-Identifier: Apache-2.0
"""Signals to a launcher at a shell, on emulated nodes."""
import json
import os
import pty
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import time

from harness import PREFIX, check, contains, equal, main, program

MUSTER = os.path.join(PREFIX, "bin", "muster")
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1",
               "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def start(*words, before=None):
    return subprocess.Popen(
        [MUSTER, "launch", "--local", "1x2", "--log-format", "text", *words],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, preexec_fn=before,
        env={**os.environ, **ENVIRONMENT})


def ready(process, ranks):
    for _ in range(ranks):
        contains(process.stdout.readline(), "] ready", "stdout")


def test_what_nohup_ignores_stays_ignored():
    for how, code in ((signal.SIG_IGN, 0), (signal.SIG_DFL, 129)):
        run = start("--bootstrap", "pmix", "-n", "1", "--", "sh", "-c",
                    "echo ready; sleep 2",
                    before=lambda how=how: signal.signal(signal.SIGHUP, how))
        ready(run, 1)
        run.send_signal(signal.SIGHUP)
        _, err = run.communicate(timeout=60)
        equal(run.returncode, code, "exit code", err)


def test_quit_stops_a_job_as_others_do():
    for words in (["--bootstrap", "pmix", "-n", "2", "--"],
                  ["--", "mpirun", "-np", "2"]):
        run = start(*words, program("signals"))
        ready(run, 2)
        run.send_signal(signal.SIGQUIT)
        _, err = run.communicate(timeout=60)
        equal(run.returncode, 131, "exit code", err)
        contains(err, "stopped by hand (SIGQUIT)", "stderr")


def test_a_wait_for_the_hostfile_ends_as_a_job_does():
    with tempfile.NamedTemporaryFile() as empty, \
            tempfile.NamedTemporaryFile() as report:
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            run = subprocess.Popen(
                [MUSTER, "launch", "--hostfile", empty.name, "--report-json",
                 report.name, "--", "true"],
                stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            time.sleep(0.5)
            run.send_signal(number)
            _, err = run.communicate(timeout=60)
            equal(run.returncode, code, "exit code", err)
            contains(err, number.name + " came", "stderr")
            with open(report.name, encoding="utf-8") as file:
                equal(json.load(file)["exit_code"], code, "code in the report")


def test_a_signal_of_the_user_comes_once():
    """mpirun passes on what it gets itself."""
    for words in (["--bootstrap", "pmix", "-n", "2", "--"],
                  ["--", "mpirun", "-np", "2"]):
        run = start(*words, program("signals"))
        ready(run, 2)
        run.send_signal(signal.SIGUSR1)
        time.sleep(1)  # for a second one
        run.send_signal(signal.SIGTERM)
        out, err = run.communicate(timeout=60)
        equal(run.returncode, 143, "exit code", err)
        for rank in (0, 1):
            lines = [line for line in out.splitlines()
                     if line.startswith(f"[{rank}|") and " USR1 " in line]
            equal(len(lines), 1, f"USR1 at rank {rank}", out, err)
        check("[mpirun]" not in out, "mpirun got it, too", out)


def test_mpirun_leaves_ranks_their_grace():
    """Open MPI's kills what is left a second after it was told to end, or
    after one rank has ended."""
    save = ("trap 'sleep $((1 + 2 * RANK)); echo saved; exit 1' TERM; "
            "echo ready; while :; do sleep 0.1; done")
    for words in ([], ["--timeout", "4s"]):
        run = start("--grace", "8s", *words, "--", "mpirun", "-np", "2", "sh",
                    "-c", save)
        ready(run, 2)
        if not words:
            run.send_signal(signal.SIGTERM)
        began = time.monotonic()
        out, err = run.communicate(timeout=60)
        equal(run.returncode, 124 if words else 143, "exit code", err)
        for rank in (0, 1):
            check(any(line.startswith(f"[{rank}|") and "saved" in line
                      for line in out.splitlines()),
                  f"rank {rank} was killed as it saved", out, err)
        check(time.monotonic() - began < 4 + 7, "the whole grace went by", err)


def test_a_killed_agent_leaves_no_folder():
    with tempfile.TemporaryDirectory() as scratch:
        run = subprocess.run(
            [MUSTER, "launch", "--local", "1x1", "--bootstrap", "pmix", "--",
             "sh", "-c", "kill -9 $PPID; sleep 60"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=60, env={**os.environ, "TMPDIR": scratch})
        contains(run.stdout + run.stderr, "verdict", "output")
        left = [name for name in os.listdir(scratch)
                if not name.startswith("muster-job-")]
        equal(left, [], "what is left", run.stderr)


def at_a_terminal(*words):
    """A shell with job control at a terminal of its own, the launcher in its
    foreground; the shell's pid and the terminal."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(ENVIRONMENT)
        line = shlex.join([MUSTER, "launch", "--local", "1x2", "--log-format",
                           "text", *words])
        os.execv("/bin/bash", ["bash", "-m", "-c", f'{line}; echo "code $?"'])
    return pid, terminal


def read_until(terminal, text):
    seen = b""
    while text.encode() not in seen:
        if not select.select([terminal], [], [], 60)[0]:
            raise AssertionError(f"no {text!r} in {seen!r}")
        try:
            seen += os.read(terminal, 4096)
        except OSError:  # the other end is closed
            break
    return seen.decode(errors="replace")


def test_ctrl_z_does_not_stop_a_launcher():
    """One that stood still would lose its workers."""
    wait = "echo ready; sleep 3; echo over"
    for words in (["--bootstrap", "pmix", "-n", "2", "--", "sh", "-c", wait],
                  ["--", "mpirun", "-np", "2", "sh", "-c", wait]):
        pid, terminal = at_a_terminal(*words)
        seen = read_until(terminal, "ready")
        os.write(terminal, b"\x1a")
        seen += read_until(terminal, "code ")
        contains(seen, "Ctrl-Z does not stop", "terminal")
        check(seen.count("over") >= 1, "the job was stopped", seen)
        contains(seen + read_until(terminal, "\n"), "code 0", "terminal")
        os.close(terminal)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
