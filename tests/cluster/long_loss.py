# SPDX-License-Identifier: Apache-2.0
"""10^8 lines of 64 ranks, not a byte lost; MUSTER_LOSS_LINES asks for fewer.
The long tier of test_loss.py: `scripts/test --long`."""
import os
import sys

from harness import check, main
from test_loss import Job, run_and_check

LINES = int(os.environ.get("MUSTER_LOSS_LINES", "100000000"))
RANKS = 64


def test_a_hundred_million_lines_of_64_ranks():
    job = Job("plain", LINES // RANKS + 1, seed=7)
    report = run_and_check(job, RANKS, timeout=100 * 60)
    check(report["lines"] >= LINES, "lines", report["lines"])


test_a_hundred_million_lines_of_64_ranks.hang_guard = 110 * 60


if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
