# SPDX-License-Identifier: Apache-2.0
"""Many launches at 4 pods while names are late, flap and move and workers
restart: none hangs, none starts short, nothing is left. Used by
test_repeat.py and long_repeat.py; the seed of a failure is printed."""
import collections
import concurrent.futures
import os
import random
import threading
import time

from harness import Launch, apply, check, cluster, equal, nothing_left

WORKERS = 4
NAMES = [f"pi-worker-{i}" for i in range(WORKERS)]


def trouble(c, job, dice):
    """One thing that goes wrong for a moment. Its name, for messages."""
    worker = dice.randrange(WORKERS)
    name = NAMES[worker]
    seconds = dice.uniform(0.1, 1.0)
    kind = dice.choice(["none", "none", "late", "servfail", "silent", "flap",
                        "moved", "restart", "kill"])
    if kind == "late":
        c.dns.late(name, seconds)
    elif kind == "servfail":
        c.dns.servfail(name, seconds=seconds)
    elif kind == "silent":
        c.dns.silent(name, seconds=seconds / 2)
    elif kind == "moved":  # for a moment: another pod of this job
        other = job.workers[(worker + 1) % WORKERS].ip
        c.dns.set(name, [other], seconds=seconds)
    elif kind == "flap":
        rule = c.drop(job.launcher, job.workers[worker], port=2222)
        timer = threading.Timer(seconds, rule.remove)
        timer.start()
        return f"flap {name}", timer
    elif kind in ("restart", "kill"):
        if kind == "kill":
            job.workers[worker].kill()
        timer = threading.Timer(seconds / 2, job.workers[worker].restart)
        timer.start()
        return f"{kind} {name}", timer
    return f"{kind} {name}", None


def one_launch(c, job, dice, number):
    what, timer = trouble(c, job, dice)
    # The restart must come before the job or not matter to it.
    run = Launch(job, ["muster", "launch", "-n", str(WORKERS), "--bootstrap",
                       "pmix", "--grace", "1s", "--", "sh", "-c",
                       "hostname; exit $((RANK * 0))"])
    try:
        run.wait(90)
    finally:
        if timer:
            timer.join(30)
    about = f"launch {number} ({what})"
    # A worker that restarts after all were ready is lost: that is told, not
    # hidden, and is worth a retry.
    if what.startswith("restart") and run.code == 201:
        check(what.split()[1] in run.err, f"{about}: not named", run.err)
    else:
        equal(run.code, 0, f"{about}: exit code", run.out, run.err)
        hosts = sorted(x for lines in run.lines().values() for x in lines)
        equal(hosts, NAMES, f"{about}: hosts", run.out, run.err)
    c.dns.clear()
    return what.split()[0], run


def lane(number, launches, seed, results):
    """`launches` one after the other in a cluster of their own."""
    dice = random.Random(seed * 1000 + number)
    with cluster(f"repeat-{number}") as c:
        job = apply(c, workers=WORKERS)
        for i in range(1, launches + 1):
            what, run = one_launch(c, job, dice, f"{number}.{i}")
            results.append((what, run.seconds))
            if i % 20 == 0:
                nothing_left(job)
        nothing_left(job)


def many(launches, seed=None, lanes=4):
    """Some lanes side by side: much of a launch is waiting."""
    seed = seed or int(os.environ.get("MUSTER_TEST_SEED",
                                      time.time_ns() // 1_000_000))
    print(f"  seed {seed} (MUSTER_TEST_SEED repeats it)", flush=True)
    results = []
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(lanes) as pool:
        parts = [launches // lanes + (i < launches % lanes)
                 for i in range(lanes)]
        running = [pool.submit(lane, i, part, seed, results)
                   for i, part in enumerate(parts)]
        for future in running:
            future.result()
    took = time.monotonic() - began
    counts = collections.Counter(what for what, _ in results)
    print(f"  RESULT launches={len(results)} seconds={took:.0f} "
          f"slowest_s={max(seconds for _, seconds in results):.1f} "
          f"{dict(sorted(counts.items()))}", flush=True)
