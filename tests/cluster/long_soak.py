# SPDX-License-Identifier: Apache-2.0
"""A job that goes on for MUSTER_SOAK_MINUTES (20), looked at all the while as
operators do, and then MUSTER_SOAK_LAUNCHES (300) launches in the same pods:
memory and descriptors of launcher, pid 1, connections and agents stay as they
were after the first part. `scripts/test --long`. The lines that begin with
RESULT are for docs/test-results.md."""
import os
import sys
import time

from harness import (Launch, apply, check, cluster, equal, expect, launch,
                     listening, main, nothing_left)

MINUTES = float(os.environ.get("MUSTER_SOAK_MINUTES", "20"))
LAUNCHES = int(os.environ.get("MUSTER_SOAK_LAUNCHES", "300"))
PODS = 8
RANKS = 32
# A heap grows in steps, and the first of them may come late.
ROOM_KIB = 1024
PRINTER = f"""
import sys, time
end, line = time.monotonic() + {MINUTES * 60}, 0
while time.monotonic() < end:
    line += 1
    print("step", line, "loss=0.%06d" % (line * 7919 % 1000000), flush=True)
    if line % 100 == 0:
        print("WARNING: checkpoint is late", file=sys.stderr, flush=True)
    time.sleep(0.05)
"""


def private_kib(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return sum(int(line.split()[1]) for line in file
                   if line.startswith("Private_"))


def programs(job):
    """{(pod, pid): (what it is, private KiB, descriptors)} of all of muster's
    own, which outlive a look."""
    found = {}
    for pod in job.pods:
        for pid, line in pod.processes().items():
            # pid 1 and its connections are sshd by name.
            if not line.startswith(("muster ", "/opt/muster/",
                                    "/usr/sbin/sshd ")):
                continue
            try:
                found[pod.name, pid] = (
                    line.split()[0], private_kib(pid),
                    len(os.listdir(f"/proc/{pid}/fd")))
            except OSError:  # a look of ours, over by now
                continue
    return found


def grown(before, after):
    """The most that one program grew: (KiB, descriptors, which)."""
    check(before, "nothing to compare")
    lived = {key: (after[key][1] - kib, after[key][2] - fds)
             for key, (_, kib, fds) in before.items() if key in after}
    equal(set(before) - set(after), set(), "programs that went away")
    worst = max(lived, key=lambda key: lived[key][0])
    return (lived[worst][0], max(fds for _, fds in lived.values()),
            f"{worst[0]}: {before[worst]} then {after[worst]}")


def settled(job):
    """What is there in two looks in a row."""
    first = programs(job)
    time.sleep(1)
    second = programs(job)
    return {key: second[key] for key in first if key in second}


def held(name, before, after):
    kib, fds, which = grown(before, after)
    print(f"  RESULT {name}: {len(before)} programs, most growth {kib} KiB "
          f"({which}), descriptors {fds:+d}", flush=True)
    check(kib <= ROOM_KIB, f"{name}: memory grows", which)
    check(fds <= 0, f"{name}: descriptors grow", before, after)


def test_a_long_job_and_many_short_ones():
    with cluster("soak") as c:
        job = apply(c, workers=PODS)
        listening(job.workers)
        run = Launch(job, ["muster", "launch", "--bootstrap", "pmix", "-n",
                           str(RANKS), "--slots-per-node",
                           str(RANKS // PODS), "--heartbeat", "1s", "--",
                           "/usr/bin/python3", "-c", PRINTER])
        began = time.monotonic()
        run.until("step 1 ", count=RANKS)
        looks = 0
        before = None
        while time.monotonic() - began < MINUTES * 60 - 10:
            for words in (["status"], ["ps"]):
                seen = job.launcher.exec(["muster", *words])
                equal(seen.returncode, 0, words[0], seen.stdout, seen.stderr)
                looks += 1
            time.sleep(1)
            if not before and time.monotonic() - began > MINUTES * 15:
                before = settled(job)
        held(f"{RANKS} ranks for {MINUTES:g} minutes, {looks} looks", before,
             settled(job))
        expect(run.wait(120), 0)
        nothing_left(job)

        for count in range(LAUNCHES + 1):
            if count == LAUNCHES // 10:
                before = settled(job)
            expect(launch(job, "--bootstrap", "pmix", "-n", str(PODS), "--",
                          "true"), 0)
        held(f"{LAUNCHES} launches", before, settled(job))
        nothing_left(job)


test_a_long_job_and_many_short_ones.hang_guard = int(
    MINUTES * 60 + 60 + LAUNCHES * 5 + 600)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
