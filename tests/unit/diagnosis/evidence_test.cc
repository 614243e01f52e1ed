// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/evidence.h"

#include "catch.h"

using namespace muster;

TEST_CASE("evidence survives its JSON form") {
  Evidence evidence;
  evidence.job.argv = {"python", "a \"b\""};
  evidence.job.world_size = 4;
  evidence.job.tool_lines = {{5, false, std::string("bytes \xff\x01")}};
  RankEvidence rank;
  rank.rank = 3;
  rank.outcome = RankOutcome::kRefused;
  rank.refusal = {"exe_not_found", "w", "y", "h", "t"};
  rank.lines = {{7, true, "last words"}};
  evidence.ranks = {rank};
  NodeEvidence node;
  node.node = 2;
  node.outcome = NodeOutcome::kLost;
  node.memory = {{1, 2, 3, 4, 5}};
  node.disks = {{"/dev/shm", 100, 0}};
  node.xids = {{79, 3, "0000:1a:00.0", "GPU-5", true, 2, 7, 9}};
  evidence.nodes = {node};
  evidence.findings = {{Severity::kError, "c", "t", "e", "r", 3}};
  evidence.collectives = {{"PyTorch: rank 3 waits", {3, 5}, true, true}};
  const std::string text = to_json(evidence);
  const auto again = evidence_from_json(text);
  REQUIRE(again);
  CHECK(to_json(*again) == text);
  CHECK(again->ranks[0].refusal.code == "exe_not_found");
  CHECK(again->collectives[0].ranks == std::vector<int>{3, 5});
  CHECK(again->nodes[0].memory[0].oom_kills == 5);
  CHECK(again->nodes[0].xids[0].last_ns == 9);
  CHECK(again->job.tool_lines[0].text == evidence.job.tool_lines[0].text);
}

TEST_CASE("evidence with little in it is fine, a wrong one gets a sentence") {
  CHECK(evidence_from_json("{\"evidence\":1}"));
  for (const char* const wrong :
       {"", "[]", "{}", "{\"evidence\":2}", "{\"evidence\":1,\"ranks\":3}",
        "{\"evidence\":1,\"ranks\":[{\"outcome\":\"lucky\"}]}"}) {
    const auto evidence = evidence_from_json(wrong);
    INFO(wrong);
    REQUIRE_FALSE(evidence);
    CHECK(evidence.error().code == "evidence");
    CHECK(evidence.error().text().find('\n') == std::string::npos);
  }
}
