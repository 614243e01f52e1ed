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


def start(*words, before=None, scratch=None):
    return subprocess.Popen(
        [MUSTER, "launch", "--local", "1x2", "--log-format", "text", *words],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, preexec_fn=before,
        env={**os.environ, **ENVIRONMENT,
             **({"TMPDIR": scratch} if scratch else {})})


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
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP,
                       signal.SIGQUIT):
            code = 128 + number
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


def test_the_wait_for_a_hostfile_survives_signals_for_ranks():
    with tempfile.NamedTemporaryFile() as empty:
        run = subprocess.Popen(
            [MUSTER, "launch", "--hostfile", empty.name, "--", "true"],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(0.5)
        for name in FORWARDED:
            run.send_signal(number_of(name))
        run.send_signal(signal.SIGTERM)
        _, err = run.communicate(timeout=60)
        equal(run.returncode, 143, "exit code", err)
        contains(err, "SIGALRM came, and no rank runs that could get it",
                 "stderr")


def as_pid_1(words, call):
    """Starts it as the first process of a namespace; its pid out here once it
    is in the system call with that number (of x86-64)."""
    run = subprocess.Popen(
        ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "sh",
         "-c", 'echo ready; exec "$@"', "sh", MUSTER, *words],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True)
    contains(run.stdout.readline(), "ready", "stdout")
    with open(f"/proc/{run.pid}/task/{run.pid}/children",
              encoding="ascii") as file:
        init = int(file.read().split()[0])
    deadline = time.monotonic() + 30
    while True:
        with open(f"/proc/{init}/comm", encoding="ascii") as comm, \
                open(f"/proc/{init}/syscall", encoding="ascii") as now:
            if comm.read() == "muster\n" and now.read().startswith(call):
                return run, init
        check(time.monotonic() < deadline, f"never waits: {words}")
        time.sleep(0.05)


def ends_at_once(words, call, name, sentence):
    run, init = as_pid_1(words, call)
    began = time.monotonic()
    os.kill(init, number_of(name))
    code = run.wait(timeout=60)
    check(time.monotonic() - began < 5, "it went on waiting", name)
    _, err = run.communicate(timeout=60)
    equal(code, 128 + number_of(name), "exit code", name, err)
    contains(err, sentence.format("SIG" + name), "stderr")


def test_a_check_as_pid_1_ends_with_any_signal():
    """The kernel drops what pid 1 leaves at its default."""
    with tempfile.NamedTemporaryFile() as empty:
        for name in ("TERM", "INT", "HUP", "QUIT", "USR1", "ALRM", "PROF"):
            ends_at_once(["fabric", "check", "--connect-timeout", "60s",
                          "--hostfile", empty.name], "128 ", name,
                         "hostfile: {} ")


def test_commands_that_wait_as_pid_1_end():
    for name in ("TERM", "INT", "HUP", "QUIT"):
        ends_at_once(["explain-log", "-"], "0 ", name, "muster: {} came")


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


FORWARDED = ["USR1", "USR2", "ALRM", "VTALRM", "PROF", "ABRT", "XCPU", "XFSZ",
             "IO", "PWR", "STKFLT", "URG", "CONT"]


def number_of(name):
    return (signal.SIGRTMIN + 3 if name == "RTMIN+3"
            else getattr(signal, "SIG" + name, 16))  # Python has no STKFLT


def test_signals_without_a_meaning_go_to_the_ranks():
    names = FORWARDED + ["RTMIN+3"]
    for words in (["--bootstrap", "pmix", "-n", "2", "--"],
                  ["--", "mpirun", "-np", "2"]):
        with tempfile.TemporaryDirectory() as scratch:
            report = os.path.join(scratch, "report")
            run = start("--report-json", report, *words, program("signals"))
            ready(run, 2)
            got = []
            for name in names:
                run.send_signal(number_of(name))
                # Both, before the next one comes.
                for _ in range(2):
                    got.append(run.stdout.readline())
            run.send_signal(signal.SIGTERM)
            out, err = run.communicate(timeout=60)
            equal(run.returncode, 143, "exit code", err)
            for rank in (0, 1):
                mine = [line.split("] ", 1)[1].split()[0] for line in got
                        if line.startswith(f"[{rank}|")]
                equal([{"POLL": "IO"}.get(name, name) for name in mine],
                      names, f"rank {rank}", out, err)
            with open(report, encoding="utf-8") as file:
                equal(json.load(file)["exit_code"], 143, "code in the report")


def test_a_signal_that_ends_the_ranks_has_a_verdict():
    """None ends the launcher itself, which cleans up."""
    for words in (["--bootstrap", "pmix", "-n", "2", "--"],
                  ["--", "mpirun", "-np", "2"]):
        for name in ("ALRM", "PROF", "ABRT"):
            number = number_of(name)
            with tempfile.TemporaryDirectory() as scratch:
                message = os.path.join(scratch, "message")
                with open(message, "wb"):  # as the kubelet has it
                    pass
                run = start("--termination-log", message, *words, "sh", "-c",
                            "ulimit -c 0; echo ready; exec sleep 60",
                            scratch=scratch)
                ready(run, 2)
                time.sleep(0.2)  # for the shell to become sleep
                run.send_signal(number)
                _, err = run.communicate(timeout=60)
                equal(run.returncode, 128 + number, "exit code", name, err)
                contains(err, f"SIG{name} came and goes to all ranks", "stderr")
                contains(err, f"the launcher got SIG{name}", "stderr")
                with open(message, encoding="utf-8") as file:
                    contains(file.read(), "SIG" + name, "termination message")
                left = [one for one in os.listdir(scratch)
                        if one.startswith("muster-")]
                equal(left, [], "what is left", err)


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
