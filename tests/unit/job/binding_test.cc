// SPDX-License-Identifier: Apache-2.0
// Which CPUs and GPUs the ranks of a node get, by tables; and when none.
#include "job/binding.h"

#include "base/text.h"
#include "catch.h"
#include "job/cpu_list.h"

namespace muster {
namespace {

// Two NUMA nodes of `cores` cores with two threads each: core c has the CPUs c
// and c + 2 * cores, as Intel's and AMD's machines count.
std::vector<CpuCore> two_sockets(int cores) {
  std::vector<CpuCore> out;
  for (int core = 0; core < 2 * cores; ++core) {
    const int numa = core / cores;
    out.push_back({{core, core + 2 * cores}, numa, numa});
  }
  return out;
}

BindNode node_of(int ranks, std::vector<CpuCore> cores) {
  BindNode node;
  node.host = "w-0";
  node.ranks = ranks;
  node.cores = std::move(cores);
  return node;
}

// "0,8 1,9": one word per rank; "-": not bound.
std::string cpus(const NodeBinding& binding) {
  std::vector<std::string> words;
  for (const RankBinding& rank : binding.ranks) {
    words.push_back(rank.cpus.empty() ? "-" : cpu_list_text(rank.cpus));
  }
  return join(words, " ");
}

std::string gpus(const NodeBinding& binding) {
  std::vector<std::string> words;
  for (const RankBinding& rank : binding.ranks) {
    std::string word;
    for (const size_t gpu : rank.gpus) word += std::to_string(gpu);
    words.push_back(word.empty() ? "-" : word);
  }
  return join(words, " ");
}

std::string codes(const NodeBinding& binding) {
  std::string out;
  for (const Finding& finding : binding.findings) out += finding.code + " ";
  return out;
}

BindRequest request_of(const char* to, const char* gpu = "") {
  return parse_bind_request(to, gpu).value();
}

TEST_CASE("CPUs by core and by NUMA node") {
  struct Row {
    const char* to;
    int ranks;
    const char* cpus;
    const char* codes;
  };
  const Row rows[] = {
      {"none", 2, "- -", ""},
      {"", 2, "- -", ""},
      {"core", 3, "0,8 1,9 2,10", ""},
      {"core", 8, "0,8 1,9 2,10 3,11 4,12 5,13 6,14 7,15", ""},
      {"core", 9, "- - - - - - - - -", "not_bound "},
      {"core:4", 2, "0-3,8-11 4-7,12-15", ""},
      {"core:5", 2, "- -", "not_bound "},
      {"numa", 1, "0-3,8-11", ""},
      {"numa", 2, "0-3,8-11 4-7,12-15", ""},
      {"numa", 3, "0-3,8-11 0-3,8-11 4-7,12-15", ""},
      {"gpu", 2, "- -", "not_bound "},
      {"core", 0, "", ""},
  };
  for (const Row& row : rows) {
    INFO(row.to << " with " << row.ranks);
    const NodeBinding bound =
        bind_node(request_of(row.to), node_of(row.ranks, two_sockets(4)));
    CHECK(cpus(bound) == row.cpus);
    CHECK(codes(bound) == row.codes);
  }
}

TEST_CASE("only the CPUs of the pod's own cpuset are used") {
  // One thread of each of three cores, on both NUMA nodes, out of order.
  BindNode node = node_of(3, {{{12}, 1, 1}, {{2}, 0, 0}, {{5}, 1, 1}});
  CHECK(cpus(bind_node(request_of("core"), node)) == "2 5 12");
  CHECK(cpus(bind_node(request_of("numa"), node)) == "2 2 5,12");
}

TEST_CASE("a CPU quota smaller than the CPUs binds nobody") {
  BindNode node = node_of(2, two_sockets(4));
  for (const char* to : {"core", "numa", "gpu"}) {
    node.cpu_quota = 4;
    const NodeBinding bound = bind_node(request_of(to), node);
    CHECK(cpus(bound) == "- -");
    CHECK(codes(bound) == "not_bound ");
  }
  // The static CPU manager gives 16 CPUs and a quota of 16: no limit at all.
  node.cpu_quota = 16;
  CHECK(cpus(bind_node(request_of("core"), node)) == "0,8 1,9");
}

TEST_CASE("unknown cores bind nobody") {
  const NodeBinding bound = bind_node(request_of("core"), node_of(2, {}));
  CHECK(cpus(bound) == "- -");
  CHECK(codes(bound) == "not_bound ");
}

BindNode with_gpus(int ranks, const std::vector<int>& numas) {
  BindNode node = node_of(ranks, two_sockets(4));
  node.gpu_vendor = "nvidia";
  for (const int numa : numas) {
    node.gpus.push_back({"GPU-" + std::to_string(node.gpus.size()), numa, {}});
  }
  return node;
}

TEST_CASE("CPUs near the GPU of each rank") {
  const BindRequest near = request_of("gpu");
  // Ranks 0 and 1 share the cores of node 1, rank 2 has those of node 0.
  CHECK(cpus(bind_node(near, with_gpus(3, {1, 1, 0}))) ==
        "4-5,12-13 6-7,14-15 0-3,8-11");
  // More ranks than GPUs: rank 2 uses GPU 0 again.
  CHECK(cpus(bind_node(near, with_gpus(3, {0, 1}))) ==
        "0-1,8-9 4-7,12-15 2-3,10-11");
  const NodeBinding unknown = bind_node(near, with_gpus(2, {-1, -1}));
  CHECK(cpus(unknown) == "- -");
  CHECK(codes(unknown) == "not_bound ");
}

TEST_CASE("which GPUs a rank sees") {
  struct Row {
    const char* to;
    const char* gpu;
    int ranks;
    std::vector<int> numas;
    const char* gpus;
    const char* codes;
  };
  const Row rows[] = {
      {"none", "none", 2, {0, 1}, "- -", ""},
      {"none", "single", 2, {0, 1}, "0 1", ""},
      {"none", "single", 3, {0, 1}, "0 1 0", "gpu_shared "},
      {"none", "single", 2, {}, "- -", ""},
      {"none", "closest", 2, {0, 1}, "- -", "closest_to_nothing "},
      {"numa", "closest", 2, {0, 0, 1, 1}, "01 23", ""},
      {"numa", "closest", 2, {1, 1, 1, 1}, "- 0123", "closest_to_nothing "},
      {"gpu", "single", 2, {1, 0}, "0 1", ""},
  };
  for (const Row& row : rows) {
    INFO(row.to << " " << row.gpu << " with " << row.ranks);
    const NodeBinding bound =
        bind_node(request_of(row.to, row.gpu), with_gpus(row.ranks, row.numas));
    CHECK(gpus(bound) == row.gpus);
    CHECK(codes(bound) == row.codes);
  }
}

TEST_CASE("each vendor's variable, and what is near") {
  struct Row {
    const char* vendor;
    const char* id;
    const char* variable;
  };
  const Row rows[] = {{"nvidia", "GPU-6e5f", "CUDA_VISIBLE_DEVICES"},
                      {"nvidia", "MIG-1b2c", "CUDA_VISIBLE_DEVICES"},
                      {"amd", "0", "ROCR_VISIBLE_DEVICES"},
                      {"intel", "0", "ZE_AFFINITY_MASK"}};
  for (const Row& row : rows) {
    BindNode node = node_of(1, two_sockets(4));
    node.gpu_vendor = row.vendor;
    node.gpus = {{row.id, 1, {{"mlx5_0", "SYS"}, {"mlx5_1", "PIX"}}}};
    node.nics = {{"mlx5_0", 0}, {"mlx5_1", 1}};
    const NodeBinding bound = bind_node(request_of("none", "single"), node);
    const Environment env = binding_environment(node, bound.ranks[0]);
    INFO(row.vendor);
    REQUIRE(find_env(env, row.variable) != nullptr);
    CHECK(*find_env(env, row.variable) == row.id);
    CHECK(*find_env(env, "MUSTER_NEAR_GPU") == row.id);
    CHECK(*find_env(env, "MUSTER_NEAR_NIC") == "mlx5_1");
    CHECK(env.size() == 3);
  }
}

TEST_CASE("ranks take turns at adapters that are equally near") {
  BindNode node = with_gpus(2, {0, 0});
  for (BindGpu& gpu : node.gpus) gpu.nics = {{"a", "PXB"}, {"b", "PXB"}};
  const NodeBinding bound = bind_node(request_of(""), node);
  CHECK(bound.ranks[0].near_nic == "a");
  CHECK(bound.ranks[1].near_nic == "b");
  // Without GPUs: beside the CPUs that the rank is bound to.
  BindNode plain = node_of(2, two_sockets(4));
  plain.nics = {{"a", 0}, {"b", 1}};
  CHECK(bind_node(request_of("numa"), plain).ranks[1].near_nic == "b");
  CHECK(bind_node(request_of("none"), plain).ranks[1].near_nic.empty());
}

TEST_CASE("bad words") {
  for (const char* to :
       {"socket", "core:0", "core:x", "numa:2", "core:", ":"}) {
    INFO(to);
    CHECK(!parse_bind_request(to, ""));
  }
  CHECK(!parse_bind_request("", "all"));
  CHECK(parse_bind_request("core:4", "closest")->cores_per_rank == 4);
}

TEST_CASE("lists of CPUs") {
  const std::pair<const char*, const char*> good[] = {
      {"", ""},         {"0", "0"},           {"0-3", "0-3"},
      {"3,1,2", "1-3"}, {"0-1,1-2\n", "0-2"}, {"0,2-3,9", "0,2-3,9"}};
  for (const auto& [text, wanted] : good) {
    INFO(text);
    const auto list = parse_cpu_list(text);
    REQUIRE(list);
    CHECK(cpu_list_text(*list) == wanted);
  }
  for (const char* text : {"a", "1-", "-1", "3-1", "0-99999999", "1,,2"}) {
    INFO(text);
    CHECK(!parse_cpu_list(text));
  }
}

}  // namespace
}  // namespace muster
