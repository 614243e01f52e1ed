// SPDX-License-Identifier: Apache-2.0
// Xids as the driver's events and as lines of a kernel's log: one table says
// what both mean; what a rank's failure owes to them.
#include <algorithm>
#include <csignal>

#include "base/text.h"
#include "catch.h"
#include "diagnosis/book/builtin_rules.h"
#include "diagnosis/book/xid_book.h"
#include "diagnosis/log/log_evidence.h"
#include "diagnosis/verdict.h"

using namespace muster;

namespace {

constexpr int64_t kS = 1'000'000'000;
constexpr int kExitOne = 1 << 8;

std::vector<int> numbers() {
  std::vector<int> out;
  for (int number = 1; number < 1000; ++number) {
    if (find_xid(number) != nullptr) out.push_back(number);
  }
  return out;
}

RankEvidence rank(int number, int wait_status, int64_t at_ns,
                  std::vector<std::string> lines = {}) {
  RankEvidence out;
  out.rank = number;
  out.node = 1;
  out.host = "w-0";
  out.outcome = wait_status < 0 ? RankOutcome::kRunning : RankOutcome::kExited;
  out.wait_status = std::max(wait_status, 0);
  out.exit_ns = at_ns;
  for (std::string& line : lines) {
    out.lines.push_back({at_ns - kS / 10, true, std::move(line)});
  }
  return out;
}

Evidence job(std::vector<RankEvidence> ranks, std::vector<XidEvidence> xids) {
  Evidence out;
  out.job.backend = "pmix";
  out.job.phase = "run";
  out.job.world_size = static_cast<int>(ranks.size());
  out.ranks = std::move(ranks);
  NodeEvidence node;
  node.node = 1;
  node.host = "w-0";
  node.outcome = NodeOutcome::kConnected;
  node.xids = std::move(xids);
  out.nodes = {node};
  return out;
}

XidEvidence xid(int number, int64_t at_ns, int gpu = 0) {
  return {number, gpu, "0000:1a:00.0", "GPU-" + std::to_string(gpu),
          false,  1,   at_ns,          at_ns};
}

bool has(const std::string& text, const std::string& part) {
  INFO(text);
  INFO(part);
  return text.find(part) != std::string::npos;
}

bool any_has(const std::vector<std::string>& texts, const std::string& part) {
  return std::any_of(texts.begin(), texts.end(),
                     [&part](const auto& text) { return has(text, part); });
}

}  // namespace

TEST_CASE("each row of the table can be read, and all that matter are there") {
  size_t rows = 0;
  for (const std::string_view row : split(builtin_xids(), '\n')) {
    if (row.empty() || row.starts_with('#')) continue;
    INFO(std::string(row));
    const auto fields = split(row, '\t');
    REQUIRE(fields.size() == 5);
    CHECK((fields[1] == "program" || fields[1] == "hardware" ||
           fields[1] == "driver" || fields[1] == "either"));
    CHECK((fields[2] == "ends" || fields[2] == "tells"));
    CHECK((fields[3] == "out" || fields[3] == "in"));
    const XidMeaning* const read =
        find_xid(static_cast<int>(parse_integer(fields[0]).value_or(-1)));
    REQUIRE(read != nullptr);
    CHECK(read->text == fields[4]);
    // No program has its node left out.
    if (read->fault == XidFault::kProgram) CHECK_FALSE(read->leave_out);
    ++rows;
  }
  CHECK(rows == numbers().size());
  for (const int number :
       {8,   11,  13,  31,  32,  43,  44,  45,  46,  48,  56,  57,
        58,  61,  62,  63,  64,  68,  69,  74,  79,  92,  94,  95,
        109, 110, 119, 120, 121, 123, 136, 137, 140, 143, 144, 145,
        146, 147, 148, 149, 150, 154, 155, 156, 158}) {
    INFO(number);
    CHECK(find_xid(number) != nullptr);
  }
}

TEST_CASE("a kernel's line and the table agree on whose fault an Xid is") {
  for (const int number : numbers()) {
    INFO(number);
    const Verdict verdict = diagnose(evidence_from_log(
        "[  200.036504] NVRM: Xid (PCI:0000:00:06): " + std::to_string(number) +
            ", pid=1105, name=python3, channel 0x0000003a",
        RuleBook::built_in()));
    CHECK(verdict.code == (is_of_machine(*find_xid(number))
                               ? "gpu_hardware"
                               : "cuda_illegal_access"));
    CHECK(has(verdict.cause, std::string(find_xid(number)->text)));
  }
}

TEST_CASE("a rank that fails after a GPU has gone is explained by it") {
  for (const int number : numbers()) {
    const XidMeaning& meaning = *find_xid(number);
    if (!is_of_machine(meaning) || !meaning.ends) continue;
    INFO(number);
    const Evidence evidence =
        job({rank(0, kExitOne, 105 * kS, {"RuntimeError: CUDA error"}),
             rank(1, -1, 0)},
            {xid(number, 100 * kS)});
    const Verdict verdict = diagnose(evidence);
    CHECK(verdict.code == "gpu_hardware");
    CHECK(verdict.confidence == Confidence::kProven);
    CHECK(verdict.first_rank == 0);
    CHECK(verdict.host == "w-0");
    CHECK(has(verdict.headline, "Xid " + std::to_string(number)));
    CHECK(has(verdict.cause, std::string(meaning.text)));
    CHECK(has(verdict.cause, "hardware"));
    CHECK(any_has(verdict.evidence, "GPU-0"));
    CHECK(any_has(verdict.evidence, "5.0 s before rank 0 ended"));
    CHECK(any_has(verdict.evidence, "ranks 0, 1 may use this GPU"));
    CHECK(any_has(verdict.remedies, meaning.leave_out ? "cordon" : "reset"));
    // The code stays the rank's own.
    CHECK(verdict.exit_class == "rank_failed");
    CHECK(verdict.exit_code == 1);
    CHECK_FALSE(verdict.retryable);
  }
}

TEST_CASE("a program's own Xid names the program, in its own words if any") {
  for (const int number : {13, 31, 43}) {
    INFO(number);
    const Verdict silent =
        diagnose(job({rank(0, kExitOne, 102 * kS)}, {xid(number, 100 * kS)}));
    CHECK(silent.code == "cuda_illegal_access");
    CHECK(silent.confidence == Confidence::kProven);
    CHECK(has(silent.headline, "Xid " + std::to_string(number)));
    CHECK(has(silent.cause, "fault: the program"));
    CHECK_FALSE(any_has(silent.remedies, "cordon"));
    CHECK(silent.exit_class == "rank_failed");
    CHECK_FALSE(silent.retryable);
    const Verdict says = diagnose(
        job({rank(0, kExitOne, 102 * kS,
                  {"RuntimeError: CUDA error: device-side assert triggered"})},
            {xid(number, 100 * kS)}));
    CHECK(says.code == "cuda_illegal_access");
    CHECK(has(says.headline, "device-side assert"));
    CHECK(has(says.cause, "Xid " + std::to_string(number)));
    CHECK(has(says.cause, "2.0 s before rank 0 ended"));
  }
}

TEST_CASE("pods that share a GPU all hear of its Xids: none is sure") {
  Evidence evidence =
      job({rank(0, -1, 0), rank(1, kExitOne, 102 * kS)}, {xid(43, 100 * kS)});
  CHECK(diagnose(evidence).confidence == Confidence::kLikely);
  evidence.ranks[0].node = 2;
  evidence.nodes.push_back(evidence.nodes[0]);
  evidence.nodes[1].node = 2;
  evidence.nodes[1].host = "w-1";
  evidence.nodes[1].xids[0].gpu = 5;  // by its own count
  const Verdict verdict = diagnose(evidence);
  CHECK(verdict.code == "cuda_illegal_access");
  CHECK(verdict.first_rank == 1);
  CHECK(verdict.confidence == Confidence::kLikely);
  CHECK(any_has(verdict.evidence, "ranks 0, 1 may use this GPU"));
  evidence.nodes[1].xids[0].uuid = "GPU-other";
  CHECK(diagnose(evidence).confidence == Confidence::kProven);
}

TEST_CASE("the driver does not say which of several ranks it was") {
  const Verdict verdict = diagnose(
      job({rank(0, kExitOne, 102 * kS), rank(1, -1, 0)}, {xid(43, 100 * kS)}));
  CHECK(verdict.code == "cuda_illegal_access");
  CHECK(verdict.confidence == Confidence::kLikely);
  CHECK(any_has(verdict.evidence,
                "the driver does not say whose work it was: ranks 0, 1"));
}

TEST_CASE("an Xid of another rank's GPU, or long before, explains nothing") {
  Evidence other = job({rank(0, kExitOne, 102 * kS), rank(1, -1, 0)},
                       {xid(43, 100 * kS, 1)});
  other.ranks[0].gpus = {"GPU-0"};
  other.ranks[1].gpus = {"GPU-1"};
  CHECK(diagnose(other).code == "exit_nonzero_silent");
  other.ranks[0].gpus = {"1"};  // by its index
  CHECK(diagnose(other).code == "cuda_illegal_access");
  CHECK(
      diagnose(job({rank(0, kExitOne, 200 * kS)}, {xid(43, 100 * kS)})).code ==
      "exit_nonzero_silent");
  // Too late to have led to it.
  CHECK(
      diagnose(job({rank(0, kExitOne, 100 * kS)}, {xid(43, 110 * kS)})).code ==
      "exit_nonzero_silent");
}

TEST_CASE("what only tells something is shown and explains nothing") {
  for (const int number : {45, 63, 92, 154}) {
    INFO(number);
    const Verdict verdict = diagnose(
        job({rank(0, kExitOne, 102 * kS, {"ValueError: no such column"})},
            {xid(number, 101 * kS)}));
    CHECK(verdict.code != "gpu_hardware");
    CHECK(verdict.code != "cuda_illegal_access");
    CHECK(any_has(verdict.evidence, "Xid " + std::to_string(number)));
  }
}

TEST_CASE("a GPU that went long ago explains a silent end, not a clear error") {
  const XidEvidence gone = xid(79, 100 * kS);
  const Verdict silent = diagnose(job({rank(0, kExitOne, 900 * kS)}, {gone}));
  CHECK(silent.code == "gpu_hardware");
  CHECK(silent.confidence == Confidence::kLikely);
  CHECK(
      diagnose(job({rank(0, kExitOne, 900 * kS,
                         {"torch.cuda.OutOfMemoryError: CUDA out of memory."})},
                   {gone}))
          .code == "gpu_oom");
}

TEST_CASE("a job that ended well has no failure, whatever the driver told") {
  CHECK(diagnose(job({rank(0, 0, 102 * kS)}, {xid(63, 100 * kS)})).code ==
        "no_failure");
}
