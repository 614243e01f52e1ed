# SPDX-License-Identifier: Apache-2.0
"""What a rank prints never sets how the job ended: for each class of
docs/exit-codes.md and each kind of message in the corpus, a rank prints its
words and ends with 0, 1, 7 or by SIGKILL, natively and through mpirun. The
code is the rank's."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from harness import PREFIX, check, equal, main

ROOT = pathlib.Path(__file__).resolve().parents[2]
BACKENDS = {"native": ["--bootstrap", "pmix", "-n", "2", "--"],
            "mpirun": ["--bootstrap", "mpirun", "--", "mpirun", "-n", "2"]}
# What the rank does after its words, and its code.
ENDS = {"exit 0": 0, "exit 1": 1, "exit 7": 7, "kill -KILL $$": 137}
PEER = '[ "${PMIX_RANK:-$OMPI_COMM_WORLD_RANK}" = 1 ] || exec sleep '
SAID = ("KeyError: \"pod was evicted\"",
        "AssertionError: expected DeadlineExceeded, got None",
        "FATAL: preempted requests exceeded limit of 4",
        "slurmstepd: error: *** JOB 7 ON n1 CANCELLED DUE TO TIME LIMIT ***",
        "Reason: OOMKilled, Exit Code: 137",
        "muster: error: worker lost: w-1: no answer for 12 s",
        "Received SIGTERM, exiting", "KeyboardInterrupt",
        "w-1: Permission denied (publickey).",
        "bash: line 1: train.py: command not found",
        "muster: command refused: this worker starts only x, not \"y\"")


def classes():
    """The words of the table of exit codes."""
    text = (ROOT / "docs/exit-codes.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \d+ \| `(\w+)` \| ([^|]+) \|", text, re.M)
    check(len(rows) >= 12, "the table of exit codes", rows)
    return [f"error: {name}: {meaning.strip()}" for name, meaning in rows]


def messages():
    """The messages of each file of the corpus, as one text."""
    for path in sorted((ROOT / "tests/diagnosis/messages").glob("*.tsv")):
        lines = [line.split("\t", 1)[1] for line in
                 path.read_text(encoding="utf-8").splitlines()
                 if "\t" in line and not line.startswith("#")]
        yield path.name, "\n".join(lines).replace("\\n", "\n")


def ends_as(name, words, end, code, backend, folder):
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    text = folder / "words"
    text.write_text(words + "\n", encoding="utf-8")
    # The other rank waits for its end, or ends well with it.
    script = f"{PEER}{0 if code == 0 else 60}; cat {text} >&2; {end}"
    done = subprocess.run(
        [f"{PREFIX}/bin/muster", "launch", "--local", "1x2", "--grace", "1s",
         "--report-json", str(report), *BACKENDS[backend], "sh", "-c", script],
        capture_output=True, text=True, errors="replace", timeout=120,
        stdin=subprocess.DEVNULL)
    what = f"{name}, {end}, {backend}"
    equal(done.returncode, code, what, done.stderr[-1500:])
    verdict = json.loads(report.read_text(encoding="utf-8"))["verdict"]
    equal(verdict["class"], "success" if code == 0 else "rank_failed",
          f"class: {what}", verdict)
    check(not verdict["retryable"], f"retryable: {what}", verdict)


def test_words_of_a_rank_set_nothing():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        lines = [*SAID, *classes()]
        for number, line in enumerate(lines):
            for shift, backend in enumerate(BACKENDS):
                end = list(ENDS)[(number + shift) % len(ENDS)]
                ends_as(line, line, end, ENDS[end], backend, folder)
        for number, (file, text) in enumerate(messages()):
            for shift, backend in enumerate(BACKENDS):
                end = list(ENDS)[(number + shift) % len(ENDS)]
                ends_as(file, text, end, ENDS[end], backend, folder)


def test_the_worst_words_with_every_end():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for backend in BACKENDS:
            for end, code in ENDS.items():
                ends_as("all", "\n".join([*SAID, *classes()]), end, code,
                        backend, folder)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
