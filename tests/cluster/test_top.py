# SPDX-License-Identifier: Apache-2.0
"""muster top, beside a job of two pods: the samples as JSON and as text, the
table on a terminal, the record of a job, and how each of them ends."""
import fcntl
import json
import os
import pty
import re
import select
import struct
import sys
import termios
import time

from harness import (PATIENCE, Launch, apply, check, cluster, contains, equal,
                     main, until)

BUSY = 1  # the rank whose steps are long, and all work
RANK = (
    "import os, sys, time\n"
    "rank = int(os.environ['RANK'])\n"
    "step = 0\n"
    "while not os.path.exists('/tmp/end'):\n"
    "    step += 1\n"
    "    print(f'Epoch 1/3, step {step}/9999 loss=0.{rank}', flush=True)\n"
    f"    end = time.monotonic() + (5 if rank == {BUSY} else 0.5)\n"
    f"    while rank == {BUSY} and time.monotonic() < end:\n"
    "        pass\n"
    "    time.sleep(max(0, end - time.monotonic()))\n"
    "print('\\x1b[31mover\\x1b[0m \\x1b[2J', flush=True)\n"
    "sys.exit(int(open('/tmp/end').read()) if rank == 0 else 0)\n")


def start(job):
    hosts = ",".join(f"{w.name}:2" for w in job.workers)
    return Launch(job, ["muster", "launch", "-H", hosts, "-n", "4",
                        "--bootstrap", "pmix", "--", "python3", "-c", RANK])


def end(job, code):
    for worker in job.workers:
        worker.exec(["sh", "-c", f"echo {code} > /tmp/e && mv /tmp/e /tmp/end"],
                    check=True)


def top(job, *words, **options):
    return job.launcher.exec(["muster", "top", *words], **options)


def sample(job):
    done = top(job, "-o", "json")
    return json.loads(done.stdout) if done.returncode == 0 else None


def stragglers(job):
    now = sample(job)
    return [r["rank"] for r in now["ranks"] if r["straggler"]] if now else []


def test_samples_of_a_job_with_one_busy_rank():
    with cluster("top") as c:
        job = apply(c, workers=2)
        none = top(job)
        equal(none.returncode, 1, "exit code without a launch", none.stderr)
        contains(none.stderr, "no launch runs in this pod")
        run = start(job)
        seen = []

        def behind():
            """Its use of the CPU may stand out before its steps do."""
            seen.append(sample(job))
            return seen[-1] and any(rank["straggler"].startswith("step ")
                                    for rank in seen[-1]["ranks"])

        check(until(behind), "no rank is behind", top(job).stdout, run.err)
        now = seen[-1]
        ranks = {r["rank"]: r for r in now["ranks"]}
        equal(sorted(ranks), [0, 1, 2, 3], "ranks")
        equal([n for n in ranks if ranks[n]["straggler"]], [BUSY],
              "ranks that stand out", now["ranks"])
        check(re.match(r"step \d+, the median had step \d+ \d+ s ago$",
                       ranks[BUSY]["straggler"]), "the fact", ranks[BUSY])
        for number, rank in ranks.items():
            equal(rank["state"], "running", f"rank {number}", rank)
            check(rank["memory_bytes"] > 1 << 20, "no memory", rank)
            check(rank["lines"] > 0, "no lines", rank)
            check(rank["lines_per_second"] >= 0, "no rate", rank)
            equal(rank["loss"], f"0.{number}", "loss", rank)
            check(re.match(r"epoch 1/3 step \d+/9999$", rank["progress"]),
                  "progress", rank)
            contains(rank["last_line"], "loss=0.", "last line")
        equal(max(ranks, key=lambda n: ranks[n]["cpus_used_mean"]), BUSY,
              "the rank that uses its CPU", now["ranks"])
        equal([w["host"].split(".")[0] for w in now["workers"]],
              [w.name for w in job.workers], "pods")
        text = top(job, env={"COLUMNS": "100"}).stdout
        check("\x1b" not in text, "control characters without a terminal",
              text)
        contains(text, f"! rank {BUSY} on ")
        contains(text, "2 of 2 pods ready, 4 running, 1 straggler")
        check(all(len(line) <= 100 for line in text.splitlines()),
              "lines are too long", text)
        rows = [line.split()[0] for line in text.splitlines()[4:10]]
        equal(rows, [job.workers[0].name, "0", "!", job.workers[1].name, "2",
                     "3"], "rows", text)
        end(job, 0)
        run.wait()
        equal(run.code, 0, "exit code", run.err)


def test_a_record_goes_on_until_the_job_ends():
    with cluster("top-record") as c:
        job = apply(c, workers=2)
        run = start(job)
        check(until(lambda: sample(job)), "no launch", run.err)
        record = Launch(job, ["muster", "top", "--record", "/tmp/top.jsonl",
                              "--interval", "0.5"])
        check(until(lambda: len(lines(job)) > 3), "nothing is recorded",
              record.err)
        end(job, 3)
        run.wait()
        equal(run.code, 3, "exit code of the job", run.err)
        record.wait()
        equal(record.code, 0, "exit code", record.out, record.err)
        contains(record.out, "The job ended with exit code 3: ")
        samples = [json.loads(line) for line in lines(job)]
        check(all("ended" not in s for s in samples[:-1]), "ended too early",
              samples)
        equal(samples[-1]["ended"]["exit_code"], 3, "the last sample")
        equal({r["exit"] for r in samples[-1]["ranks"]} >=
              {"exited with code 3"}, True, "ranks", samples[-1]["ranks"])
        equal(samples[-1]["ranks"][0]["last_line"], "over", "last line")


def lines(job):
    return job.launcher.exec(["cat", "/tmp/top.jsonl"]).stdout.splitlines()


class Terminal:
    """A command in the pod, on a terminal of 80 columns and 24 rows."""

    def __init__(self, pod, words, env=None):
        self.fd, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ,
                    struct.pack("HHHH", 24, 80, 0, 0))
        self.before = termios.tcgetattr(other)
        self.other = other
        self.process = pod.popen(words, stdin=other, stdout=other,
                                 stderr=other, env=env)
        self.out = ""

    def read(self, seconds=0.1):
        if select.select([self.fd], [], [], seconds)[0]:
            self.out += os.read(self.fd, 1 << 16).decode(errors="replace")
        return self.out

    def until(self, text):
        stop = time.monotonic() + PATIENCE
        while text not in self.read() and time.monotonic() < stop:
            pass
        contains(self.out, text, "terminal")

    def key(self, key):
        os.write(self.fd, key.encode())

    def wait(self):
        code = until(lambda: (self.read(), self.process.poll())[1] is not None)
        check(code, "it does not end", self.out[-3000:])
        while select.select([self.fd], [], [], 0)[0]:
            self.read()
        equal(termios.tcgetattr(self.other)[:4], self.before[:4],
              "the terminal's state")
        return self.process.returncode


def test_the_table_on_a_terminal():
    with cluster("top-terminal") as c:
        job = apply(c, workers=2)
        run = start(job)
        check(until(lambda: stragglers(job)), "no rank stands out", run.err)
        env = {"TERM": "xterm-256color"}
        live = Terminal(job.launcher, ["muster", "top", "--interval", "0.5"],
                        env)
        live.until("POD, RANK")
        live.until(f"! rank {BUSY} on ")
        contains(live.out, "\x1b[?1049h")
        contains(live.out, "\x1b[33m")
        live.key("r")
        live.until("\x1b[7mRANK")
        live.key("q")
        equal(live.wait(), 0, "exit code", live.out[-500:])
        contains(live.out, "\x1b[?1049l")
        quiet = Terminal(job.launcher, ["muster", "top", "--interval", "0.5"],
                         {**env, "NO_COLOR": "1"})
        quiet.until(f"! rank {BUSY} on ")
        check("\x1b[33m" not in quiet.out and "\x1b[7m" not in quiet.out,
              "colours with NO_COLOR", quiet.out)
        quiet.key("\x03")
        equal(quiet.wait(), 0, "exit code", quiet.out[-500:])
        plain = Terminal(job.launcher, ["muster", "top", "--interval", "0.5"],
                         {"TERM": "dumb"})
        plain.until(f"! rank {BUSY} on ")
        live = Terminal(job.launcher, ["muster", "top"], env)
        live.until("POD, RANK")
        end(job, 3)
        run.wait()
        equal(run.code, 3, "exit code of the job", run.err)
        for one in (live, plain):
            equal(one.wait(), 0, "exit code", one.out[-500:])
            last = one.out.rpartition("\x1b[?1049l")[2]
            contains(last, "exit 3")
            contains(last, "The job ended with exit code 3: ")
        check("\x1b" not in plain.out, "control characters on a dumb terminal",
              plain.out)


def test_a_launcher_that_is_killed_leaves_a_sentence():
    with cluster("top-killed") as c:
        job = apply(c, workers=2)
        run = start(job)
        check(until(lambda: sample(job)), "no launch", run.err)
        record = Launch(job, ["muster", "top", "--record", "/tmp/top.jsonl"])
        check(until(lambda: lines(job)), "nothing is recorded", record.err)
        job.launcher.exec(["sh", "-c", "for p in /proc/[0-9]*; do "
                           "tr '\\0' ' ' < $p/cmdline 2> /dev/null | "
                           "grep -q '^muster launch ' && kill -KILL "
                           "${p#/proc/}; done; true"], check=True)
        record.wait()
        equal(record.code, 1, "exit code", record.out, record.err)
        contains(record.err, "ended without a verdict")
        run.wait()


def test_words_that_it_does_not_take():
    with cluster("top-words") as c:
        job = apply(c, workers=1)
        for words in (["--interval", "0.4"], ["--interval", "61"],
                      ["--interval", "2s"], ["--interval"], ["--record"],
                      ["-o", "yaml"], ["now"]):
            done = top(job, *words)
            equal(done.returncode, 2, f"exit code of {words}", done.stderr)
            contains(done.stderr, "muster top: ")


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
