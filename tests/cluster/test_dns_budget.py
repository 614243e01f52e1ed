# SPDX-License-Identifier: Apache-2.0
"""Launchers that wait for names ask the DNS server at most twice a second
each, however many workers they wait for: 50 waiting jobs are 100 queries per
second, not a storm. MUSTER_TEST_LAUNCHERS changes the number."""
import os
import sys
import time

from harness import Launch, apply, check, cluster, main

LAUNCHERS = int(os.environ.get("MUSTER_TEST_LAUNCHERS", "12"))
WORKERS = 8
SECONDS = 12
RATE = 2.0


def measure(launchers):
    with cluster("budget") as c:
        job = apply(c, workers=WORKERS, start={
            f"worker-{i}": "never" for i in range(WORKERS)})
        runs = [Launch(job, ["muster", "launch", "--bootstrap", "pmix", "--",
                             "true"]) for _ in range(launchers)]
        try:
            for run in runs:  # all wait: each has said so once
                run.until("waiting for", 90)
            time.sleep(1)
            since = time.monotonic()
            time.sleep(SECONDS)
            asked = len(c.dns.queries(since=since))
            took = time.monotonic() - since
        finally:
            for run in runs:
                run.process.terminate()
            for run in runs:
                run.wait(60)
        rate = asked / took / launchers
        print(f"  RESULT dns_queries_per_second_per_waiting_job={rate:.2f} "
              f"launchers={launchers} workers={WORKERS}", flush=True)
        check(0 < rate <= RATE * 1.1, f"{rate:.2f} queries/s per launcher")
        # SIGTERM from outside the pod, as a kubelet sends it: preempted.
        check(all(run.code == 202 for run in runs), "exit codes",
              {run.code for run in runs})


def test_waiting_launchers_are_polite():
    measure(LAUNCHERS)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
