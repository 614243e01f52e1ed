// SPDX-License-Identifier: Apache-2.0
// Does a job hang, or is it at work? By two looks at its ranks.
#include "launcher/hang/progress.h"

#include "catch.h"

namespace muster {
namespace {

using Frames = std::vector<std::string>;

constexpr int64_t kBetween = 3'000;  // milliseconds

const Frames kAllreduce = {"poll (libc.so.6)", "PMPI_Allreduce (libmpi.so.40)",
                           "main (app)"};
const Frames kAllreduceElsewhere = {
    "sched_yield (libc.so.6)", "opal_progress (libopen-pal.so.40)",
    "PMPI_Allreduce (libmpi.so.40)", "main (app)"};
const Frames kSynchronize = {"clock_gettime ([vdso])",
                             "? (libcuda.so.580.159.04)",
                             "cuCtxSynchronize_v2 (libcuda.so.580.159.04)",
                             "cudaDeviceSynchronize (libcudart.so.13)",
                             "PyEval_EvalCode (python3.12)",
                             "_start (python3.12)"};
const Frames kCompiles = {"? (python3.12)", "_PyAST_Compile (python3.12)",
                          "PyRun_StringFlags (python3.12)",
                          "_start (python3.12)"};
const Frames kSleeps = {"clock_nanosleep (libc.so.6)", "? (python3.12)",
                        "PyEval_EvalCode (python3.12)", "_start (python3.12)"};
const Frames kReads = {"read (libc.so.6)", "load_batch (app)", "main (app)"};
const Frames kMakesCommunicator = {
    "ioctl (libc.so.6)", "cuModuleLoadData (libcuda.so.580.159.04)",
    "? (libcudart.so.13)", "ncclCommInitRankConfig (libnccl.so.2)",
    "c10d::ProcessGroupNCCL::allgather (libtorch_cuda.so)"};
const Frames kWaitsForOthers = {
    "recv (libc.so.6)", "? (libnccl.so.2)",
    "ncclCommInitRankConfig (libnccl.so.2)",
    "c10d::ProcessGroupNCCL::allgather (libtorch_cuda.so)"};

// What a rank is like at the first look; then what has become of it.
struct Seen {
  Frames frames;
  std::string state = "S";
  int64_t cpu_ms = 0;  // since the first look, of kBetween; -1: not known
  int64_t bytes = 0;
  std::string mark = "a";
  Frames before = {"-"};  // other frames at the first look
};

HangLook look_at(const std::vector<Seen>& ranks, bool second) {
  HangLook look;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const Seen& one = ranks[i];
    PlacedStack placed;
    placed.host = "w-" + std::to_string(i);
    placed.stack.rank = static_cast<int>(i);
    placed.stack.pid = 100 + static_cast<int>(i);
    placed.stack.state = one.state;
    const bool other = !second && one.before != Frames{"-"};
    placed.stack.frames = other ? one.before : one.frames;
    placed.stack.cpu_ms = one.cpu_ms < 0 ? -1 : 500 + (second ? one.cpu_ms : 0);
    placed.stack.io_bytes = one.bytes < 0 ? -1 : 77 + (second ? one.bytes : 0);
    placed.stack.mark = second ? one.mark : one.mark.empty() ? "" : "a";
    look.stacks.push_back(std::move(placed));
  }
  return look;
}

Judgement judged(const std::vector<Seen>& ranks, bool lines = false) {
  return judge(look_at(ranks, false), look_at(ranks, true), kBetween, lines);
}

TEST_CASE("what is a hang, and what is work") {
  const Seen spins{kAllreduce, "R", 3'000};
  const Seen waits{kAllreduce, "S", 0};
  const Seen waits_for_gpu{kSynchronize, "R", 3'000};
  const Seen compiles{kCompiles, "R", 2'900};
  const Seen sleeps{kSleeps, "S", 0};
  const Seen reads{kReads, "S", 0};
  struct Case {
    const char* what;
    std::vector<Seen> ranks;
    Progress progress;
  };
  const std::vector<Case> cases = {
      {"all spin in MPI", {spins, spins}, Progress::kHangs},
      {"all wait in MPI", {waits, waits}, Progress::kHangs},
      {"wherever in it they are",
       {{kAllreduce, "R", 3'000, 0, "a", kAllreduceElsewhere}, spins},
       Progress::kHangs},
      {"a GPU waits for NCCL's kernel",
       {waits_for_gpu, sleeps},
       Progress::kHangs},
      {"a GPU computes for one rank alone", {waits_for_gpu}, Progress::kWorks},
      {"one sleeps, the others wait", {sleeps, spins}, Progress::kHangs},
      {"one reads for ever", {reads, waits}, Progress::kHangs},
      {"all import and compile", {compiles, compiles}, Progress::kWorks},
      {"one computes, the others wait", {compiles, spins}, Progress::kWorks},
      {"a rank comes back from its call",
       {{kAllreduce, "R", 3'000, 0, "b"}, spins},
       Progress::kWorks},
      {"an agent that sends no marks",
       {{kAllreduce, "R", -1, -1, ""}, {kAllreduce, "R", -1, -1, ""}},
       Progress::kHangs},
      {"an agent that sends no counters, and a rank that runs",
       {{kCompiles, "R", -1, -1, ""}, waits},
       Progress::kWorks},
      {"… and one that sleeps",
       {{kSleeps, "S", -1, -1, ""}, waits},
       Progress::kHangs},
      {"one goes from place to place",
       {{kReads, "S", 0, 0, "a", kSleeps}, waits},
       Progress::kWorks},
      {"one writes a checkpoint",
       {{kReads, "D", 100, 900 << 20}, waits},
       Progress::kWorks},
      {"all write it together, in MPI",
       {{kAllreduce, "S", 0, 900 << 20}, waits},
       Progress::kWorks},
      {"a monitor reads /proc meanwhile",
       {{kAllreduce, "S", 0, 30'000}, waits},
       Progress::kHangs},
      {"all sleep in their own code", {sleeps, sleeps}, Progress::kRests},
      {"one polls, the others sleep",
       {{kSleeps, "S", 100}, sleeps},
       Progress::kRests},
      {"a disk does not answer", {{{}, "D", 0, 0}, waits}, Progress::kHangs},
      {"all wait for the disk", {{{}, "D", 0, 0}}, Progress::kRests},
      {"no stack can be read, and all use the CPU",
       {{{}, "R", 3'000}, {{}, "R", 3'000}},
       Progress::kUnknown},
      {"NCCL loads its kernels",
       {{kMakesCommunicator, "R", 2'900}, {kMakesCommunicator, "R", 2'900}},
       Progress::kWorks},
      {"… on another thread",
       {{kWaitsForOthers, "S", 2'900}, {kWaitsForOthers, "S", 2'900}},
       Progress::kWorks},
      {"NCCL waits for another rank to come",
       {{kWaitsForOthers, "R", 3'000}, sleeps},
       Progress::kHangs},
      {"one whose stack cannot be read may be at work",
       {{{}, "R", 3'000}, waits},
       Progress::kUnknown},
      {"a walk that broke off is no other place",
       {{{"? (libcuda.so.580)"}, "R", 3'000, 0, "", kSynchronize}, sleeps},
       Progress::kHangs},
      {"… nor one that went not so far",
       {{kAllreduce, "R", 3'000, 0, "", {"PMPI_Allreduce (libmpi.so.40)"}}},
       Progress::kHangs},
      {"… and hides the call that a rank may be in",
       {{{"? (app)"}, "R", 3'000}, waits},
       Progress::kUnknown},
      {"registers that are known at one look only",
       {{kAllreduce, "R", 3'000, 0, "a-7"}, waits},
       Progress::kHangs},
      {"nobody is there", {}, Progress::kUnknown}};
  for (const Case& one : cases) {
    INFO(one.what);
    CHECK(judged(one.ranks).progress == one.progress);
  }
}

TEST_CASE("lines, NCCL's counts and PyTorch's numbers are progress") {
  const std::vector<Seen> ranks = {{kAllreduce, "R", 3'000},
                                   {kAllreduce, "R", 3'000}};
  CHECK(judged(ranks, true).progress == Progress::kWorks);
  auto first = look_at(ranks, false);
  auto second = look_at(ranks, true);
  first.nccl_answered = second.nccl_answered = true;
  first.nccl_counts = second.nccl_counts = {1, 41, 1, 42};
  CHECK(judge(first, second, kBetween, false).progress == Progress::kHangs);
  second.nccl_counts = {1, 42, 1, 43};
  CHECK(judge(first, second, kBetween, false).progress == Progress::kWorks);
  second.nccl_answered = false;  // no answer is no progress
  second.nccl_counts.clear();
  CHECK(judge(first, second, kBetween, false).progress == Progress::kHangs);
  wire::FlightRecord record;
  record.rank = 1;
  record.groups.push_back({"0", "default_pg", "2-7", {0, 1}, 17, {}});
  first.records = second.records = {record};
  CHECK(judge(first, second, kBetween, false).progress == Progress::kHangs);
  second.records[0].groups[0].last = 18;
  CHECK(judge(first, second, kBetween, false).progress == Progress::kWorks);
}

TEST_CASE("a record that was asked for is no work of the rank") {
  auto first = look_at({{kAllreduce}, {kReads}}, false);
  auto second = look_at({{kAllreduce}, {kReads}}, true);
  for (PlacedStack& one : first.stacks) {
    one.stack.cpu_ms_after = one.stack.cpu_ms + 2'000;
    one.stack.io_bytes_after = one.stack.io_bytes + (900 << 20);
  }
  for (PlacedStack& one : second.stacks) {
    one.stack.cpu_ms += 2'000;
    one.stack.io_bytes += 900 << 20;
  }
  CHECK(judge(first, second, kBetween, false).progress == Progress::kHangs);
}

TEST_CASE("the work is told, and who is at it") {
  const Seen compiles{kCompiles, "R", 2'900};
  const Seen writes{kReads, "S", 0, 900 << 20};
  const auto some = judged({compiles, compiles, writes, {kAllreduce}});
  CHECK(some.why == "CPU time (ranks 0-1), I/O (rank 2)");
  CHECK(some.ranks.at(3).doing == Doing::kWaits);
  CHECK(some.ranks.at(3).in_call);
  CHECK_FALSE(some.ranks.at(0).in_call);
  CHECK(judged({compiles}, true).why == "lines, CPU time (rank 0)");
}

TEST_CASE("CPU time tells more than another place") {
  CHECK(judged({{kCompiles, "R", 2'900, 0, "", kSleeps}}).why ==
        "CPU time (rank 0)");
  CHECK(judged({{kReads, "S", 0, 0, "", kSleeps}}).why ==
        "other calls (rank 0)");
}

TEST_CASE("a rank that was not there at the first look has only begun") {
  auto first = look_at({{kAllreduce}}, false);
  auto second = look_at({{kAllreduce}, {kAllreduce}}, true);
  CHECK(judge(first, second, kBetween, false).progress == Progress::kWorks);
  first = look_at({{kAllreduce}, {kAllreduce}}, false);
  first.stacks[1].stack.pid = 7;
  CHECK(judge(first, second, kBetween, false).progress == Progress::kWorks);
}

}  // namespace
}  // namespace muster
