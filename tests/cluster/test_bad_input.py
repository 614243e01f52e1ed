# SPDX-License-Identifier: Apache-2.0
"""Bad input: one clear sentence that names the place, the right exit code,
at once, and nothing is started."""
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile

from harness import (PREFIX, apply, check, cluster, contains, equal, launch,
                     main, nothing_left, sentences_only)


def hostfile(job, text, name="/tmp/hosts"):
    job.launcher.exec(["sh", "-c", f"cat > {name}"], input=text, check=True)
    return name


# hostfile text, exit code, what the sentence must hold
HOSTFILES = [
    ("pi-worker-0.pi.default.svc slots=two\n", 100, "/tmp/hosts:1"),
    ("a slots=1\n\x01\x02\x7f\xfe garbage = = 3\n", 100, "/tmp/hosts:2"),
    ("pi-worker-0.pi.default.svc slots=0\n", 100, "slots"),
    ("pi-worker-0.pi.default.svc slots=-3\n", 100, "slots"),
    ("pi-worker-0.pi.default.svc slots=99999999999999\n", 100, "slots"),
    ("pi-worker-0.pi.default.svc slots=1\n"
     "pi-worker-0.pi.default.svc slots=2\n", 100, "pi-worker-0"),
    ("".join(f"w-{i}\n" for i in range(65536)), 100, "at most 65535"),
]

# options, exit code, part of the sentence
LINES = [
    (["--nonsense", "--", "true"], 2, "--nonsense"),
    (["--grcae", "3s", "--", "true"], 2, "--grace"),
    (["-n", "0", "--", "true"], 2, ""),
    (["-n", "many", "--", "true"], 2, "many"),
    (["--timeout", "yesterday", "--", "true"], 2, "yesterday"),
    (["--heartbeat", "5s", "--silence", "6s", "--", "true"], 2, "--silence"),
    (["--local", "2by4", "--", "true"], 2, "2by4"),
    (["--transport", "pigeon", "--", "true"], 2, "pigeon"),
    (["--map-by", "core", "--", "true"], 2, "--map-by"),
    (["--wdir", "/no/such", "--", "true"], 126, "cannot enter the working"),
    (["--map-by", "ppr:0:node", "--", "true"], 2, "N from 1"),
    (["--", "mpirun", "--map-by", "ppr:0:node", "true"], 2, "ppr:0:node"),
    (["--", "mpirun", "--nonsense", "-np", "1", "true"], 2, "--nonsense"),
    (["-x", "=value", "--", "true"], 2, "no name"),
    ([], 2, "no program"),
    (["--report", "-", "--", "true"], 2, "--report"),
    (["-n", "7", "--", "true"], 100, "slots"),
    (["-n", "2", "--", "/no/such/program"], 127, "/no/such/program"),
    (["-n", "2", "--", "/etc/passwd"], 126, "/etc/passwd"),
    (["--hostfile", "/no/such/hostfile", "--", "true"], 100,
     "/no/such/hostfile"),
    (["-H", "pi-wroker-0", "--connect-timeout", "1s", "--", "true"], 200,
     "did you mean pi-worker-0.pi.default.svc?"),
    (["-H", "localhost:1,pi-launcher:1", "--", "true"], 100,
     "two names of this pod"),
    (["--log-dir", "/proc/nowhere", "--", "true"], 100, "/proc/nowhere"),
]


def one_sentence(run, code, part):
    equal(run.code, code, "exit code", run.out, run.err)
    contains(run.err, part, "stderr")
    sentences_only(run)
    lines = [line for line in run.err.splitlines() if line.strip()]
    check(len(lines) <= 20, "not a clear message", run.err)


def test_a_start_without_descriptors_is_a_sentence():
    """Wherever the limit strikes."""
    told = {}
    for name in ("bin/muster", "libexec/muster/muster-agent"):
        path = os.path.join(PREFIX, name)
        for limit in range(3, 9):
            run = subprocess.run(
                [path, "worker" if name.endswith("muster") else "agent"],
                stdin=subprocess.DEVNULL, capture_output=True, text=True,
                timeout=60, env={**os.environ, "MUSTER_KEY_DIR": "/none"},
                preexec_fn=lambda n=limit: resource.setrlimit(
                    resource.RLIMIT_NOFILE, (n, n)))
            check("terminate called" not in run.stderr, f"{name}, {limit}",
                  run.stderr)
            check(run.returncode > 0, f"{name}, {limit}: {run.returncode}",
                  run.stderr)
            if "cannot go on" in run.stderr:
                equal(run.returncode, 209, f"exit code, {limit}", run.stderr)
                told[name] = told.get(name, 0) + 1
    equal(len(told), 2, "programs that said it", told)


def test_output_that_cannot_be_written():
    muster = os.path.join(PREFIX, "bin/muster")
    for words in (["version"], ["help"], ["launch", "--help"], ["explain"],
                  ["completion", "bash"], ["explain", "102"]):
        with open("/dev/full", "wb") as full:
            run = subprocess.run([muster, *words], stdout=full, text=True,
                                 stderr=subprocess.PIPE, timeout=60,
                                 check=False)
        equal(run.returncode, 1, f"exit code of {words}", run.stderr)
        contains(run.stderr, "cannot write the output", f"stderr of {words}")
        equal(len(run.stderr.splitlines()), 1, "lines", run.stderr)
    for what in (">&-", "| head -n 1"):
        run = subprocess.run(["bash", "-c", f"set -o pipefail; {muster} help "
                              + what], capture_output=True, text=True,
                             timeout=60, check=False)
        equal(run.returncode != 0, what == ">&-", f"failure of {what}",
              run.stderr)


def test_bad_hostfiles_and_options():
    with cluster("bad-input") as c:
        job = apply(c, workers=2)
        for text, code, part in HOSTFILES:
            run = launch(job, "--hostfile", hostfile(job, text), "--", "true")
            try:
                one_sentence(run, code, part)
            except AssertionError as error:
                raise AssertionError(f"hostfile {text!r}: {error}") from None
        for words, code, part in LINES:
            bootstrap = [] if not words or code == 2 else ["--bootstrap",
                                                           "pmix"]
            run = launch(job, *bootstrap, *words)
            try:
                one_sentence(run, code, part)
            except AssertionError as error:
                raise AssertionError(f"{words}: {error}") from None
        nothing_left(job)


def early_end(folder, *words, env=None):
    """A launch that ends before it has any worker: its run and its report."""
    report = os.path.join(folder, "report.json")
    message = os.path.join(folder, "message")
    open(message, "w").close()
    run = subprocess.run(
        [os.path.join(PREFIX, "bin/muster"), "launch", "--report-json", report,
         "--termination-log", message, *words], capture_output=True, text=True,
        timeout=60, check=False, env={**os.environ, **(env or {})})
    with open(message, encoding="utf-8") as file:
        told = file.read()
    check(os.path.exists(report), "no report", run.stderr)
    with open(report, encoding="utf-8") as file:
        found = json.load(file)
    os.unlink(report)
    equal(found["exit_code"], run.returncode, "exit code told", run.stderr)
    equal(found["workers"], [], "workers")
    for text in (run.stderr, told):
        contains(text, found["verdict"]["summary"], "stderr and message")
    check(len(run.stderr.splitlines()) <= 12, "too long", run.stderr)
    return run, found


def test_the_end_of_a_launch_without_workers_is_reported():
    with tempfile.TemporaryDirectory() as folder:
        empty = os.path.join(folder, "hosts")
        open(empty, "w").close()
        for words, code, kind, part in (
                (["--hostfile", "/no/such/hostfile", "--", "true"], 100,
                 "configuration", "/no/such/hostfile"),
                (["--hostfile", empty, "--connect-timeout", "1s", "--",
                  "true"], 200, "workers_not_ready", "hostfile is still empty"),
                (["-H", "a,b", "--key-dir", folder, "--", "true"], 100,
                 "configuration", "private SSH key"),
                (["--", "mpirun", "-np", "many", "true"], 2, "usage",
                 "is not a number of ranks"),
                (["--", "mpirun", "-np", "1", "true"], 127, "not_found",
                 "cannot run mpirun")):
            run, report = early_end(folder, *words, env={"PATH": "/none"})
            equal(run.returncode, code, f"exit code of {words}", run.stderr)
            equal(report["class"], kind, f"class of {words}", run.stderr)
            equal(report["verdict"]["retryable"], code == 200, "retryable")
            contains(run.stderr, part, f"stderr of {words}")
            check(report["verdict"]["remedies"], "no remedy", run.stderr)


def test_no_room_for_the_files_of_mpirun():
    """The hostfile of many nodes is larger than all that was written before."""
    def little_room():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (400, 400))
    run = subprocess.run(
        [os.path.join(PREFIX, "bin/muster"), "launch", "--local", "32x1",
         "--log-format", "text", "--bootstrap", "mpirun", "--", "true"],
        capture_output=True, text=True, timeout=120, check=False,
        preexec_fn=little_room)
    equal(run.returncode, 101, "exit code", run.stderr)
    contains(run.stderr, "hostfile", "stderr")
    contains(run.stderr, "before any rank was started", "stderr")


def test_more_ranks_than_slots_under_mpirun():
    with cluster("too-many") as c:
        job = apply(c, workers=2)
        run = launch(job, "--", "mpirun", "-np", "5", "true")
        one_sentence(run, 100, "slots")
        run = launch(job, "--bootstrap", "pmix", "--oversubscribe", "-n", "5",
                     "--", "true")
        equal(run.code, 0, "exit code", run.err)
        equal(len(run.report["ranks"]), 5, "ranks", run.err)


def test_evidence_that_would_be_lost_is_told_before_the_job():
    with cluster("lost-evidence") as c:
        job = apply(c, workers=1)
        for option, place in (("--report", "/tmp"), ("--report-json", "/tmp"),
                              ("--report", "/no/such/report.html"),
                              ("--bundle", "/proc/nowhere")):
            run = launch(job, option, place, "--bootstrap", "pmix", "--",
                         "echo", "runs")
            equal(run.code, 0, "exit code", run.err)
            lost = run.err.find("will be lost")
            check(0 <= lost < run.err.find("starting"), f"{option} {place}",
                  run.err)


def test_program_missing_on_one_host():
    def edit(specs):
        for spec in specs:
            if spec["role"] == "worker" and spec["index"] == 0:
                spec["layer"]["/opt/app"] = {"data": "#!/bin/sh\necho yes\n",
                                             "mode": "755"}
    with cluster("missing") as c:
        job = apply(c, workers=2, edit=edit)
        for bootstrap in ("pmix", "mpirun"):
            run = launch(job, "-n", "2", "--bootstrap", bootstrap, "--",
                         "/opt/app")
            one_sentence(run, 127, "program")
            # Under mpirun the host and the path are in mpirun's own lines.
            contains(run.err + run.out, "pi-worker-1")
            contains(run.err + run.out, "/opt/app")
            nothing_left(job)


def test_a_pod_without_room_for_threads():
    with cluster("no-room") as c:
        job = apply(c, workers=1)
        done = job.launcher.exec(["bash", "-c", "ulimit -u 1; exec muster "
                                  "launch --local 1x1 -- true"])
        equal(done.returncode, 209, "exit code", done.stderr)
        contains(done.stderr, "ulimit -u", "stderr")
        equal(len(done.stderr.splitlines()), 1, "lines", done.stderr)


def test_few_descriptors_by_default():
    """A soft limit is raised: every rank's file is there."""
    with cluster("descriptors") as c:
        job = apply(c, workers=1)
        done = job.launcher.exec(["bash", "-c", "ulimit -Sn 48; exec muster "
                                  "launch --local 8x4 --log-dir /tmp/all "
                                  "-- echo hello"])
        equal(done.returncode, 0, "exit code", done.stderr)
        files = job.launcher.exec(["sh", "-c", "cat /tmp/all/rank-*.out"])
        equal(files.stdout.count("hello"), 32, "files", done.stderr)
        # A hard one is told at once, whatever the connect timeout.
        done = job.launcher.exec(["bash", "-c", "ulimit -n 20; exec muster "
                                  "launch --local 8x1 --log-format text "
                                  "-- true"])
        equal(done.returncode, 100, "exit code", done.stderr)
        contains(done.stderr, "limit of open files: 20", "stderr")


def test_full_disk_for_the_logs():
    """The job goes on without its files and says so."""
    def edit(specs):
        for spec in specs:
            if spec["role"] == "launcher":
                spec["tmpfs"].append({"dest": "/logs", "size": "64k",
                                      "mode": "1777"})
    with cluster("full") as c:
        try:
            job = apply(c, workers=2, edit=edit)
        except Exception as error:  # the layout of podnet's tmpfs entries
            raise AssertionError(f"podnet: {error}") from None
        run = launch(job, "-n", "2", "--bootstrap", "pmix", "--log-dir",
                     "/logs", "--", "sh", "-c",
                     "head -c 300000 /dev/zero | tr '\\0' 'x' | fold -w 100")
        equal(run.code, 0, "exit code", run.out[-500:], run.err)
        contains(run.err, "/logs", "stderr")
        contains(run.err.lower(), "no space", "stderr")
        equal(len([x for x in run.lines().get(0, [])]), 3000, "lines",
              run.err)


# A line of an sshd_config, what the sentence must name.
SHUT = [
    ("AllowUsers alice", "AllowUsers alice"),
    ("ForceCommand /bin/true", "ForceCommand"),
    ("PubkeyAuthentication no", "PubkeyAuthentication"),
    ("AuthorizedKeysFile none", "AuthorizedKeysFile none"),
    ("Match Address 10.0.0.0/8\n  ForceCommand /bin/true", "Match block"),
    ("NoSuchKeyword yes", "NoSuchKeyword"),
    ("Include /tmp/more.conf", "/tmp/more.conf:1: DenyUsers"),
]


def test_an_sshd_config_never_fails_open():
    """A worker that is started as sshd obeys what keeps somebody out, or does
    not start. Without the line, and with a line that lets the job in, it
    does."""
    with cluster("shut") as c:
        job = apply(c, workers=1)
        pod = job.workers[0]
        pod.exec(["sh", "-c", "echo DenyUsers '*' > /tmp/more.conf"],
                 check=True)
        user = pod.exec(["id", "-un"]).stdout.strip()
        for line, named in [*SHUT, ("StrictModes no", None),
                            (f"AllowUsers {user or '*'}", None)]:
            pod.exec(["sh", "-c", "cat > /tmp/sshd_config"],
                     input=f"Port 2222\n{line}\n", check=True)
            done = pod.exec(["/usr/sbin/sshd", "-t", "-f", "/tmp/sshd_config"])
            if named is None:
                equal(done.returncode, 0, line, done.stderr)
                continue
            equal(done.returncode, 100, line, done.stderr)
            contains(done.stderr, named, line)
            contains(done.stderr, "muster worker", "what to do")
        # /tmp is everybody's: with StrictModes its key file is left out.
        pod.exec(["sh", "-c", "echo x > /tmp/ak"], check=True)
        for strict, told in (("yes", True), ("no", False)):
            done = pod.exec(["/usr/sbin/sshd", "-t", "-o",
                             "AuthorizedKeysFile=/tmp/ak", "-o",
                             f"StrictModes={strict}"])
            equal("StrictModes leaves it out" in done.stderr, told,
                  f"StrictModes {strict}", done.stderr)
        for option in ("ForceCommand=/bin/true", "AllowUsers alice"):
            done = pod.exec(["/usr/sbin/sshd", "-t", "-o", option])
            equal(done.returncode, 100, option, done.stderr)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
