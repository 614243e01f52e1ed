# SPDX-License-Identifier: Apache-2.0
"""1,000 launches at 4 pods with names, links and workers that come and go."""
import sys

from harness import main
from repeat import many


def test_1000_launches():
    many(1000)


test_1000_launches.hang_guard = 5400

if __name__ == "__main__":
    sys.exit(main(sys.modules[__name__]))
