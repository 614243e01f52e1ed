// SPDX-License-Identifier: Apache-2.0
// What is asked and what the pods are, and what becomes of it.
#include "launcher/plan/agreement.h"

#include <algorithm>

#include "agreement_bed.h"
#include "base/text.h"
#include "catch.h"

namespace muster {
namespace {

using Words = std::vector<std::string>;
using test::AgreementBed;

std::vector<int> nodes_of_ranks(const Agreement& agreement) {
  std::vector<int> out;
  for (const PlannedRank& rank : agreement.plan.ranks) out.push_back(rank.node);
  return out;
}

TEST_CASE("every slot in hostfile order where no number is given") {
  AgreementBed bed;
  const auto out = bed.agree();
  REQUIRE(out);
  CHECK(nodes_of_ranks(*out) == std::vector<int>{0, 0, 1, 1});
  CHECK(out->expected_ranks == 4);
  CHECK(out->bootstrap == Bootstrap::kPmix);
  CHECK(out->env.size() == 3);
  CHECK(out->slots.size() == 2);
  CHECK(out->slots[0].reason.find("/etc/mpi/hostfile:1") != std::string::npos);
}

TEST_CASE("hostfile dialects give the same plan") {
  for (const char* text :
       {"w-0 slots=2\nw-1 slots=2\n", "w-0:2\nw-1:2\n", "w-0\nw-0\nw-1\nw-1\n",
        "w-0 slots=2 max_slots=4\nw-1:2\n"}) {
    INFO(text);
    AgreementBed bed(text);
    const auto out = bed.agree();
    REQUIRE(out);
    CHECK(nodes_of_ranks(*out) == std::vector<int>{0, 0, 1, 1});
  }
}

TEST_CASE("one worker under two names is refused") {
  AgreementBed bed("w-0 slots=2\nw-0.job slots=2\n");
  REQUIRE(bed.agree());
  for (const size_t node : {1, 2}) {
    bed.input.nodes[node].peer_address = "10.0.0.7";
    bed.input.nodes[node].facts.hostname = "w-0";
  }
  const auto out = bed.agree();
  REQUIRE_FALSE(out);
  CHECK(out.error().code == "same_pod");
  CHECK(out.error().text().find("w-0.job") != std::string::npos);
  // Pods that share their node's address are told apart by their names.
  bed.input.nodes[2].facts.hostname = "w-1";
  CHECK(bed.agree());
}

TEST_CASE("where the hostfile has no number, the pod's CPUs count") {
  AgreementBed bed("w-0\nw-1\n");
  bed.input.nodes[1].facts.cpu_quota = 3;
  bed.input.nodes[2].facts.cpu_quota = 1;
  const auto out = bed.agree();
  REQUIRE(out);
  CHECK(nodes_of_ranks(*out) == std::vector<int>{0, 0, 0, 1});
  bed.options.slots_per_node = 2;
  const auto told = bed.agree();
  REQUIRE(told);
  CHECK(nodes_of_ranks(*told) == std::vector<int>{0, 0, 1, 1});
}

TEST_CASE("the launcher's own pod may run ranks") {
  AgreementBed bed("l slots=1\nw-0 slots=1\n");
  const auto out = bed.agree();
  REQUIRE(out);
  CHECK(out->plan.nodes[0].is_launcher);
  CHECK_FALSE(out->plan.nodes[1].is_launcher);
  CHECK(out->env.size() == 2);
}

TEST_CASE("more ranks than slots: refused with the arithmetic, or asked for") {
  AgreementBed bed;
  bed.options.np = 5;
  const auto refused = bed.agree();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == "not_enough_slots");
  CHECK(refused.error().text().find("5") != std::string::npos);
  CHECK(refused.error().text().find("4") != std::string::npos);
  bed.options.oversubscribe = true;
  const auto out = bed.agree();
  REQUIRE(out);
  CHECK(out->expected_ranks == 5);
}

TEST_CASE("mappings") {
  const auto mapped = [](const std::string& map_by, int np) {
    AgreementBed bed;
    bed.options.map_by = map_by;
    if (np > 0) bed.options.np = np;
    const auto out = bed.agree();
    REQUIRE(out);
    return nodes_of_ranks(*out);
  };
  CHECK(mapped("slot", 3) == std::vector<int>{0, 0, 1});
  CHECK(mapped("node", 3) == std::vector<int>{0, 1, 0});
  CHECK(mapped("ppr:1:node", 2) == std::vector<int>{0, 1});
  for (const char* bad :
       {"socket", "ppr:0:node", "ppr:x:node", "ppr:2:core", "ppr:2"}) {
    INFO(bad);
    AgreementBed bed;
    bed.options.map_by = bad;
    const auto out = bed.agree();
    REQUIRE_FALSE(out);
    CHECK(out.error().code == "usage");
    CHECK(out.error().text().find(bad) != std::string::npos);
  }
}

TEST_CASE("software that cannot work together stops the launch") {
  AgreementBed bed;
  bed.use_mpi("openmpi", "4.1.4");
  bed.input.nodes[2].facts.mpi.family = "mpich";
  bed.input.nodes[2].facts.mpi.version = "4.0";
  const auto refused = bed.agree();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == "software_skew");
  CHECK(refused.error().text().find("w-1") != std::string::npos);
  bed.options.allow_skew = true;
  const auto out = bed.agree();
  REQUIRE(out);
  CHECK(!out->findings.empty());
}

// Pods with NCCL and eth0, as their agents tell it.
void give_network(AgreementBed& bed) {
  for (NodeSpec& node : bed.input.nodes) {
    node.facts.fabric = R"({"format": 1, "pods": [{"name": "p",
        "nccl_version": "2.28.9", "plugins": [], "hcas": [], "gpus": [
          {"name": "NVIDIA H200", "vendor": "nvidia"}], "netdevs": [
          {"name": "lo", "addresses": ["127.0.0.1/8"], "up": true},
          {"name": "eth0", "addresses": ["192.0.2.2/24"], "up": true,
           "running": true, "default_route": true}]}]})";
  }
}

TEST_CASE("an interface that no pod has ends the launch before its ranks") {
  for (const bool local : {false, true}) {
    INFO(local);
    AgreementBed bed;
    give_network(bed);
    if (local) bed.options.local = LocalShape{2, 2};
    CHECK(bed.agree());
    bed.options.env.push_back({"NCCL_SOCKET_IFNAME", "ib0"});
    const auto refused = bed.agree();
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == "fabric_refused");
    CHECK(refused.error().what.find("NCCL_SOCKET_IFNAME=ib0 matches none of "
                                    "lo, eth0") != std::string::npos);
    CHECK(refused.error().hint.find("--force") != std::string::npos);
    bed.options.force = true;
    const auto out = bed.agree();
    REQUIRE(out);
    CHECK(std::any_of(out->findings.begin(), out->findings.end(),
                      [](const Finding& one) {
                        return one.code == "lint_matches_nothing" &&
                               one.severity == Severity::kWarning;
                      }));
  }
}

TEST_CASE("a file that no pod has is told, with --local too") {
  for (const bool local : {false, true}) {
    INFO(local);
    AgreementBed bed;
    give_network(bed);
    for (NodeSpec& node : bed.input.nodes) {
      node.facts.fabric.replace(node.facts.fabric.find(R"("hcas")"), 0,
                                R"("files": [], )");
    }
    if (local) bed.options.local = LocalShape{2, 2};
    bed.options.env.push_back({"NCCL_TOPO_FILE", "/etc/none.xml"});
    const auto out = bed.agree();
    REQUIRE(out);
    CHECK(std::any_of(out->findings.begin(), out->findings.end(),
                      [](const Finding& one) {
                        return one.text.find("NCCL_TOPO_FILE=/etc/none.xml") !=
                               std::string::npos;
                      }));
  }
}

TEST_CASE("interfaces that nobody looked for refuse nothing") {
  AgreementBed bed;
  bed.options.local = LocalShape{2, 2};
  bed.options.env.push_back({"NCCL_SOCKET_IFNAME", "ib0"});
  CHECK(bed.agree());
}

TEST_CASE("GPUs that no pod has end the launch before its ranks") {
  AgreementBed bed;
  for (NodeSpec& node : bed.input.nodes) {
    node.facts.gpu = {"nvidia", 2, {"/dev/nvidia0", "/dev/nvidia1"}, {}};
  }
  bed.options.env.push_back({"CUDA_VISIBLE_DEVICES", "2"});
  const auto refused = bed.agree();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what.find("there is no GPU 2") != std::string::npos);
  bed.options.force = true;
  CHECK(bed.agree());
}

TEST_CASE("the launcher's image counts too, although it runs no rank") {
  AgreementBed bed;
  bed.use_mpi("openmpi", "4.1.4");
  bed.input.nodes[0].facts.mpi.family = "mpich";
  CHECK_FALSE(bed.agree());
}

TEST_CASE("who starts the ranks, and why") {
  constexpr auto kAuto = Bootstrap::kAuto;
  constexpr auto kPmix = Bootstrap::kPmix;
  constexpr auto kMpirun = Bootstrap::kMpirun;
  struct Row {
    const char* family;
    const char* version;
    Words line;
    Bootstrap asked;
    Bootstrap expected;
    const char* reason;
  };
  const Words line = {"mpirun", "-np", "2", "./app"};
  const Words ranks = {"mpirun", "-np", "2", "--rankfile", "r", "./app"};
  const Row rows[] = {
      {"", "", {}, kAuto, kPmix, "no mpirun"},
      {"openmpi", "4.1.4", {}, kPmix, kPmix, "--bootstrap"},
      {"openmpi", "4.1.4", {}, kMpirun, kMpirun, "--bootstrap"},
      {"openmpi", "4.1.4", line, kAuto, kMpirun, "line"},
      {"openmpi", "4.1.4", line, kPmix, kPmix, "--bootstrap"},
      {"openmpi", "4.1.4", ranks, kPmix, kMpirun, "--rankfile r"},
      {"openmpi", "4.1.4", {}, kAuto, kPmix, "openmpi 4.1.4"},
      {"openmpi", "5.0.7", {}, kAuto, kPmix, "openmpi 5.0.7"},
      {"openmpi", "4.0.3", {}, kAuto, kMpirun, "not been tried"},
      {"mpich", "4.2.0", {}, kAuto, kPmix, "mpich 4.2.0"},
      {"intel", "2021.9", {}, kAuto, kMpirun, "not been tried"}};
  for (const Row& row : rows) {
    INFO(row.family << " " << row.version << ": " << row.reason);
    AgreementBed bed;
    if (*row.family != '\0') bed.use_mpi(row.family, row.version);
    if (!row.line.empty()) bed.use_line(row.line);
    for (NodeSpec& node : bed.input.nodes) node.facts.serves_pmix = true;
    bed.options.bootstrap = row.asked;
    const auto out = bed.agree();
    REQUIRE(out);
    CHECK(out->bootstrap == row.expected);
    CHECK(out->bootstrap_reason.find(row.reason) != std::string::npos);
  }
}

TEST_CASE("a program with MPI Sessions goes where its MPI can build them") {
  const auto chosen = [](const char* family, const char* version, bool asked) {
    AgreementBed bed;
    bed.use_mpi(family, version);
    for (NodeSpec& node : bed.input.nodes) node.facts.serves_pmix = true;
    bed.input.uses_sessions = true;
    if (asked) bed.options.bootstrap = Bootstrap::kPmix;
    return bed.agree()->bootstrap;
  };
  CHECK(chosen("openmpi", "5.0.7", false) == Bootstrap::kMpirun);
  CHECK(chosen("openmpi", "5.0.7", true) == Bootstrap::kPmix);
  CHECK(chosen("openmpi", "4.1.4", false) == Bootstrap::kPmix);
  CHECK(chosen("mpich", "4.2.0", false) == Bootstrap::kPmix);
}

TEST_CASE("a program that spawns goes to mpirun, unless told otherwise") {
  const auto chosen = [](const char* family, const char* version, bool asked) {
    AgreementBed bed;
    bed.use_mpi(family, version);
    for (NodeSpec& node : bed.input.nodes) node.facts.serves_pmix = true;
    bed.input.spawns = true;
    if (asked) bed.options.bootstrap = Bootstrap::kPmix;
    return bed.agree()->bootstrap;
  };
  CHECK(chosen("openmpi", "4.1.4", false) == Bootstrap::kMpirun);
  CHECK(chosen("mpich", "4.2.0", false) == Bootstrap::kMpirun);
  CHECK(chosen("openmpi", "4.1.4", true) == Bootstrap::kPmix);
}

TEST_CASE("mpirun asked for, but there is none, or nobody knows it") {
  AgreementBed bed;
  bed.options.bootstrap = Bootstrap::kMpirun;
  const auto missing = bed.agree();
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == "exe_not_found");
  bed.use_mpi("", "");
  const auto unknown = bed.agree();
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().code == "usage");
  CHECK(unknown.error().text().find("--bootstrap pmix") != std::string::npos);
}

TEST_CASE("an mpirun line keeps what the user said, with our hostfile") {
  AgreementBed bed;
  bed.use_mpi("openmpi", "4.1.4");
  bed.use_line({"mpirun", "-np", "3", "--hostfile", "/etc/mpi/hostfile", "-x",
                "A=1", "--bind-to", "core", "./app", "--flag"});
  const auto out = bed.agree();
  REQUIRE(out);
  CHECK(out->expected_ranks == 3);
  REQUIRE(!out->words.empty());
  CHECK(out->words[0] == "/usr/bin/mpirun");
  const std::string line = join(out->words, " ");
  CHECK(line.find("/run/m/hostfile") != std::string::npos);
  CHECK(line.find("/etc/mpi/hostfile") == std::string::npos);
  CHECK(line.find("--bind-to core") != std::string::npos);
  CHECK(line.ends_with("./app --flag"));
  REQUIRE(out->dropped.size() == 1);
  CHECK(out->dropped[0].find("/etc/mpi/hostfile") != std::string::npos);
  CHECK(out->hostfile_text == "w-0 slots=2\nw-1 slots=2\n");
}

TEST_CASE("Hydra gets its own hostfile dialect") {
  AgreementBed bed;
  bed.use_mpi("mpich", "4.0.2");
  bed.use_line({"mpiexec", "-n", "2", "./app"});
  const auto out = bed.agree();
  REQUIRE(out);
  CHECK(out->hostfile_text == "w-0:2\nw-1:2\n");
  CHECK(join(out->words, " ").find("muster-ssh") != std::string::npos);
}

TEST_CASE("an interface that the user has named is the only one for Hydra") {
  const auto words = [](bool option, bool variable) {
    AgreementBed bed;
    bed.use_mpi("mpich", "4.0.2");
    bed.input.interface = "eth0";
    Words line = {"mpiexec", "-n", "2", "./app"};
    if (option) line = {"mpiexec", "-iface", "ib0", "-n", "2", "./app"};
    bed.use_line(line);
    if (variable) bed.discovery.env.push_back({"HYDRA_IFACE", "ib1"});
    const auto out = bed.agree();
    REQUIRE(out);
    return join(out->words, " ");
  };
  CHECK(words(false, false).find("-iface eth0") != std::string::npos);
  CHECK(words(true, false).find("-iface eth0") == std::string::npos);
  CHECK(words(true, false).find("-iface ib0") != std::string::npos);
  CHECK(words(false, true).find("-iface") == std::string::npos);
}

TEST_CASE("several programs in one line") {
  AgreementBed bed;
  bed.use_mpi("openmpi", "4.1.4");
  bed.use_line({"mpirun", "-np", "1", "./a", ":", "-np", "2", "./b", "x"});
  const auto out = bed.agree();
  REQUIRE(out);
  REQUIRE(out->plan.ranks.size() == 3);
  CHECK(out->plan.ranks[0].argv == Words{"./a"});
  CHECK(out->plan.ranks[2].argv == Words{"./b", "x"});
  CHECK(out->plan.ranks[2].app == 1);
}

TEST_CASE("Hydra's lines may have more ranks than slots") {
  AgreementBed bed;
  bed.use_mpi("mpich", "4.0.2");
  bed.use_line({"mpiexec", "-n", "5", "./app"});
  auto out = bed.agree();
  REQUIRE(out);
  CHECK(nodes_of_ranks(*out) == std::vector<int>{0, 0, 1, 1, 0});
  bed.use_line({"mpiexec", "-n", "9", "-ppn", "3", "./app"});
  out = bed.agree();
  REQUIRE(out);
  CHECK(nodes_of_ranks(*out) == std::vector<int>{0, 0, 0, 1, 1, 1, 0, 0, 0});
  bed.use_line({"mpiexec", "-n", "2", "./a", ":", "./b"});
  out = bed.agree();
  REQUIRE(out);
  CHECK(nodes_of_ranks(*out) == std::vector<int>{0, 0, 1, 1, 0, 0});
  bed.use_mpi("openmpi", "4.1.4");
  bed.use_line({"mpirun", "-n", "5", "./app"});
  CHECK_FALSE(bed.agree());
}

TEST_CASE("how many ranks a line has may be mpirun's to say") {
  AgreementBed bed;
  bed.use_mpi("openmpi", "4.1.4");
  const auto expected = [&bed](const Words& options) {
    Words words = {"mpirun"};
    words.insert(words.end(), options.begin(), options.end());
    words.emplace_back("./app");
    bed.use_line(words);
    const auto out = bed.agree();
    REQUIRE(out);
    return out->expected_ranks;
  };
  CHECK(expected({}) == 4);
  CHECK(expected({"-N", "1"}) == 2);
  CHECK(expected({"--map-by", "ppr:1:socket"}) == -1);
  CHECK(expected({"-np", "2", "--map-by", "ppr:1:socket"}) == 2);
}

TEST_CASE("the NCCL of a launcher without ranks is compared with nobody's") {
  AgreementBed bed;
  bed.input.nodes[0].facts.nccl_version = "2.21.5";
  bed.input.nodes[1].facts.nccl_version = "2.28.9";
  bed.input.nodes[2].facts.nccl_version = "2.28.9";
  CHECK(bed.agree());
  bed.input.nodes[2].facts.nccl_version = "2.27.3";
  CHECK_FALSE(bed.agree());
}

bool sets(const Agreement& agreement, const std::string& name) {
  return std::all_of(agreement.fabric.env.begin(), agreement.fabric.env.end(),
                     [&](const Environment& env) {
                       return std::any_of(
                           env.begin(), env.end(),
                           [&](auto& entry) { return entry.first == name; });
                     });
}

bool told(const Agreement& agreement, const std::string& code) {
  return std::any_of(agreement.findings.begin(), agreement.findings.end(),
                     [&](auto& finding) { return finding.code == code; });
}

TEST_CASE("programs of one line may have profiles of their own") {
  AgreementBed bed;
  bed.use_mpi("openmpi", "4.1.5");
  bed.use_line({"mpirun", "-n", "2", "trainer", ":", "-n", "2", "-x",
                "MUSTER_PROFILE=grpo", "rollout"});
  auto out = bed.agree();
  REQUIRE(out);
  CHECK(sets(*out, "NCCL_IB_DISABLE"));
  CHECK(sets(*out, "NCCL_P2P_DISABLE"));
  CHECK(told(*out, "profiles_equalised"));
  bed.use_line({"mpirun", "-n", "2", "trainer", ":", "-n", "2", "-x",
                "MUSTER_PROFILE=grqo", "rollout"});
  out = bed.agree();
  REQUIRE_FALSE(out);
  CHECK(out.error().code == "unknown_profile");
}

TEST_CASE("a profile that was asked for holds on one machine, too") {
  AgreementBed bed;
  bed.options.local = LocalShape{2, 2};
  auto out = bed.agree();
  REQUIRE(out);
  CHECK(out->fabric.summary.empty());
  bed.options.profile = "grpo";
  out = bed.agree();
  REQUIRE(out);
  REQUIRE(out->fabric.env.size() == 2);
  CHECK(sets(*out, "NCCL_P2P_DISABLE"));
  CHECK(out->fabric.summary.find("profile rl (grpo)") != std::string::npos);
  CHECK_FALSE(told(*out, "same_address"));
}

TEST_CASE("--once starts no rank by itself and expects no number") {
  AgreementBed bed;
  bed.use_mpi("openmpi", "4.1.4");
  bed.options.once = true;
  bed.options.np = 99;  // for the script to read, not for the planner
  bed.options.command = {"./run.sh"};
  const auto out = bed.agree();
  REQUIRE(out);
  CHECK(out->bootstrap == Bootstrap::kMpirun);
  CHECK(out->expected_ranks == -1);
  CHECK(out->words.empty());
  CHECK(!out->hostfile_text.empty());
}

TEST_CASE("mpirun knows its own host by what the kernel calls it") {
  AgreementBed bed("l slots=1\nw-0 slots=1\n");
  bed.discovery.hostname = "launcher-abcde";
  bed.use_mpi("openmpi", "4.1.4");
  bed.use_line({"mpirun", "./app"});
  const auto out = bed.agree();
  REQUIRE(out);
  CHECK(out->hostfile_text == "launcher-abcde slots=1\nw-0 slots=1\n");
}

TEST_CASE("no hosts") {
  AgreementBed bed;
  bed.discovery.hosts.clear();
  bed.input.node_of_host.clear();
  const auto out = bed.agree();
  REQUIRE_FALSE(out);
  CHECK(out.error().code == "no_hosts");
}

TEST_CASE("where /tmp cannot be written, TMPDIR leads to what can") {
  AgreementBed bed;
  bed.input.nodes[0].facts.writable = {"/tmp", "/dev/shm"};
  bed.input.nodes[1].facts.writable = {"/dev/shm"};
  bed.input.nodes[2].facts.writable = {"/dev/shm"};
  bed.input.nodes[2].facts.environment["TMPDIR"] = "/scratch";
  const auto out = bed.agree();
  REQUIRE(out);
  CHECK(find_env(out->env[0].to_set, "TMPDIR") == nullptr);
  REQUIRE(find_env(out->env[1].to_set, "TMPDIR") != nullptr);
  CHECK(*find_env(out->env[1].to_set, "TMPDIR") == "/dev/shm");
  CHECK(find_env(out->env[2].to_set, "TMPDIR") == nullptr);
  const auto& told = out->env[1].decisions;
  CHECK(std::is_sorted(
      told.begin(), told.end(),
      [](const auto& a, const auto& b) { return a.name < b.name; }));
}

TEST_CASE("an MPI that compares addresses is told of a shared one") {
  AgreementBed bed;
  bed.options.bootstrap = Bootstrap::kMpirun;
  bed.use_mpi("openmpi", "4.1.4");
  NetInterface eth0;
  eth0.addresses = {"10.0.0.7/24", "fd00::7/64"};
  bed.input.nodes[0].facts.interfaces = {eth0};
  bed.input.nodes[1].peer_address = "10.0.0.8";
  bed.input.nodes[2].peer_address = "10.0.0.70";
  const auto asked = [&bed]() -> bool {
    const auto out = bed.agree();
    REQUIRE(out);
    return find_env(out->mpi.env, "OMPI_MCA_if_base_do_not_resolve") != nullptr;
  };
  CHECK_FALSE(asked());
  bed.input.nodes[2].peer_address = "fd00::7";
  CHECK(asked());
}

TEST_CASE("variables of the launcher and of -x reach every node") {
  AgreementBed bed;
  bed.discovery.env.emplace_back("WANDB_MODE", "offline");
  bed.options.env.push_back({"EXTRA", "7"});
  const auto out = bed.agree();
  REQUIRE(out);
  for (const EnvMerge& merge : out->env) {
    REQUIRE(find_env(merge.to_set, "EXTRA") != nullptr);
    CHECK(*find_env(merge.to_set, "EXTRA") == "7");
    CHECK(find_env(merge.to_set, "WANDB_MODE") != nullptr);
    CHECK(find_env(merge.to_set, "HOME") == nullptr);
  }
}

}  // namespace
}  // namespace muster
