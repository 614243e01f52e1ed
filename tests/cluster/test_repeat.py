# SPDX-License-Identifier: Apache-2.0
"""200 launches at 4 pods with names, links and workers that come and go."""
import os
import sys

from harness import main
from repeat import many


def test_200_launches():
    many(int(os.environ.get("MUSTER_TEST_LAUNCHES", "200")))


test_200_launches.hang_guard = 800

if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
