// SPDX-License-Identifier: Apache-2.0
// What a launch says of failures that were recorded on a machine with a GPU,
// from the bytes that its ranks wrote, as the launcher keeps them.
#include <map>

#include "base/fd.h"
#include "base/text.h"
#include "catch.h"
#include "diagnosis/verdict.h"
#include "launcher/output/line_tail.h"

namespace muster {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

// Two ranks on two nodes with one GPU each, as `muster launch --local 2x1`
// recorded them; rank `failed` ended first, with code 1.
Evidence recorded(const std::string& run, int failed) {
  const auto text =
      read_file(std::string(MUSTER_RECORDED_RUNS) + "/" + run + "/stdout");
  REQUIRE(text);
  std::map<int, LineTail> tails;
  for (const int rank : {0, 1}) {
    tails.emplace(rank, LineTail(12, true, 16 << 10));
  }
  int64_t now = kSecond;
  for (const auto line : split(*text, '\n')) {
    if (line.size() < 2) continue;
    const size_t end = line.find("] ");
    const std::string_view rest =
        end == line.npos ? std::string_view() : line.substr(end + 2);
    tails.at(line[1] - '0').keep(rest, now += 1'000'000);
  }
  Evidence out;
  out.job.backend = "pmix";
  out.job.phase = "run";
  out.job.world_size = 2;
  for (const int rank : {0, 1}) {
    RankEvidence evidence;
    evidence.rank = rank;
    evidence.node = rank;
    evidence.host = "node" + std::to_string(rank);
    evidence.outcome = RankOutcome::kExited;
    evidence.wait_status = 1 << 8;
    evidence.exit_ns = now + (rank == failed ? 1 : 2) * kSecond;
    tails.at(rank).append_to(evidence.lines, &RuleBook::built_in());
    out.ranks.push_back(std::move(evidence));
    NodeEvidence node;
    node.node = rank;
    node.host = out.ranks.back().host;
    node.outcome = NodeOutcome::kConnected;
    node.gpus = 1;
    node.gpu_driver = "580.159.04";
    out.nodes.push_back(std::move(node));
  }
  return out;
}

TEST_CASE("a device-side assertion is shown by the line that tells") {
  const Verdict verdict = diagnose(recorded("assertion", 1));
  CHECK(verdict.code == "cuda_illegal_access");
  REQUIRE_FALSE(verdict.evidence.empty());
  CHECK(verdict.evidence[0].find("Indexing.cu:1515") != std::string::npos);
  CHECK(verdict.evidence[0].find("Assertion `srcIndex < srcSelectDimSize` "
                                 "failed") != std::string::npos);
}

TEST_CASE("hidden GPUs are no missing driver") {
  Evidence evidence = recorded("nogpu", 0);
  CHECK(diagnose(evidence).code != "gpu_driver_platform");
  for (NodeEvidence& node : evidence.nodes) {
    node.gpus_hidden_by = "CUDA_VISIBLE_DEVICES=";
  }
  const Verdict verdict = diagnose(evidence);
  CHECK(verdict.code == "gpus_hidden");
  CHECK(verdict.headline.find("CUDA_VISIBLE_DEVICES=") != std::string::npos);
}

}  // namespace
}  // namespace muster
