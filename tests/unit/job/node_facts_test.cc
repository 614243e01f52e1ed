// SPDX-License-Identifier: Apache-2.0
// NodeFacts there and back.
#include "job/node_facts.h"

#include "catch.h"
#include "job/fitting_facts.h"

namespace muster {
namespace {

TEST_CASE("the network's facts are text on the wire, an object for people") {
  NodeFacts facts;
  facts.hostname = "w-0";
  facts.drivers_age_ms = 70;
  facts.fabric = R"({"format":1,"pods":[{"name":"w-0"}]})";
  CHECK(to_json(facts).find(R"("fabric":"{)") != std::string::npos);
  const std::string readable = to_readable_json(facts);
  CHECK(readable.find(R"("fabric":{"format":1,"pods":[{)") !=
        std::string::npos);
  for (const std::string& text : {to_json(facts), readable}) {
    const auto back = node_facts_from_json(text);
    REQUIRE(back);
    CHECK(back->fabric == facts.fabric);
    CHECK(back->drivers_age_ms == 70);
  }
  facts.fabric.clear();
  CHECK(node_facts_from_json(to_readable_json(facts))->fabric.empty());
  CHECK_FALSE(node_facts_from_json(R"({"hostname":"w","fabric":7})"));
}

TEST_CASE("of a large environment the rest of the facts stays") {
  NodeFacts facts;
  facts.hostname = "w-0";
  facts.environment = {{"HUGE", std::string(5'000, '\n')},
                       {"LARGE", std::string(3'000, 'x')},
                       {"NCCL_DEBUG", "INFO"},
                       {"PATH", "/usr/local/sbin:/usr/local/bin:/usr/bin"}};
  CHECK(to_json_within(facts, 1 << 20) == to_json(facts));
  CHECK(facts.left_out.empty());
  const auto back = node_facts_from_json(to_json_within(facts, 6'000));
  REQUIRE(back);
  CHECK(back->hostname == "w-0");
  CHECK(back->environment.size() == 3);
  CHECK(back->environment.count("HUGE") == 0);
  CHECK(back->left_out == "HUGE");
}

TEST_CASE("of many variables some are left out, and said") {
  NodeFacts facts;
  facts.hostname = "w-0";
  facts.environment = {{"PATH", "/usr/local/sbin:/usr/local/bin:/usr/bin"}};
  for (int i = 0; i < 500; ++i) {
    facts.environment["X_" + std::to_string(i)] = "some value";
  }
  const std::string text = to_json_within(facts, 2'000);
  CHECK(text.size() <= 2'000);
  const NodeFacts least = *node_facts_from_json(text);
  CHECK(least.left_out.starts_with("PATH, X_0, X_1, X_10, "));
  CHECK(least.hostname == "w-0");
}

TEST_CASE("every field of NodeFacts survives") {
  NodeFacts facts;
  facts.hostname = "w-0\"";
  facts.uid = 1000650000;
  facts.gid = 0;
  facts.has_passwd_entry = true;
  facts.cpus_allowed = 64;
  facts.cpu_quota = 3.5;
  facts.memory_limit = int64_t{1} << 42;
  facts.memory_usage = 7;
  facts.cgroup_version = 2;
  facts.memlock_soft = -1;
  facts.memlock_hard = 8 << 20;
  facts.nofile_hard = 20000;
  facts.shm_total = 64 << 20;
  facts.shm_free = 1;
  facts.writable = {"/tmp", "\xff"};
  facts.cores = {{{0, 4}, 0, 0}, {{1, 5}, 1, 0}};
  facts.gpu = {
      "nvidia", 2, {"/dev/nvidia0", "MIG-x"}, {{"GPU-a", "0000:1a:00.0", 1}}};
  facts.serves_pmix = true;
  facts.mpi = {"openmpi", "4.1.4", "/usr/bin/mpirun"};
  facts.nccl_version = "2.22.3";
  facts.cuda_runtime = "12.4";
  facts.cuda_driver = "550.54";
  facts.image_id = "sha256:0";
  facts.muster_version = "0.1.0";
  facts.interfaces = {{"eth0", {"10.1.2.3/24", "fd00::1/64"}, true, 9000},
                      {"lo", {}, false, -1}};
  facts.left_out = "B, C";
  facts.environment = {{"A", "x\ny"}, {"B", std::string("\xfe\0", 2)}};

  const auto back = node_facts_from_json(to_json(facts));
  if (!back) FAIL(back.error().text());
  CHECK(to_json(*back) == to_json(facts));
  CHECK(back->hostname == facts.hostname);
  CHECK(back->uid == facts.uid);
  CHECK(back->gid == 0);
  CHECK(back->has_passwd_entry);
  CHECK(back->cpus_allowed == 64);
  CHECK(back->cpu_quota == 3.5);
  CHECK(back->memory_limit == facts.memory_limit);
  CHECK(back->memory_usage == 7);
  CHECK(back->cgroup_version == 2);
  CHECK(back->memlock_soft == -1);
  CHECK(back->memlock_hard == 8 << 20);
  CHECK(back->nofile_hard == 20000);
  CHECK(back->shm_total == 64 << 20);
  CHECK(back->shm_free == 1);
  CHECK(back->writable == facts.writable);
  CHECK(back->gpu.vendor == "nvidia");
  CHECK(back->gpu.count == 2);
  CHECK(back->gpu.devices == facts.gpu.devices);
  CHECK(back->mpi.family == "openmpi");
  CHECK(back->mpi.version == "4.1.4");
  CHECK(back->mpi.launcher == "/usr/bin/mpirun");
  CHECK(back->nccl_version == "2.22.3");
  CHECK(back->cuda_runtime == "12.4");
  CHECK(back->cuda_driver == "550.54");
  CHECK(back->image_id == "sha256:0");
  CHECK(back->muster_version == "0.1.0");
  REQUIRE(back->interfaces.size() == 2);
  CHECK(back->interfaces[0].addresses == facts.interfaces[0].addresses);
  CHECK(back->interfaces[0].up);
  CHECK(back->interfaces[0].mtu == 9000);
  CHECK(back->environment == facts.environment);
}

TEST_CASE("facts that are no facts") {
  CHECK_FALSE(node_facts_from_json(""));
  CHECK_FALSE(node_facts_from_json("{}"));
  CHECK_FALSE(node_facts_from_json(R"({"hostname":"a","gpu":3})"));
  CHECK_FALSE(node_facts_from_json(R"({"hostname":"a","interfaces":[{}]})"));
  const auto facts = node_facts_from_json(R"({"hostname":"a","new":1})");
  REQUIRE(facts);
  CHECK(facts->memlock_soft == -2);
}

}  // namespace
}  // namespace muster
