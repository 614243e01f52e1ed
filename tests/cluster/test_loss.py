# SPDX-License-Identifier: Apache-2.0
"""Not one byte of rank output is lost, changed or swapped: seeded generators
write lines and what they wrote (CRC-32, lines, bytes per stream); what comes
out of the launcher must be the same. programs/lines.c is both ends."""
import fcntl
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import termios
import time
import zlib

from harness import (PREFIX, apply, check, cluster, contains, equal, launch,
                     main, program, until)

BOTH = ("pmix", "mpirun")
MUSTER = os.path.join(PREFIX, "bin", "muster")
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1",
               "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


class Job:
    """64 ranks on 8 emulated nodes, or fewer, and what each has written."""

    def __init__(self, kind, lines, shape="8x8", bootstrap="pmix", options=(),
                 seed=1, log_format="text"):
        self.folder = tempfile.TemporaryDirectory(prefix="lines-")
        self.truth_path = os.path.join(self.folder.name, "truth")
        self.report_path = os.path.join(self.folder.name, "report.json")
        os.mkdir(self.truth_path)
        tool = program("lines", "gcc", ["-O2"])
        self.argv = [
            MUSTER, "launch", "--local", shape, "--bootstrap", bootstrap,
            "--log-format", log_format, "--report-json", self.report_path,
            "-x", "LINES_DIR=" + self.truth_path, *options,
            "--", tool, "write", str(seed), str(lines), kind]

    def start(self, stdout, stderr=subprocess.PIPE):
        return subprocess.Popen(self.argv, stdout=stdout, stderr=stderr,
                                stdin=subprocess.DEVNULL,
                                env={**os.environ, **ENVIRONMENT})

    def truth(self):
        """{rank: "crc lines bytes crc lines bytes"}"""
        found = {}
        for name in os.listdir(self.truth_path):
            with open(os.path.join(self.truth_path, name),
                      encoding="ascii") as file:
                found[int(name)] = file.read().strip()
        return found

    def report(self):
        with open(self.report_path, encoding="utf-8") as file:
            return json.load(file)


def checked(stdin):
    """What `lines check` sees: {rank: figures}, number of other lines."""
    return subprocess.Popen([program("lines", "gcc", ["-O2"]), "check"],
                            stdin=stdin, stdout=subprocess.PIPE, text=True)


def figures(text):
    seen, strange = {}, 0
    for line in text.splitlines():
        first, rest = line.split(" ", 1)
        if first == "strange":
            strange = int(rest)
        else:
            seen[int(first)] = rest
    return seen, strange


def run_and_check(job, ranks, code=0, strange=0, timeout=200):
    """The launcher into the checker through a pipe."""
    process = job.start(subprocess.PIPE)
    judge = checked(process.stdout)
    process.stdout.close()
    err = process.stderr.read().decode(errors="replace")
    out, _ = judge.communicate(timeout=timeout)
    equal(process.wait(timeout), code, "exit code", err)
    seen, odd_lines = figures(out)
    truth = job.truth()
    equal(len(truth), ranks, "ranks that wrote", err)
    wrong = {rank: (seen.get(rank), wanted)
             for rank, wanted in truth.items() if seen.get(rank) != wanted}
    check(not wrong, f"{len(wrong)} of {ranks} ranks differ", wrong, err)
    if strange is not None:
        equal(odd_lines, strange, "lines of nobody", err)
    equal(job.report()["lost_output_bytes"], 0, "lost bytes", err)
    return job.report()


def test_a_million_lines_of_64_ranks():
    report = run_and_check(Job("plain", 1_000_000 // 64 + 1), 64)
    check(report["lines"] >= 1_000_000, "lines", report["lines"])


def test_lines_of_every_kind_by_both_backends_masked_or_not():
    for bootstrap in BOTH:
        for options in ((), ("--no-mask",)):
            # mpirun may have a word of its own to say.
            run_and_check(Job("odd", 600, "4x2", bootstrap, options), 8,
                          strange=0 if bootstrap == "pmix" else None)


def test_ranks_that_die_within_a_line():
    for bootstrap in BOTH:
        # mpirun's own words about the death are lines of nobody.
        run_and_check(Job("die", 300, "1x1", bootstrap), 1, code=137,
                      strange=None)


def test_ten_megabytes_without_a_newline():
    """Text cuts such a line and tags each piece; files have it whole, and
    JSON has it in parts."""
    for bootstrap in BOTH:
        with tempfile.TemporaryDirectory() as logs:
            job = Job("huge", 100, "1x2", bootstrap, ("--log-dir", logs),
                      log_format="json")
            process = job.start(subprocess.PIPE)
            out, err = process.communicate(timeout=120)
            equal(process.returncode, 0, "exit code", err)
            for rank, wanted in job.truth().items():
                equal(of_files(logs, rank), wanted, f"files of rank {rank}")
                equal(of_records(out, rank), wanted, f"records of {rank}")


def of_files(logs, rank):
    found = []
    for end in ("out", "err"):
        with open(f"{logs}/rank-{rank}.{end}", "rb") as file:
            data = file.read()
        found.append(f"{zlib.crc32(data):08x} {data.count(10)} {len(data)}")
    return " ".join(found)


def of_records(out, rank):
    """Parts joined; sequence numbers without a gap."""
    found = []
    for stream in ("stdout", "stderr"):
        data, lines = [], 0
        for line in out.splitlines():
            record = json.loads(line)
            check(len(line) < 4096, "a record over 4 KiB", line[:200])
            if (record["rank"], record["stream"]) != (rank, stream):
                continue
            equal(record["seq"], lines + 1, f"seq of {rank} {stream}", line)
            data.append(record["message"])
            if record.get("last", True):
                data.append("\n")
                lines += 1
        text = "".join(data).encode()
        found.append(f"{zlib.crc32(text):08x} {lines} {len(text)}")
    return " ".join(found)


def is_full(pipe):
    """Holds so much that its writer is held up by the next block. Its sixteen
    pages need not be full: a write begins a new one where the last one has no
    room for all of its end."""
    held = fcntl.ioctl(pipe.fileno(), termios.FIONREAD, b"\0" * 4)
    return struct.unpack("i", held)[0] > 48_000


def test_a_slow_reader_loses_nothing():
    # Far more than pipes and credits hold, so that ranks have to wait.
    job = Job("plain", 40_000, "2x2", options=("--grace", "1s"))
    process = job.start(subprocess.PIPE)
    judge = checked(subprocess.PIPE)
    check(until(lambda: is_full(process.stdout)), "nothing fills up")
    time.sleep(5)  # what is worth telling, and some more
    while data := os.read(process.stdout.fileno(), 65536):
        judge.stdin.write(data.decode(errors="surrogateescape"))
        time.sleep(0.002)
    out, _ = judge.communicate(timeout=60)
    err = process.stderr.read().decode()
    equal(process.wait(60), 0, "exit code", err)
    equal(figures(out)[0], job.truth(), "figures", err)
    contains(err, "log_stalled", "stderr")


def test_a_reader_that_stalls_at_the_end_costs_no_goodbye():
    """All ranks have ended, their last lines wait: agents still hear from the
    launcher, and leave by its word."""
    job = Job("plain", 500, "1x4", options=(
        "--heartbeat", "500ms", "--silence", "2s", "--log-level", "debug"))
    process = job.start(subprocess.PIPE)
    judge = checked(subprocess.PIPE)
    check(until(lambda: len(job.truth()) == 4), "the ranks do not end")
    check(until(lambda: is_full(process.stdout)), "nothing fills up")
    time.sleep(6)  # three times the silence
    while data := os.read(process.stdout.fileno(), 65536):
        judge.stdin.write(data.decode(errors="surrogateescape"))
    out, _ = judge.communicate(timeout=60)
    err = process.stderr.read().decode()
    equal(process.wait(60), 0, "exit code", err)
    equal(figures(out)[0], job.truth(), "figures", err)
    check("the launcher is gone" not in err, "an agent was left alone", err)
    equal(job.report()["lost_output_bytes"], 0, "lost bytes", err)


def test_drop_never_holds_a_rank_and_counts():
    job = Job("plain", 60_000, "2x2", options=("--log-overflow", "drop"))
    process = job.start(subprocess.PIPE)
    end = time.monotonic() + 100
    while len(job.truth()) < 4:  # nobody reads, and still all get through
        check(process.poll() is None and time.monotonic() < end,
              "ranks are held although lines may be dropped")
        time.sleep(0.05)
    arrived = process.stdout.read().count(b"\n")
    err = process.stderr.read().decode()
    equal(process.wait(60), 0, "exit code", err)
    report = job.report()
    written = sum(int(f.split()[1]) + int(f.split()[4])
                  for f in job.truth().values())
    equal(report["lines"], written, "lines read", err)
    check(report["dropped_lines"] > 0, "nothing was dropped", err)
    equal(arrived + report["dropped_lines"], written, "lines in all", err)


def test_a_full_disk_is_counted_to_the_byte():
    with tempfile.TemporaryDirectory() as place:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "lines",
                        place], check=True)
        try:
            job = Job("plain", 5000, "1x2")
            with open(place + "/log", "wb") as file:
                process = job.start(file)
                err = process.stderr.read().decode()
            equal(process.wait(60), 0, "exit code", err)
            contains(err, "No space left", "stderr")
            kept = os.path.getsize(place + "/log")
        finally:
            subprocess.run(["umount", "-l", place], check=True)
        written = 0
        for rank, text in job.truth().items():
            _, out_lines, out, _, err_lines, errs = text.split()
            tag = len(f"[{rank}|{host_of(job, rank)}] ")
            written += (int(out) + int(errs)
                        + tag * (int(out_lines) + int(err_lines)))
        equal(kept + job.report()["lost_output_bytes"], written, "bytes", err)


def host_of(job, rank):
    ranks = {r["rank"]: r["worker"] for r in job.report()["ranks"]}
    return ranks[rank]


def test_closed_stdout_does_not_end_the_job():
    for how in (">&-", "| head -n 1"):
        job = Job("plain", 3000, "1x2")
        words = " ".join("'" + w + "'" for w in job.argv)
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {words} {how}"],
            capture_output=True, timeout=100, check=False,
            stdin=subprocess.DEVNULL, env={**os.environ, **ENVIRONMENT})
        equal(done.returncode, 0, f"exit code ({how})", done.stderr.decode())
        equal(len(job.truth()), 2, f"ranks that wrote all ({how})")
        check(job.report()["lost_output_bytes"] > 0, "no loss is counted")
        contains(done.stderr.decode(), "cannot write rank output", "stderr")


def test_a_cut_link_keeps_what_arrived_and_says_what_did_not():
    script = "i=0; while :; do i=$((i+1)); echo line $i; sleep 0.01; done"
    with cluster("cutlog") as c:
        job = apply(c, workers=2)
        run = launch_cut(job, script)
        equal(run.code, 201, "exit code", run.err)
        for rank in (0, 1):
            lines = run.lines()[rank]
            equal(lines, [f"line {i + 1}" for i in range(len(lines))],
                  f"lines of rank {rank}")
        told = re.search(r"rank 1 on pi-worker-1\S*: its output after "
                         r"line (\d+) of stdout", run.err)
        check(told, "the loss is not told by rank and line", run.err)
        equal(int(told[1]), len(run.lines()[1]), "lines that arrived")
        equal(run.report["cut_outputs"], 1, "cut outputs")


def launch_cut(job, script):
    from harness import Launch
    run = Launch(job, ["muster", "launch", "-n", "2", "--slots-per-node", "1",
                       "--bootstrap", "pmix", "--heartbeat", "500ms",
                       "--silence", "3s", "--grace", "1s", "--", "sh", "-c",
                       script])
    run.until("[1|", count=20)
    job.workers[1].cut()
    run.wait()
    job.workers[1].join()
    return run


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
