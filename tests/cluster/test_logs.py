# SPDX-License-Identifier: Apache-2.0
"""Output, stdin, the termination log and report.json."""
import json
import os
import select
import subprocess
import sys

from harness import (PATIENCE, PREFIX, Launch, apply, check, cluster,
                     contains, equal, expect, launch, main, nothing_left)

BOTH = ("pmix", "mpirun")


def test_formats_and_files():
    script = "echo out $RANK; echo err $RANK >&2"
    with cluster("logs") as c:
        job = apply(c, workers=2)
        for bootstrap in BOTH:
            common = ["-n", "2", "--bootstrap", bootstrap]
            run = launch(job, *common, "--log-format", "json", "--log-dir",
                         f"/tmp/logs-{bootstrap}", "--", "sh", "-c", script)
            equal(run.code, 0, "exit code", run.out, run.err)
            records = [json.loads(line) for line in run.out.splitlines()]
            seen = {(r["rank"], r["stream"], r["message"]) for r in records
                    if r["rank"] is not None}
            equal(seen, {(0, "stdout", "out 0"), (0, "stderr", "err 0"),
                         (1, "stdout", "out 1"), (1, "stderr", "err 1")},
                  f"records ({bootstrap})", run.out)
            for record in records:
                for field in ("timestamp", "level", "host", "seq"):
                    check(field in record, f"no {field}", record)
            files = job.launcher.exec(
                ["sh", "-c", f"cd /tmp/logs-{bootstrap} && grep -r . ."]
                ).stdout
            for part in ("out 0", "err 0", "out 1", "err 1"):
                contains(files, part, "log files")
            run = launch(job, *common, "--log-format", "plain", "--", "sh",
                         "-c", "echo out $RANK")
            equal(sorted(x for x in run.out.splitlines() if x[:3] == "out"),
                  ["out 0", "out 1"], "plain lines", run.out)
        nothing_left(job)


def test_no_launch_writes_over_the_files_of_another():
    with cluster("log-dirs") as c:
        job = apply(c, workers=2)

        def words(text):
            return ["--log-dir", "/tmp/logs", "--", "sh", "-c", text]
        expect(launch(job, "-n", "2", *words("echo first $RANK")), 0)
        second = Launch(job, ["muster", "launch", "-n", "1",
                              *words("echo second; sleep 3; echo end")])
        second.until("second")
        third = launch(job, "-n", "1", *words("echo third"))
        expect(third, 0, "another launch writes there")
        expect(second.wait(), 0, "/tmp/logs/earlier-1")
        seen = job.launcher.exec(
            ["sh", "-c", "cd /tmp/logs && cat earlier-1/rank-0.out "
             "earlier-1/rank-1.out rank-0.out ????????????????/rank-0.out; "
             "ls rank-1.out"]).stdout
        equal(seen, "first 0\nfirst 1\nsecond\nend\nthird\n", "log files")
        nothing_left(job)


def test_report_and_termination_log():
    with cluster("report") as c:
        job = apply(c, workers=2)
        for bootstrap in BOTH:
            run = launch(job, "-n", "2", "--bootstrap", bootstrap, "--", "sh",
                         "-c", "[ $RANK = 1 ] && exit 5; sleep 30")
            equal(run.code, 5, "exit code", run.err)
            report = run.report
            equal(report["exit_code"], 5, "exit_code", report)
            equal(report["class"], "rank_failed", "class", report)
            equal([p["name"] for p in report["phases"]][:6],
                  ["discover", "connect", "inspect", "agree", "prove", "run"],
                  "phases", report)
            equal([(w["name"][:11], w["state"]) for w in report["workers"]],
                  [("pi-worker-0", "ready"), ("pi-worker-1", "ready")],
                  "workers", report)
            contains(report["verdict"]["cause"], "rank 1 on pi-worker-1",
                     "cause of the verdict")
            message = job.launcher.exec(["cat", "/dev/termination-log"]).stdout
            contains(message, "rank 1", "termination log")
            check(len(message.encode()) <= 4096, "termination log too long")
            errors = [x for x in run.err.splitlines() if x.strip()]
            check(len(errors) <= 20, "too many lines on stderr", run.err)


def test_stdin_to_rank_zero_all_or_none():
    count = "echo got $(cat | wc -c)"
    data = b"x" * 700_000 + b"\n"
    with cluster("stdin") as c:
        job = apply(c, workers=2)
        for mode, bootstraps, sizes in (
                ("0", BOTH, (len(data), 0)),
                ("all", BOTH, (len(data), len(data))),
                ("none", BOTH, (0, 0))):
            for bootstrap in bootstraps:
                run = launch(job, "-n", "2", "--bootstrap", bootstrap,
                             "--stdin", mode, "--", "sh", "-c", count,
                             stdin=data)
                equal(run.code, 0, f"exit code ({mode}, {bootstrap})",
                      run.out, run.err)
                equal({r: lines[-1] for r, lines in run.lines().items()},
                      {0: f"got {sizes[0]}", 1: f"got {sizes[1]}"},
                      f"bytes ({mode}, {bootstrap})", run.err)


def test_long_lines_and_ranks_that_die_in_a_line():
    with cluster("lines") as c:
        job = apply(c, workers=2)
        # 10 MB without a newline: arrives whole, in order.
        run = launch(job, "-n", "1", "--bootstrap", "pmix", "--log-format",
                     "plain", "--", "sh", "-c",
                     "head -c 10000000 /dev/zero | tr '\\0' a; echo; echo end")
        equal(run.code, 0, "exit code", run.err)
        equal(run.out.count("a"), 10_000_000, "bytes of the long line")
        equal(run.out.splitlines()[-1], "end", "last line")
        run = launch(job, "-n", "1", "--bootstrap", "pmix", "--log-format",
                     "json", "--", "sh", "-c",
                     "head -c 1000000 /dev/zero | tr '\\0' b; echo; echo end")
        records = run.out.splitlines()
        check(all(len(r) <= 4096 for r in records), "a record over 4 KiB")
        text = "".join(json.loads(r)["message"] for r in records)
        equal(text.count("b"), 1_000_000, "bytes in the records")
        for bootstrap in BOTH:
            run = launch(job, "-n", "2", "--bootstrap", bootstrap, "--", "sh",
                         "-c", "echo whole; printf 'torn by death';"
                         "[ $RANK = 1 ] && kill -9 $$; sleep 0.5")
            equal(run.code, 137, "exit code", run.out, run.err)
            contains(run.out, "torn by death", "stdout")
            equal(run.lines()[1][:2], ["whole", "torn by death"],
                  f"lines of rank 1 ({bootstrap})", run.out)


def test_secrets_are_hidden_wherever_they_come_from():
    secrets = ["of-the-pod-1234", "of-the-line-1234", "of-a-flag-1234",
               "horse-battery-staple"]
    script = ("echo $HF_TOKEN $DB_PASS $2 $REDIS_AUTH; echo $HF_TOKEN >&2; "
              "sleep 0.2; exit $(($RANK * 3))")
    with cluster("secrets") as c:
        job = apply(c, workers=2, extra_env={
            "HF_TOKEN": secrets[0], "REDIS_AUTH": secrets[3]})
        for bootstrap in BOTH:
            line = ["-x", f"DB_PASS={secrets[1]}", "sh", "-c", script,
                    "sh", "--token", secrets[2]]
            words = ["-n", "2", *line]
            if bootstrap == "mpirun":
                words = ["--", "mpirun", "-np", "2", *line]
            words = ["--bootstrap", bootstrap, *words]
            run = launch(job, "--dry-run", "--explain-env", *words)
            equal(run.code, 0, "exit code", run.out, run.err)
            seen = run.out + run.err
            run = launch(job, "--log-format", "text", "--log-dir", "/tmp/d",
                         "--report-json", "/tmp/r.json", "--report",
                         "/tmp/r.html", "--bundle", "/tmp/b", *words)
            equal(run.code, 3, "exit code", run.out, run.err)
            contains(run.out, "[masked] [masked] [masked] [masked]",
                     "stdout")
            seen += run.out + run.err + job.launcher.termination_log()
            seen += job.launcher.exec(
                ["sh", "-c", "cat /tmp/r.*; grep -rh . /tmp/d /tmp/b"]).stdout
            for secret in secrets:
                check(secret not in seen, f"{secret} is shown ({bootstrap})",
                      *[x for x in seen.splitlines() if secret in x])
        # A launch that fails before it knows its pods knows its own line.
        run = launch(job, "-n", "2", "--ssh-port", "2999",
                     "--connect-timeout", "2s", "--bundle", "/tmp/early",
                     "-x", f"WANDB_API_KEY={secrets[1]}", "--", "sh",
                     "--token", secrets[2])
        equal(run.code, 200, "exit code", run.err)
        seen = run.err + job.launcher.exec(
            ["sh", "-c", "grep -rh . /tmp/early"]).stdout
        contains(seen, '"argv"', "evidence of the bundle")
        for secret in secrets[1:]:
            check(secret not in seen, f"{secret} is shown early", seen)
        nothing_left(job, files=False)


def test_a_log_that_is_still_written_is_shown():
    with subprocess.Popen([PREFIX + "/bin/muster", "logs", "-", "--grep", "b"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as p:
        for word in ("a1", "b1", "a2", "b2"):
            p.stdin.write(f"[0|w-0] {word}\n".encode())
            p.stdin.flush()
            if word[0] == "b":
                ready = select.select([p.stdout], [], [], PATIENCE)[0]
                check(ready, f"{word} is held back")
                contains(p.stdout.readline().decode(), word)
        p.stdin.close()
        equal(p.wait(PATIENCE), 0, "exit code")


def test_a_closed_stdin_is_no_empty_log():
    for words in ("logs", "logs -", "explain-log -"):
        done = subprocess.run(
            ["sh", "-c", f"exec {PREFIX}/bin/muster {words} <&-"],
            capture_output=True, text=True, timeout=PATIENCE, check=False)
        equal(done.returncode, 1, f"exit code of {words}", done.stderr)
        contains(done.stderr, "cannot read -: Bad file descriptor", words)


def test_no_log_on_stdin_is_told():
    """A terminal is not read from, and an empty stdin is no log."""
    for words in ("logs", "logs -", "explain-log -"):
        argv = [PREFIX + "/bin/muster", *words.split()]
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, timeout=PATIENCE,
                              check=False)
        equal(done.returncode, 1, f"exit code of {words}", done.stderr)
        contains(done.stderr, "kubectl logs", words)
        ours, terminal = os.openpty()
        with open(ours, "rb"), open(terminal, "rb") as stdin:
            done = subprocess.run(argv, stdin=stdin, capture_output=True,
                                  text=True, timeout=PATIENCE, check=False)
        equal(done.returncode, 2, f"exit code of {words} at a terminal",
              done.stderr)
        contains(done.stderr, "kubectl logs", words)


def test_a_bar_is_told_while_it_moves():
    script = ("i=0; while [ $i -lt 40 ]; do printf '\\r%d %%' $i >&2; "
              "sleep 0.2; i=$((i+1)); done; echo >&2")
    with cluster("bars") as c:
        job = apply(c, workers=2)
        for bootstrap in BOTH:
            run = launch(job, "-n", "2", "--bootstrap", bootstrap,
                         "--log-format", "json", "--", "sh", "-c", script)
            equal(run.code, 0, "exit code", run.out, run.err)
            states = [r for r in map(json.loads, run.out.splitlines())
                      if r["rank"] == 0 and r.get("progress")]
            seconds = {r["timestamp"][:19] for r in states}
            check(len(seconds) > 1, "told only at its end", run.out)
        nothing_left(job)


def test_every_line_of_every_rank_arrives_once():
    with cluster("count") as c:
        job = apply(c, workers=2)
        for bootstrap in BOTH:
            run = launch(job, "-n", "4", "--slots-per-node", "2",
                         "--bootstrap", bootstrap, "--", "sh", "-c",
                         "seq 1 20000")
            equal(run.code, 0, "exit code", run.err)
            wanted = [str(i) for i in range(1, 20001)]
            for rank in range(4):
                check(run.lines().get(rank) == wanted,
                      f"lines of rank {rank} ({bootstrap}) are not in order",
                      len(run.lines().get(rank, [])), run.err)
            equal(run.report["lost_output_bytes"], 0, "lost bytes")


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
