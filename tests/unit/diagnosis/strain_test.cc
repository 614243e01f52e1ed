// SPDX-License-Identifier: Apache-2.0
// What held the nodes back: thresholds, order, and which verdicts show it.
#include "diagnosis/strain.h"

#include "catch.h"
#include "diagnosis/book/rule_book.h"
#include "diagnosis/verdict.h"

using namespace muster;

namespace {

NodeEvidence node(int number) {
  NodeEvidence out;
  out.node = number;
  out.host = "worker-" + std::to_string(number);
  out.outcome = NodeOutcome::kConnected;
  return out;
}

bool any(const std::vector<std::string>& lines, const std::string& part) {
  for (const std::string& line : lines) {
    if (line.find(part) != line.npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("nothing is said of nodes that were not held back") {
  std::vector<NodeEvidence> nodes = {node(0), node(1)};
  nodes[0].strain.job = {0.1, 0.1, 0.1, 0.1};
  for (const StrainKind kind : {StrainKind::kNetwork, StrainKind::kCpu,
                                StrainKind::kMemory, StrainKind::kStorage}) {
    CHECK(strain_text(nodes, kind).empty());
  }
  CHECK(network_rate_text(nodes).empty());
}

TEST_CASE("the worst nodes come first, and a choked end counts") {
  std::vector<NodeEvidence> nodes;
  for (int i = 0; i < 5; ++i) nodes.push_back(node(i));
  for (const size_t i : {1u, 2u, 3u}) nodes[i].strain.job.throttled = 0.4;
  nodes[4].strain.job.throttled = 0.05;
  nodes[4].strain.recent.throttled = 0.87;
  nodes[4].strain.recent_ms = 14000;
  CHECK(strain_text(nodes, StrainKind::kCpu) ==
        "held back by the CPU limit, share of the time: worker-4 87 %, "
        "worker-1 40 %, worker-2 40 % and 1 more");
  nodes[4].strain.recent_ms = 400;  // too short to say anything
  CHECK(strain_text(nodes, StrainKind::kCpu).find("worker-4") ==
        std::string::npos);
}

TEST_CASE("a watchdog's verdict shows the lossy adapter and the slow pod") {
  Evidence evidence;
  evidence.job.backend = "pmix";
  evidence.job.world_size = 2;
  evidence.nodes = {node(0), node(1), node(2)};
  evidence.nodes[2].strain.grown = {"mlx5_0/1 link_downed +1",
                                    "mlx5_0/1 local_ack_timeout_err +212"};
  evidence.nodes[1].strain.job = {0.5, -1, -1, 0.6};
  RankEvidence rank;
  rank.rank = 0;
  rank.node = 1;
  rank.host = "worker-1";
  rank.outcome = RankOutcome::kExited;
  rank.wait_status = 1 << 8;
  rank.exit_ns = 100;
  rank.lines = {{90, true,
                 "[Rank 0] Watchdog caught collective operation timeout: "
                 "WorkNCCL(SeqNum=12, OpType=ALLREDUCE)"}};
  evidence.ranks = {rank};
  const Verdict verdict = diagnose(evidence);
  CHECK(verdict.code == "nccl_timeout");
  CHECK(any(verdict.evidence,
            "packets were lost or broken while the job ran: worker-2: "
            "mlx5_0/1 link_downed +1, mlx5_0/1 local_ack_timeout_err +212"));
  CHECK(any(verdict.evidence,
            "held back by the CPU limit, share of the time: "
            "worker-1 50 %"));
  CHECK(any(verdict.evidence,
            "stood still waiting for storage, share of the "
            "time: worker-1 60 %"));
  // The same counters explain no missing module.
  evidence.ranks[0].lines[0].text = "ModuleNotFoundError: No module named 'x'";
  const Verdict other = diagnose(evidence);
  CHECK(other.code == "python_import_error");
  CHECK_FALSE(any(other.evidence, "packets were lost"));
}

TEST_CASE("the busiest node's rate is set against its ports") {
  std::vector<NodeEvidence> nodes = {node(0), node(1)};
  nodes[0].strain.network_gbps = 3.04;
  CHECK(network_rate_text(nodes) ==
        "busiest on the network: worker-0, 3 Gb/s by TCP");
  nodes[0].strain.rdma_port_gbps = 200;
  CHECK(network_rate_text(nodes) ==
        "busiest on the network: worker-0, 3 Gb/s by TCP, beside idle RDMA "
        "ports of 200 Gb/s");
  nodes[1].strain.rdma_gbps = 180.4;
  nodes[1].strain.rdma_port_gbps = 400;
  CHECK(network_rate_text(nodes) ==
        "busiest on the network: worker-1, 180 Gb/s by RDMA, 45 % of its "
        "ports' 400 Gb/s");
}

TEST_CASE("rules may name what strain they show, and nothing else") {
  const auto book =
      RuleBook::parse({{"F", "[a]\ntitle: t\nshows: network cpu\nmatch: x\n"}});
  REQUIRE(book);
  CHECK(book->find("a")->shows ==
        std::vector{StrainKind::kNetwork, StrainKind::kCpu});
  const auto wrong = RuleBook::parse({{"F", "[a]\nshows: weather\n"}});
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().text().find("weather") != std::string::npos);
}

TEST_CASE("a GPU that pods share counts once") {
  std::vector<NodeEvidence> nodes = {node(0), node(1), node(2)};
  for (NodeEvidence& one : nodes) {
    one.strain.gpus = 1;
    one.strain.gpu_use = 0.5;
    one.strain.gpu_ids = {"GPU-0"};
  }
  CHECK(gpu_use_text(nodes) == "GPU use 50 % of 1");
  nodes[2].strain.gpu_ids = {"MIG-1"};
  nodes[2].strain.gpu_use = 0.4;
  CHECK(gpu_use_text(nodes) == "GPU use 45 % of 2");
  nodes[1].strain.gpu_ids.clear();  // unknown ones are each pod's own
  CHECK(gpu_use_text(nodes) == "GPU use 47 % of 3");
}

TEST_CASE("GPU use is told of all, and of whom is behind") {
  std::vector<NodeEvidence> nodes = {node(0), node(1), node(2)};
  CHECK(gpu_use_text(nodes).empty());
  for (NodeEvidence& one : nodes) {
    one.strain.gpus = 8;
    one.strain.gpu_use = 0.9;
  }
  CHECK(gpu_use_text(nodes) == "GPU use 90 % of 24");
  nodes[1].strain.gpu_use = 0.3;
  CHECK(gpu_use_text(nodes) ==
        "GPU use 70 % of 24, least on worker-1 with 30 %");
  CHECK(strain_text(nodes, StrainKind::kGpu).empty());
  nodes[2].strain.gpu_slowed = 0.25;
  CHECK(strain_text(nodes, StrainKind::kGpu) ==
        "GPU clocks were held down by heat or power, share of the time: "
        "worker-2 25 %");
}
