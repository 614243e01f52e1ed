// SPDX-License-Identifier: Apache-2.0
// AMD's RCCL in NCCL's place: where it is found, what it reads that NCCL does
// not, and which plugins it loads.
#include <algorithm>
#include <string>

#include "../base/temporary_directory.h"
#include "catch.h"
#include "fabric/collect/collect.h"
#include "fabric/facts/facts_json.h"
#include "fabric/policy/policy.h"

using namespace muster;

namespace {

PodFabric pod_of(const std::string& text) {
  const auto facts = read_facts(text, "test");
  if (!facts) FAIL(facts.error().text());
  return facts->pods.at(0);
}

FabricPlan plan(const std::string& text) {
  const auto facts = read_facts(text, "test");
  if (!facts) FAIL(facts.error().text());
  return plan_fabric(facts->pods, {});
}

bool found(const FabricPlan& plan, const std::string& code) {
  return std::any_of(plan.findings.begin(), plan.findings.end(),
                     [&](auto& finding) { return finding.code == code; });
}

// Of two pods with RoCE adapters and the GPUs and more fields given.
FabricPlan roce(const std::string& gpus, const std::string& more) {
  return plan(R"([{"name": "w[0-1]", "gpus": "8x )" + gpus + R"(", "hcas":
    [{"name": "bnxt_re[0-7]", "link_layer": "Ethernet", "rate_gbps": 400,
      "gids": ["v1 fe80::1", "v2 fe80::1", "v1 10.1.0.[1-8]",
               "v2 10.1.0.[1-8]"]}], )" +
              more + "}]");
}

FabricPlan slingshot(const std::string& more) {
  return plan(R"([{"name": "w[0-1]", "gpus": "8x AMD MI250X", "hcas":
    [{"name": "cxi[0-3]", "driver": "cxi", "state": "ACTIVE"}], )" +
              more + "}]");
}

std::string value(const FabricPlan& plan, const char* name) {
  const auto env = plan.pods[0].env();
  const auto at = env.find(name);
  return at == env.end() ? "" : at->second;
}

}  // namespace

TEST_CASE("RCCL and its plugins are found in an image") {
  TemporaryDirectory tree;
  const std::string torch = "/opt/venv/lib/python3.12/site-packages/torch/lib/";
  tree.write(torch + "librccl.so", std::string(1 << 20, 'x') +
                                       "RCCL version : 2.22.3-HEAD:abcdef" +
                                       std::string(100, '\0'));
  CHECK(collect_fabric(tree.path()).nccl_version == "RCCL 2.22.3");
  tree.write("/opt/rocm/lib/librccl.so.1", std::string(100, 'x') +
                                               "RCCL version 2.27.7-HEAD:9fb" +
                                               std::string(100, '\0'));
  tree.write("/opt/rocm/lib/librccl-net.so", "");
  tree.write("/opt/rocm/lib/librccl-anp.so", "");
  tree.write("/etc/rccl.conf", "NCCL_IB_TC=104\n");
  tree.write("/etc/nccl.conf", "NCCL_IB_TC=1\n");
  const PodFabric pod = collect_fabric(tree.path());
  CHECK(pod.nccl_version == "RCCL 2.27.7");
  REQUIRE(pod.plugins->size() == 2);
  CHECK(pod.plugins->at(0).name == "librccl-anp.so");
  CHECK(pod.nccl_conf.at("NCCL_IB_TC") == "104");

  tree.write("/usr/lib64/libnccl.so.2.21.5", "");  // NCCL's own, beside it
  CHECK(collect_fabric(tree.path()).nccl_version == "2.21.5");
  CHECK(collect_fabric(tree.path()).nccl_conf.at("NCCL_IB_TC") == "1");
}

TEST_CASE("RCCL by the names that people write") {
  CHECK(pod_of(R"({"rccl": "2.22.3"})").nccl_version == "RCCL 2.22.3");
  CHECK(pod_of(R"({"rccl_version": "RCCL version 2.26.6-HEAD:ab"})")
            .nccl_version == "RCCL version 2.26.6-HEAD:ab");
  CHECK(pod_of(R"({"rccl_conf": ["NCCL_IB_TC=104"]})")
            .nccl_conf.at("NCCL_IB_TC") == "104");
}

TEST_CASE("RCCL's own variables and limits") {
  const std::string own = R"("environment": ["NCCL_MIN_NCHANNELS=112",
    "NCCL_NCHANNELS_PER_PEER=4", "NCCL_RINGS_REMAP=x"])";
  const FabricPlan amd = roce("AMD MI300X", own + R"(, "rccl": "2.22.3")");
  CHECK(!found(amd, "lint_range"));
  CHECK(!found(amd, "lint_unknown_name"));
  const FabricPlan nvidia = roce("H100", own + R"(, "nccl": "2.22.3")");
  CHECK(found(nvidia, "lint_range"));
  CHECK(found(nvidia, "lint_unknown_name"));
  CHECK(found(roce("AMD MI300X", R"("environment": "NCCL_MIN_NCHANNELS=999")"),
              "lint_range"));
}

TEST_CASE("RCCL's other names") {
  const auto says = [](const std::string& rccl, const std::string& variable,
                       const char* code, const char* gpus = "AMD MI300X") {
    return found(roce(gpus, R"("rccl": ")" + rccl + R"(", "environment": ")" +
                                variable + "\""),
                 code);
  };
  CHECK(says("2.30.4", "RCCL_MSCCL_ENABLE=0", "lint_obsolete"));
  CHECK(!says("2.27.7", "RCCL_MSCCL_ENABLE=0", "lint_obsolete"));
  CHECK(says("2.27.7", "RCCL_DEBUG=INFO", "lint_unknown_name"));
  CHECK(says("2.27.7", "RCCL_MSCLL_ENABLE=0", "lint_unknown_name"));
  CHECK(!says("2.27.7", "RCCL_SOMETHING_NEW=1", "lint_unknown_name"));
  CHECK(says("2.21.5", "A=1", "hsa_scratch"));
  CHECK(says("2.21.5", "HSA_NO_SCRATCH_RECLAIM=0", "hsa_scratch"));
  CHECK(!says("2.21.5", "HSA_NO_SCRATCH_RECLAIM=1", "hsa_scratch"));
  CHECK(!says("2.22.3", "A=1", "hsa_scratch"));
  CHECK(says("2.30.7", "A=1", "hsa_scratch", "AMD MI250X"));
  CHECK(!says("2.22.3", "A=1", "hsa_fine_grain"));
  CHECK(says("2.22.3", "A=1", "hsa_fine_grain", "AMD Radeon PRO W7900"));
  CHECK(!says("2.22.3", "HSA_FORCE_FINE_GRAIN_PCIE=1", "hsa_fine_grain",
              "AMD Radeon PRO W7900"));
}

TEST_CASE("NCCL and RCCL of one version do not talk to each other") {
  const auto skew = [](const char* first, const char* second) {
    const FabricPlan both = plan(
        R"([{"name": "a", "hcas": [], "nccl_version": ")" + std::string(first) +
        R"("}, {"name": "b", "hcas": [], "nccl_version": ")" + second +
        R"("}])");
    return found(both, "nccl_version_skew");
  };
  CHECK(skew("2.21.5", "RCCL 2.21.5"));
  CHECK(!skew("RCCL 2.21.5", "RCCL 2.21.5"));
  CHECK(skew("RCCL 2.21.5", "RCCL 2.22.3"));
}

TEST_CASE("variables of AMD's runtime are collected") {
  TemporaryDirectory tree;
  tree.write("/proc/self/environ",
             "RCCL_UNROLL_FACTOR=2\nHSA_NO_SCRATCH_RECLAIM=1\nHOME=/root\n");
  const PodFabric pod = collect_fabric(tree.path());
  CHECK(pod.environment.size() == 2);
  CHECK(pod.environment.at("HSA_NO_SCRATCH_RECLAIM") == "1");
}

TEST_CASE("RCCL before ROCm 6.3 does not see memory peers of new kernels") {
  const std::string peers = R"("memory_peers": false, "rccl": )";
  CHECK(found(roce("AMD MI300X", peers + R"("2.20.5")"), "gdr_unseen"));
  CHECK(!found(roce("AMD MI300X", peers + R"("2.21.5")"), "gdr_unseen"));
  // NVIDIA's module has no part in it.
  CHECK(!found(roce("AMD MI300X", R"("peermem": true, "memory_peers": false,
                                     "rccl": "2.22.3")"),
               "gdr_unseen"));
}

TEST_CASE("GPUs of AMD with no way to their memory") {
  const std::string none = R"("memory_peers": false, "peermem": false)";
  CHECK(
      found(roce("AMD MI300X", none + R"(, "dmabuf": false)"), "gdr_missing"));
  CHECK(!found(roce("AMD MI300X", none), "gdr_missing"));
}

TEST_CASE("which plugin RCCL loads by itself") {
  const std::string plugin = R"("plugins": ["librccl-net.so"], "rccl": )";
  CHECK(slingshot(plugin + R"("2.20.5")").transport == "Slingshot");
  CHECK(value(slingshot(plugin + R"("2.20.5")"), "NCCL_NET_PLUGIN").empty());
  // That of ROCm 7.2 looks for libnccl-net.so.
  CHECK(value(slingshot(plugin + R"("2.27.7")"), "NCCL_NET_PLUGIN") ==
        "librccl-net.so");
  CHECK(value(slingshot(R"("plugins": ["librccl-net-ofi.so"], "rccl":
                           "2.22.3")"),
              "NCCL_NET_PLUGIN") == "ofi");
  // AMD's plugin for Pensando adapters comes by name only.
  const FabricPlan anp = roce("AMD MI355X", R"("plugins": ["librccl-anp.so"],
    "rccl": "2.26.6", "environment": ["NCCL_NET_PLUGIN=librccl-anp.so"])");
  CHECK(!found(anp, "lint_plugin_missing"));
  const FabricPlan alone = roce("AMD MI355X", R"("plugins":
    ["librccl-anp.so"], "rccl": "2.26.6")");
  CHECK(alone.pods[0].alone.find("plugin") == std::string::npos);
}

TEST_CASE("values of /etc/rccl.conf are named after it") {
  const FabricPlan amd = roce("AMD MI300X", R"("rccl": "2.22.3", "rccl_conf":
    ["NCCL_IB_TIMEOUT=77"])");
  CHECK(found(amd, "lint_range"));
  const FabricPlan kept = roce("AMD MI300X", R"("rccl": "2.18.6", "shape":
    "BM.GPU.MI300X.8", "rccl_conf": ["NCCL_IB_GID_INDEX=1"])");
  CHECK(
      std::any_of(kept.pods[0].kept.begin(), kept.pods[0].kept.end(),
                  [](auto& one) { return one.evidence == "/etc/rccl.conf"; }));
}

TEST_CASE("XGMI that stays idle is a price") {
  const std::string off = R"("environment": "NCCL_P2P_DISABLE=1")";
  CHECK(found(roce("AMD Instinct MI300X", off), "lint_p2p_off"));
  CHECK(!found(roce("AMD Radeon Pro W7900", off), "lint_p2p_off"));
}

TEST_CASE("few ranks have few channels of RCCL") {
  const auto told = [](const char* gpus, const char* count) {
    return found(plan(R"({"name": "w0", "nccl_version": "RCCL 2.27.7",
        "gpus": ")" + std::string(gpus) +
                      R"(", "environment": {"NCCL_MIN_NCHANNELS": ")" + count +
                      "\"}}"),
                 "lint_range");
  };
  CHECK(told("4x AMD Instinct MI355X", "112"));
  CHECK(!told("4x AMD Instinct MI355X", "64"));
  CHECK(!told("8x AMD Instinct MI355X", "112"));
}

TEST_CASE("PXN off is a price on AINIC") {
  const auto told = [](const char* hca, const char* off, const char* more) {
    return found(plan(R"([{"name": "w[0-1]", "gpus": "8x AMD Instinct MI355X",
        "hcas": [")" + std::string(hca) +
                      R"([0-7] RoCE ACTIVE 400"], "environment":
                         {"NCCL_PXN_DISABLE": ")" +
                      off + "\"}" + more + "}]"),
                 "lint_pxn_off");
  };
  CHECK(told("ionic_", "1", ""));
  CHECK(!told("ionic_", "0", ""));
  CHECK(!told("mlx5_", "1", ""));
  CHECK(!told("ionic_", "1", R"(, "cross_rail": true)"));
}
