# SPDX-License-Identifier: Apache-2.0
"""One of 64 ranks on 8 pods is missing from a real Allreduce: named within 10 s
of the threshold. The line that begins with RESULT is for docs/test-results.md."""
import sys
import time

from harness import apply, check, cluster, contains, equal, main
from test_hang import GO, hanging

RANKS = 64
PODS = 8
MISSING = 37
THRESHOLD = 10  # --hang-timeout, seconds
NAMED_WITHIN = 10  # seconds behind it; the promise


def test_one_of_64_ranks_is_missing_from_an_allreduce():
    with cluster("hang64") as c:
        job = apply(c, workers=PODS)
        run = hanging(job, RANKS, MISSING, "--bootstrap", "pmix",
                      "--hang-timeout", f"{THRESHOLD}s", "--slots-per-node",
                      str(RANKS // PODS))
        run.until("all are up", 240)
        began = time.monotonic()
        run.until("where the others wait", 120)
        behind = time.monotonic() - began - THRESHOLD
        print(f"  RESULT ranks={RANKS} named_after_threshold_s={behind:.1f}",
              flush=True)
        line = [x for x in run.err.splitlines()
                if "where the others wait" in x][0]
        contains(line, f"Rank {MISSING} holds up the rest")
        contains(line, f"rank {MISSING} on pi-worker-{MISSING // 8}")
        check(behind < NAMED_WITHIN, "named late", behind, line)
        job.workers[MISSING // (RANKS // PODS)].exec(["touch", GO], check=True)
        run.wait(240)
        equal(run.code, 0, "exit code", run.err)


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
