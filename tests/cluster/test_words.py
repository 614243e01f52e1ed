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
# The rank does this after its words; the launch ends with this code.
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
        texts = [*((line, line) for line in lines), *messages()]
        # Each with one of the eight ways, in turn.
        ways = [(end, backend) for end in ENDS for backend in BACKENDS]
        for number, (what, text) in enumerate(texts):
            end, backend = ways[number % len(ways)]
            ends_as(what, text, end, ENDS[end], backend, folder)


def test_the_worst_words_with_every_end():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for backend in BACKENDS:
            for end, code in ENDS.items():
                ends_as("all", "\n".join([*SAID, *classes()]), end, code,
                        backend, folder)


FRAMES = "\n".join(f"frame #{i}: c10::Error + 0x{i:x} (0x7f in libc10.so)"
                   for i in range(300))
TOLD = {
    "a size that differs":
        "[rank0]:[E1126 01:12:05.356733883 ProcessGroupNCCL.cpp:612] [Rank 0] "
        "Collective WorkNCCL(SeqNum=42, OpType=ALLREDUCE) raised the following "
        "async exception: NCCL error\nLast error:\nNET/Socket : peer "
        "192.0.2.2<51770> message truncated : receiving 135168 bytes instead "
        "of 65536. If you believe your socket network is in a healthy state, "
        "there may be a mismatch in collective sizes",
    "a full GPU":
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 "
        "GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.2 GiB is free",
    "a key that is missing":
        "Traceback (most recent call last):\n  File \"/job/train.py\", line 3, "
        "in <module>\n    x = config['lr']\nKeyError: 'lr'",
}


def test_what_is_said_live_is_said_of_the_log():
    """The telling line stands before hundreds of a stack and a blank one."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for what, told in TOLD.items():
            text = f"step 1 loss 2.3\n{told}\n{FRAMES}\n\n"
            (folder / "words").write_text(text, encoding="utf-8")
            ends_as(what, text, "kill -ABRT $$", 134, "native", folder)
            live = json.loads((folder / "report.json").read_text())["verdict"]
            log = "".join(f"[1|node0] {line}\n" for line in text.split("\n"))
            (folder / "log").write_text(log, encoding="utf-8")
            later = json.loads(subprocess.run(
                [f"{PREFIX}/bin/muster", "explain-log", "-o", "json",
                 str(folder / "log")], capture_output=True, text=True,
                timeout=60, check=True).stdout)["verdict"]
            equal(live["code"], later["code"], what, live, later)
            check("its last line: \n" not in json.dumps(live), "a blank line",
                  live)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
