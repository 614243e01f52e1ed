// SPDX-License-Identifier: Apache-2.0
#include "logs/line_grouper.h"

#include "catch.h"

using namespace muster;
using Step = LineGrouper::Step;

TEST_CASE("a chained traceback is one group") {
  LineGrouper grouper;
  CHECK(grouper.next("step 1", 0) == Step::kAlone);
  CHECK(grouper.next("Traceback (most recent call last):", 1) == Step::kOpens);
  CHECK(grouper.next("  File \"a.py\", line 3, in f", 2) == Step::kContinues);
  CHECK(grouper.next("    g()", 3) == Step::kContinues);
  CHECK(grouper.next("KeyError: 'x'", 4) == Step::kCloses);
  CHECK(grouper.next("step 2", 5) == Step::kAlone);
}

TEST_CASE("native stack dumps of Open MPI are one group") {
  LineGrouper grouper;
  CHECK(grouper.next("[h:1] *** Process received signal ***", 1) ==
        Step::kOpens);
  CHECK(grouper.next("[h:1] Signal: Segmentation fault (11)", 2) ==
        Step::kContinues);
  CHECK(grouper.next("[h:1] *** End of error message ***", 3) == Step::kCloses);
}

TEST_CASE("silence and size end a group") {
  LineGrouper grouper;
  CHECK(grouper.next("Traceback (most recent call last):", 0) == Step::kOpens);
  CHECK(grouper.next("  File", LineGrouper::kGroupGapNs + 1) == Step::kAlone);
  CHECK(grouper.next("Traceback (most recent call last):",
                     LineGrouper::kGroupGapNs + 2) == Step::kOpens);
  int continued = 0;
  for (int i = 0; i < 2 * LineGrouper::kMaxGroupLines; ++i) {
    if (grouper.next("  x", LineGrouper::kGroupGapNs + 3) == Step::kContinues) {
      ++continued;
    }
  }
  CHECK(continued < LineGrouper::kMaxGroupLines);
}
