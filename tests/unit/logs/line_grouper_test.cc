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

// PyTorch marks each line of what a rank died of, but the empty ones.
TEST_CASE("a traceback behind PyTorch's and torchrun's marks is one group") {
  for (const std::string mark :
       {"[rank3]: ", "[default3]:[rank3]: ", "[default0]:"}) {
    LineGrouper grouper;
    CHECK(grouper.next(mark + "Traceback (most recent call last):", 1) ==
          Step::kOpens);
    CHECK(grouper.next(mark + "  File \"a.py\", line 3, in f", 2) ==
          Step::kContinues);
    CHECK(grouper.next("", 3) == Step::kContinues);
    CHECK(grouper.next(mark + "KeyError: 'x'", 4) == Step::kCloses);
  }
  CHECK(without_rank_mark("[rank3] x") == "[rank3] x");
  CHECK(without_rank_mark("[rank") == "[rank");
}

TEST_CASE("native stack dumps of Open MPI are one group") {
  LineGrouper grouper;
  CHECK(grouper.next("[h:1] *** Process received signal ***", 1) ==
        Step::kOpens);
  CHECK(grouper.next("[h:1] Signal: Segmentation fault (11)", 2) ==
        Step::kContinues);
  CHECK(grouper.next("[h:1] *** End of error message ***", 3) == Step::kCloses);
}

TEST_CASE("what faulthandler prints ends with the first other line") {
  LineGrouper grouper;
  CHECK(grouper.next("Fatal Python error: Segmentation fault", 1) ==
        Step::kOpens);
  for (const char* line :
       {"", "Current thread 0x00007f12 (most recent call first):",
        "  File \"a.py\", line 3 in f", "",
        "Extension modules: a.b (total: 1)"}) {
    CHECK(grouper.next(line, 1) == Step::kContinues);
  }
  CHECK(grouper.next("step 2", 1) == Step::kAlone);
  CHECK_FALSE(grouper.open());
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
