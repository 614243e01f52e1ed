// SPDX-License-Identifier: Apache-2.0
// Rules that no recorded machine shows alone: precedence, profiles of MPMD
// jobs, lint, several networks.
#include "fabric/policy/policy.h"

#include <algorithm>

#include "catch.h"
#include "fabric/facts/facts_json.h"
#include "fabric/plan_json.h"

using namespace muster;

namespace {

std::vector<PodFabric> pods(const char* text) {
  auto facts = read_facts(text, "test");
  if (!facts) FAIL(facts.error().text());
  return facts->pods;
}

bool found(const FabricPlan& plan, const std::string& code) {
  return std::any_of(plan.findings.begin(), plan.findings.end(),
                     [&](auto& finding) { return finding.code == code; });
}

constexpr const char* kIb = R"([{"name": "w[0-1]", "nccl_version": "2.26.2",
  "hcas": [{"name": "mlx5_[0-1]", "state": "ACTIVE",
            "link_layer": "InfiniBand", "rate_gbps": 400}]}])";

// The findings' codes for one user variable on an InfiniBand pod.
FabricPlan with_user(const char* name, const char* value) {
  auto all = pods(kIb);
  for (PodFabric& pod : all) pod.environment[name] = value;
  return plan_fabric(all, {});
}

}  // namespace

TEST_CASE("user before site before table") {
  auto all = pods(R"([{"name": "w", "asset_tag": "OracleCloud.com",
      "nccl_version": "2.26.2",
      "environment": {"NCCL_IB_QPS_PER_CONNECTION": "8"},
      "hcas": [{"name": "mlx5_0", "driver": "mlx5", "state": "ACTIVE",
                "link_layer": "Ethernet"}]}])");
  FabricRequest request;
  request.site = parse_site_file(
                     "NCCL_IB_QPS_PER_CONNECTION=2\n[roce]\nNCCL_IB_TC=106\n"
                     "[ib]\nNCCL_IB_SL=3\n",
                     "site")
                     .value();
  const FabricPlan plan = plan_fabric(all, request);
  const auto env = plan.pods[0].env();
  CHECK(env.at("NCCL_IB_TC") == "106");
  CHECK(env.at("NCCL_IB_TIMEOUT") == "22");
  CHECK(env.count("NCCL_IB_SL") == 0);
  CHECK(env.count("NCCL_IB_QPS_PER_CONNECTION") == 0);
  REQUIRE(plan.pods[0].kept.size() == 1);
  CHECK(plan.pods[0].kept[0].value == "8");
  CHECK(found(plan, "user_value_kept"));
}

TEST_CASE("applications of one job get one profile") {
  FabricRequest request;
  request.apps = {{"trainer", Profile::kAuto}, {"rollout", Profile::kRl}};
  const FabricPlan plan = plan_fabric(pods(kIb), request);
  CHECK(plan.profile == "rl");
  CHECK(found(plan, "profiles_equalised"));
  for (const PodPlan& pod : plan.pods) {
    CHECK(pod.env().at("NCCL_P2P_DISABLE") == "1");
    CHECK(pod.settings.front().evidence ==
          "profile rl of rollout was asked for");
  }
}

TEST_CASE("a profile is told as it was asked for") {
  const auto evidence = [](Profile profile, const char* word,
                           std::vector<AppProfile> apps = {}) {
    FabricRequest request;
    request.profile = profile;
    request.profile_word = word;
    request.apps = std::move(apps);
    return plan_fabric(pods(kIb), request).pods[0].settings.front().evidence;
  };
  CHECK(evidence(Profile::kRl, "rl") == "profile rl was asked for");
  CHECK(evidence(Profile::kRl, "grpo") == "profile rl (grpo) was asked for");
  CHECK(evidence(Profile::kAuto, "auto", {{"rollout", Profile::kRl}}) ==
        "profile rl of rollout was asked for");
}

TEST_CASE("profile rdma makes a fallback an error") {
  FabricRequest request;
  request.profile = Profile::kRdma;
  const FabricPlan plan = plan_fabric(pods(kIb), request);
  CHECK(plan.verdict == FabricVerdict::kSet);
  CHECK(plan.pods[0].env().at("NCCL_NET") == "IB");
}

TEST_CASE("profile tcp keeps everything off RDMA") {
  FabricRequest request;
  request.profile = Profile::kTcp;
  const FabricPlan plan = plan_fabric(pods(kIb), request);
  CHECK(plan.verdict == FabricVerdict::kTcp);
  CHECK(plan.pods[0].env().at("NCCL_NET") == "Socket");
  CHECK(plan.pods[0].env().at("UCX_TLS") == "tcp,self,sm");
  CHECK(!found(plan, "rdma_no_hca"));
}

TEST_CASE("the user's own values are checked") {
  CHECK(found(with_user("NCCL_IB_HCAS", "mlx5_0"), "lint_unknown_name"));
  CHECK(found(with_user("NCCL_IB_HCA", "mlx5_0,^mlx5_1"), "lint_list_sign"));
  CHECK(found(with_user("NCCL_IB_HCA", "rocep0"), "lint_matches_nothing"));
  CHECK(found(with_user("NCCL_IB_HCA", "mlx5_0,mlx5_9"), "lint_missing_name"));
  CHECK(found(with_user("NCCL_IB_SL", "16"), "lint_range"));
  CHECK(found(with_user("NCCL_IB_TIMEOUT", "x"), "lint_range"));
  CHECK(found(with_user("NCCL_IB_GID_INDEX", "3"), "lint_no_effect"));
  CHECK(found(with_user("NCCL_NET_GDR_LEVEL", "PXBX"), "lint_level"));
  CHECK(found(with_user("NCCL_MULTI_RANK_GPU_ENABLE", "1"), "lint_no_effect"));
  CHECK(found(with_user("NCCL_IGNORE_NET_MISMATCH", "1"), "lint_net_mismatch"));
  CHECK(found(with_user("NCCL_ALGO", "Ring"), "lint_debugging"));
  CHECK(with_user("NCCL_IB_SL", "3").findings.empty());
}

TEST_CASE("NCCL_NET that a pod cannot fulfil refuses") {
  auto all = pods(R"([{"name": "w", "hcas": [],
                       "environment": {"NCCL_NET": "IB"}}])");
  const FabricPlan plan = plan_fabric(all, {});
  CHECK(plan.verdict == FabricVerdict::kRefuse);
  CHECK(found(plan, "rdma_demanded"));
}

TEST_CASE("different NCCL versions refuse") {
  auto all = pods(kIb);
  all[1].nccl_version = "2.21.5";
  const FabricPlan plan = plan_fabric(all, {});
  CHECK(plan.verdict == FabricVerdict::kRefuse);
  CHECK(found(plan, "nccl_version_skew"));
}

TEST_CASE("an address range where the first address is of another network") {
  const auto all = pods(R"([
    {"name": "w0", "nccl_version": "2.26.2",
     "hcas": [{"name": "r0", "state": "ACTIVE", "link_layer": "Ethernet",
       "gids": ["v1 fe80::1", "v2 192.168.1.1", "v2 10.5.0.1"]}]},
    {"name": "w1", "nccl_version": "2.26.2",
     "hcas": [{"name": "r0", "state": "ACTIVE", "link_layer": "Ethernet",
       "gids": ["v1 fe80::2", "v2 10.5.0.2", "v2 172.16.0.2"]}]}])");
  const FabricPlan plan = plan_fabric(all, {});
  for (const PodPlan& pod : plan.pods) {
    CHECK(pod.env().at("NCCL_IB_ADDR_RANGE") == "10.5.0.0/24");
    CHECK(pod.env().count("NCCL_IB_GID_INDEX") == 0);
  }
}

TEST_CASE("more than 32 ports are cut with a word") {
  const auto all = pods(R"([{"name": "w", "hcas": [{"name": "m[0-39]",
      "state": "ACTIVE", "link_layer": "InfiniBand"}]}])");
  const FabricPlan plan = plan_fabric(all, {});
  CHECK(found(plan, "too_many_ports"));
  const std::string list = plan.pods[0].env().at("NCCL_IB_HCA");
  CHECK(std::count(list.begin(), list.end(), ',') == 31);
}

TEST_CASE("no pods, no plan, no harm") {
  const FabricPlan plan = plan_fabric({}, {});
  CHECK(plan.verdict == FabricVerdict::kLeave);
  CHECK(!plan_to_json(plan).empty());
}

TEST_CASE("GIDs as the kernel types them, and without a type") {
  const auto with_gids = [](const std::string& gids) {
    return plan_fabric(
        pods(("[{\"name\": \"w\", \"nccl_version\": \"2.18.3\", \"hcas\": "
              "[{\"name\": \"r0\", \"state\": \"ACTIVE\", \"link_layer\": "
              "\"Ethernet\", \"gids\": [" +
              gids + "]}]}]")
                 .c_str()),
        {});
  };
  const auto typed = with_gids(
      R"({"index": 0, "gid": "fe80::1", "type": "IB/RoCE v1"},
         {"index": 3, "gid": "::ffff:10.0.0.1", "type": "RoCE v2"})");
  CHECK(typed.pods[0].env().at("NCCL_IB_GID_INDEX") == "3");
  const auto untyped = with_gids(R"("fe80::1", "10.0.0.1")");
  CHECK(untyped.pods[0].env().empty());
  CHECK(found(untyped, "gid_unknown"));
  const auto old = with_gids(R"("v1 fe80::1")");
  CHECK(old.transport == "RoCE");
  CHECK(found(old, "gid_v1_only"));
}

TEST_CASE(
    "another timeout than the vendor's is a remark, the site's a warning") {
  const auto all = pods(R"([{"name": "w[0-1]", "shape": "BM.GPU.H100.8",
      "nccl_version": "2.27.7", "hcas": [{"name": "mlx5_0", "driver": "mlx5",
      "state": "ACTIVE", "link_layer": "Ethernet"}],
      "environment": {"NCCL_IB_TIMEOUT": "20", "NCCL_IB_TC": "41"}}])");
  CHECK(plan_fabric(all, {}).verdict == FabricVerdict::kLeave);
  CHECK(found(plan_fabric(all, {}), "user_value_kept"));
  FabricRequest request;
  request.site = parse_site_file("NCCL_IB_TIMEOUT=22\n", "site").value();
  CHECK(plan_fabric(all, request).verdict == FabricVerdict::kWarn);
}

TEST_CASE("too little memory to lock is warned of where RDMA is used") {
  const auto verdict = [](const char* limit, Profile profile = Profile::kAuto) {
    FabricRequest request;
    request.profile = profile;
    return plan_fabric(pods((std::string(R"([{"name": "w[0-1]", "hcas":
        ["mlx5_0 IB ACTIVE"], "memlock_bytes": ")") +
                             limit + "\"}]")
                                .c_str()),
                       request)
        .verdict;
  };
  CHECK(verdict("8 MiB") == FabricVerdict::kWarn);
  CHECK(verdict("16 MiB") == FabricVerdict::kWarn);
  CHECK(verdict("unlimited") == FabricVerdict::kLeave);
  CHECK(verdict("8 MiB", Profile::kRl) == FabricVerdict::kTcp);
}

TEST_CASE("InfiniBand of NVLink switches beside a RoCE port for every GPU") {
  const auto transport = [](const char* gpu, const char* ports) {
    return plan_fabric(pods((std::string(R"([{"name": "w[0-1]", "gpus": ")") +
                             gpu + R"(", "hcas": [)" + ports + "]}]")
                                .c_str()),
                       {})
        .transport;
  };
  // Of sixteen RoCE ports only two are in the pod.
  const char* few = R"("mlx5_[0-1] Ethernet",
      {"name": "mlx5_[2-15]", "link_layer": "Ethernet", "gids": []},
      "mlx5_[16-19] InfiniBand")";
  CHECK(transport("8x NVIDIA B300", few) == "RoCE");
  CHECK(transport("8x NVIDIA H100", few) == "InfiniBand");
  CHECK(transport("4x NVIDIA GB300", few) == "InfiniBand");
  CHECK(transport("8x NVIDIA B200", R"("mlx5_[0-7] InfiniBand",
      "mlx5_[8-9] Ethernet")") == "InfiniBand");
}
