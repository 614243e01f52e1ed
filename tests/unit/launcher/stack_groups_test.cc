// SPDX-License-Identifier: Apache-2.0
// Which rank the others wait for.
#include "launcher/hang/stack_groups.h"

#include "catch.h"

using namespace muster;

namespace {

PlacedStack stack(int rank, std::vector<std::string> frames) {
  PlacedStack out;
  out.stack.rank = rank;
  out.stack.state = "R";
  out.stack.frames = std::move(frames);
  out.host = "w-" + std::to_string(rank / 8);
  return out;
}

std::vector<PlacedStack> one_missing(int ranks, int missing) {
  std::vector<PlacedStack> all;
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank == missing) {
      all.push_back(
          stack(rank, {"read (libc.so.6)", "load (app)", "main (app)"}));
    } else if (rank % 2 == 0) {
      all.push_back(
          stack(rank, {"poll (libc.so.6)", "progress (libopal.so)",
                       "PMPI_Allreduce (libmpi.so.40)", "main (app)"}));
    } else {
      all.push_back(
          stack(rank, {"PMPI_Allreduce (libmpi.so.40)", "main (app)"}));
    }
  }
  return all;
}

}  // namespace

TEST_CASE("the one of 64 ranks that is not in the collective is named") {
  const auto stacks = one_missing(64, 13);
  const auto groups = group_stacks(stacks);
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].ranks.size() == 63);
  CHECK(path_text(groups[0]) == "main > PMPI_Allreduce");
  CHECK(minority(groups) == std::set<int>{13});
  const std::string text = groups_sentence(groups, stacks, {13});
  CHECK(text ==
        "ranks 0-12,14-63 are in main > PMPI_Allreduce; rank 13 on w-1 is in "
        "main > load > read and not in PMPI_Allreduce, where the others wait");
}

TEST_CASE("ranks that all wait in one place have no odd one") {
  const auto groups = group_stacks(one_missing(8, 99));
  CHECK(groups.size() == 1);
  CHECK(minority(groups).empty());
}

TEST_CASE("another collective than most is odd too") {
  auto stacks = one_missing(8, 99);
  stacks[3] = stack(3, {"PMPI_Bcast (libmpi.so.40)", "main (app)"});
  CHECK(minority(group_stacks(stacks)) == std::set<int>{3});
}

TEST_CASE("two halves that differ accuse nobody") {
  std::vector<PlacedStack> stacks;
  for (int rank = 0; rank < 8; ++rank) {
    stacks.push_back(stack(rank, {rank < 4 ? "a (x)" : "b (x)", "main (x)"}));
  }
  CHECK(minority(group_stacks(stacks)).empty());
}

TEST_CASE("a rank without a stack says why") {
  auto stacks = one_missing(4, 99);
  stacks[2].stack.frames.clear();
  stacks[2].stack.problem = "it is in an uninterruptible wait";
  stacks[2].stack.state = "D";
  const auto groups = group_stacks(stacks);
  CHECK(minority(groups) == std::set<int>{2});
  CHECK(groups_text(groups, stacks, {2}).find("uninterruptible") !=
        std::string::npos);
  CHECK(groups_sentence(groups, stacks, {2})
            .find("rank 2 on w-0 (waits for a disk or a device): it is in an "
                  "uninterruptible wait and not in PMPI_Allreduce, where the "
                  "others wait") != std::string::npos);
}

TEST_CASE("frames that tell nobody anything are short") {
  const auto path = [](std::vector<std::string> frames) {
    return path_text(group_stacks({stack(0, std::move(frames))}).front());
  };
  CHECK(path({"clock_nanosleep (libc.so.6)", "? (python3.12)",
              "PyEval_EvalCode (python3.12)", "Py_BytesMain (python3.12)",
              "? (libc.so.6)", "__libc_start_main (libc.so.6)",
              "_start (python3.12)"}) == "clock_nanosleep, called by Python");
  CHECK(path({"? (python3.12)", "? (python3.12)", "_PyAST_Compile (python3.12)",
              "PyRun_StringFlags (python3.12)", "_start (python3.12)"}) ==
        "Python (_PyAST_Compile)");
  CHECK(path({"? (python3.12)", "_start (python3.12)"}) == "Python");
  CHECK(path({"? (libcuda.so.580.159.04)", "? (libcuda.so.580.159.04)",
              "cuLaunchKernel (libcuda.so.580.159.04)", "? (libcudart.so.13)",
              "step (app)", "main (app)"}) ==
        "main > step > libcudart.so.13 (1 frame) > cuLaunchKernel > "
        "libcuda.so.580 (2 frames)");
  CHECK(path({"_start (app)"}) == "_start");
}
