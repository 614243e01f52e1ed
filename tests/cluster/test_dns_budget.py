# SPDX-License-Identifier: Apache-2.0
"""A launcher that waits for N names asks the DNS server for 20 + N of them a
second at most, and after 10 s more rarely the longer it waits, so that many
waiting jobs are no storm. MUSTER_TEST_LAUNCHERS changes how many wait."""
import os
import sys
import time

from harness import Launch, apply, check, cluster, main

LAUNCHERS = int(os.environ.get("MUSTER_TEST_LAUNCHERS", "12"))
WORKERS = 8
MOST = 20 + WORKERS  # look-ups a second; one query each in a pod of one family
BRISK = 10           # seconds; from then on MOST * BRISK / waited
LATER = 30
SLACK = 1.1


def rate_of(c, seconds, launchers):
    since = time.monotonic()
    time.sleep(seconds)
    asked = len(c.dns.queries(since=since))
    return asked / (time.monotonic() - since) / launchers


def measure(launchers):
    with cluster("budget") as c:
        job = apply(c, workers=WORKERS, start={
            f"worker-{i}": "never" for i in range(WORKERS)})
        runs = [Launch(job, ["muster", "launch", "--bootstrap", "pmix", "--",
                             "true"]) for _ in range(launchers)]
        begun = time.monotonic()  # by all
        try:
            for run in runs:  # all wait: each has said so once
                run.until("waiting for", 90)
            first = rate_of(c, 4, launchers)
            time.sleep(max(0, begun + LATER - time.monotonic()))
            later = rate_of(c, 6, launchers)
        finally:
            for run in runs:
                run.process.terminate()
            for run in runs:
                run.wait(60)
        print(f"  RESULT dns_queries_per_second_per_waiting_job={first:.2f} "
              f"after_{LATER}_s={later:.2f} launchers={launchers} "
              f"workers={WORKERS}", flush=True)
        check(0 < first <= MOST * SLACK, f"{first:.2f} queries/s a launcher")
        check(0 < later <= MOST * BRISK / LATER * SLACK,
              f"{later:.2f} queries/s a launcher after {LATER} s")
        # SIGTERM from outside the pod, as a kubelet sends it: preempted.
        check(all(run.code == 202 for run in runs), "exit codes",
              {run.code for run in runs})


def test_waiting_launchers_are_polite():
    measure(LAUNCHERS)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
