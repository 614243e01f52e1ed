# SPDX-License-Identifier: Apache-2.0
"""What keeps the tests from running, in one sentence for a person."""


class Problem(Exception):
    pass
