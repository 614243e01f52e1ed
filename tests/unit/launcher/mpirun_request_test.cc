// SPDX-License-Identifier: Apache-2.0
// What muster's placement options come to where an mpirun starts the ranks.
#include "launcher/plan/mpirun_request.h"

#include <algorithm>

#include "agreement_bed.h"
#include "base/text.h"
#include "catch.h"
#include "launcher/plan/launch_environment.h"

namespace muster {
namespace {

using test::AgreementBed;
using Words = std::vector<std::string>;

struct MpirunBed : AgreementBed {
  explicit MpirunBed(const char* family = "openmpi",
                     const char* version = "4.1.4") {
    use_mpi(family, version);
    options.bootstrap = Bootstrap::kMpirun;
    for (NodeSpec& node : input.nodes) {
      node.facts.cpus_allowed = 4;
      for (int cpu = 0; cpu < 4; ++cpu) {
        node.facts.cores.push_back({{cpu}, cpu / 2, 0});
      }
      node.facts.gpu.vendor = "nvidia";
      node.facts.gpu.count = 2;
      node.facts.gpu.places = {{"GPU-a", "", 0}, {"GPU-b", "", 1}};
    }
  }
  Agreement agreed() {
    auto out = agree();
    REQUIRE(out);
    return std::move(*out);
  }
  MpirunPlan plan(const Agreement& agreement) const {
    return mpirun_plan(agreement, input.node_of_host, options, "/run/m", "");
  }
};

std::string left_out(const Agreement& agreement) {
  Words out;
  for (const Finding& finding : agreement.findings) {
    if (finding.code == "option_left_out") out.push_back(finding.text);
  }
  return join(out, "; ");
}

std::string value(const Environment& env, const char* name) {
  const std::string* found = find_env(env, name);
  return found == nullptr ? "-" : *found;
}

constexpr const char* kPolicy = "OMPI_MCA_hwloc_base_binding_policy";

TEST_CASE("each local rank under mpirun is told its CPUs and GPUs") {
  MpirunBed bed;
  bed.options.bind_to = "core";
  bed.options.gpu_bind = "single";
  const MpirunPlan plan = bed.plan(bed.agreed());
  REQUIRE(plan.local_rank_env.size() == 3);
  CHECK(plan.local_rank_env[0].empty());  // the launcher runs no rank
  REQUIRE(plan.local_rank_env[2].size() == 2);
  const Environment& second = plan.local_rank_env[2][1];
  CHECK(value(second, "MUSTER_CPUS") == "1");
  CHECK(value(second, "CUDA_VISIBLE_DEVICES") == "GPU-b");
  CHECK(plan.placement == "--bind-to core, --gpu-bind single");
  CHECK(value(plan.env, kPolicy) == "none");
  CHECK(value(plan.node_env[1], kPolicy) == "none");
}

TEST_CASE("who binds under mpirun") {
  const Words bare = {"mpirun", "./a"};
  const Words bound = {"mpirun", "--bind-to", "socket", "./a"};
  struct Row {
    Words line;
    std::string bind_to;
    double quota;
    const char* policy;  // what Open MPI is told
    const char* cpus;    // what the first rank is told
    const char* said;
  };
  const Row rows[] = {
      // A program by itself is not bound unless that is asked for.
      {{}, "", -1, "none", "-", ""},
      {{}, "numa", -1, "none", "0-1", ""},
      {{}, "none", -1, "none", "-", ""},
      // A line keeps mpirun's default, but for a quota.
      {bare, "", -1, "-", "-", ""},
      {bare, "", 2, "none", "-", ""},
      {bare, "core", -1, "none", "0", ""},
      {bare, "none", -1, "none", "-", ""},
      {bound, "", 2, "-", "-", ""},
      {bound, "core", -1, "-", "-",
       "--bind-to core is left out: the MPI is told to bind by "
       "--bind-to socket"},
  };
  for (const Row& row : rows) {
    MpirunBed bed;
    if (!row.line.empty()) bed.use_line(row.line);
    bed.options.bind_to = row.bind_to;
    for (NodeSpec& node : bed.input.nodes) node.facts.cpu_quota = row.quota;
    INFO(join(row.line, " ") << ", --bind-to " << row.bind_to);
    const Agreement agreement = bed.agreed();
    const MpirunPlan plan = bed.plan(agreement);
    CHECK(value(plan.env, kPolicy) == row.policy);
    CHECK(value(plan.local_rank_env[1][0], "MUSTER_CPUS") == row.cpus);
    CHECK(left_out(agreement) == row.said);
  }
}

TEST_CASE("a variable of the user's binds, too") {
  MpirunBed bed;
  bed.discovery.env.emplace_back(kPolicy, "core");
  bed.options.bind_to = "numa";
  const Agreement agreement = bed.agreed();
  CHECK(left_out(agreement).find(kPolicy) != std::string::npos);
  CHECK(value(bed.plan(agreement).local_rank_env[1][0], "MUSTER_CPUS") == "-");
}

TEST_CASE("a hundred pods with a quota are one sentence") {
  MpirunBed bed;
  bed.options.bind_to = "core";
  for (NodeSpec& node : bed.input.nodes) node.facts.cpu_quota = 1;
  std::string said;
  for (const Finding& finding : bed.agreed().findings) {
    if (finding.code == "not_bound") said += finding.text + "\n";
  }
  CHECK(said ==
        "ranks on w-0 are not bound to CPUs: a CPU quota limits the pod, not a "
        "set of CPUs (and likewise on 1 more)\n");
}

TEST_CASE("each family is told in its own words to leave ranks unbound") {
  for (const auto& [family, name, wanted] :
       std::vector<std::tuple<const char*, const char*, const char*>>{
           {"openmpi", "PRTE_MCA_hwloc_default_binding_policy", "none"},
           {"intel", "I_MPI_PIN", "off"},
           {"mvapich", "MV2_ENABLE_AFFINITY", "0"}}) {
    INFO(family);
    MpirunBed bed(family, "1.0");
    const MpirunPlan plan = bed.plan(bed.agreed());
    CHECK(value(plan.env, name) == wanted);
    CHECK(value(plan.node_env[1], name) == wanted);
  }
}

TEST_CASE("a program by itself becomes a line of the family's") {
  const auto line = [](const char* family, const char* map_by) {
    MpirunBed bed(family, "4.0");
    bed.options.np = 2;
    bed.options.map_by = map_by;
    bed.options.cwd = "/w";
    return join(bed.agreed().words, " ");
  };
  const auto has = [](const std::string& text, const char* part) {
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
  };
  has(line("openmpi", "node"), "-n 2 --map-by node -wdir /w ./app");
  has(line("openmpi", "ppr:1:node"), "--map-by ppr:1:node");
  has(line("mpich", "node"), "-n 2 -ppn 1 -wdir /w");
  has(line("mpich", "ppr:1:node"), "-ppn 1");
}

TEST_CASE("stdin for all ranks is said in the family's words, or told") {
  const auto words = [](const char* family) {
    MpirunBed bed(family, "4.0");
    bed.options.stdin_mode = StdinMode::kAll;
    const Agreement agreed = bed.agreed();
    return join(agreed.words, " ") + " | " + left_out(agreed);
  };
  CHECK(words("openmpi").find("--stdin all ") != std::string::npos);
  CHECK(words("intel").find("-s all ") != std::string::npos);
  CHECK(words("mpich").find("| --stdin all is left out: this mpirun gives "
                            "stdin to rank 0 only") != std::string::npos);
  MpirunBed bed;
  bed.options.stdin_mode = StdinMode::kAll;
  bed.use_line({"mpirun", "-stdin", "1", "./a"});
  CHECK(join(bed.agreed().words, " ").find("--stdin") == std::string::npos);
}

TEST_CASE("a line gets what it lacks, and what it has stays") {
  MpirunBed bed;
  bed.options.np = 2;
  bed.options.map_by = "node";
  bed.options.cwd = "/w";
  bed.use_line({"mpirun", "-x", "A=1", "./a"});
  const std::string added = join(bed.agreed().words, " ");
  CHECK(added.find("-n 2 --map-by node -wdir /w -x A=1") != std::string::npos);
  bed.use_line(
      {"mpirun", "-np", "3", "--map-by", "slot", "-wdir", "/own", "./a"});
  const Agreement kept = bed.agreed();
  CHECK(kept.expected_ranks == 3);
  CHECK(kept.plan.ranks[1].node == 0);  // by slot, as the line says
  CHECK(join(kept.words, " ").find("/w ") == std::string::npos);
  CHECK(left_out(kept) ==
        "-n 2 is left out: the mpirun line has its own -np; "
        "--map-by node is left out: the mpirun line has its own "
        "--map-by slot; "
        "--wdir /w is left out: the mpirun line has its own -wdir");
  // Numbers that agree are no reason to complain.
  bed.options.map_by.clear();
  bed.options.cwd.clear();
  bed.use_line({"mpirun", "-np", "2", "./a"});
  CHECK(left_out(bed.agreed()).empty());
}

TEST_CASE("an option that writes output elsewhere is said to have no effect") {
  MpirunBed bed;
  bed.use_line({"mpirun", "--xml-file", "/o", "--tag-output",
                "--timestamp-output", "-np", "2", "./app"});
  const std::string text = left_out(bed.agreed());
  CHECK(text.find("--xml-file has no effect") != std::string::npos);
  CHECK(text.find("--timestamp-output has no effect") != std::string::npos);
  CHECK(text.find("--tag-output") == std::string::npos);
}

TEST_CASE("files of each rank are muster's, and it is said where") {
  const auto said = [](const Agreement& agreement) {
    std::string out;
    for (const Finding& finding : agreement.findings) {
      if (finding.code == "output_files") out += finding.text;
    }
    return out;
  };
  MpirunBed bed;
  bed.use_line({"mpirun", "--output-filename", "/o:nocopy", "./app"});
  Agreement agreed = bed.agreed();
  CHECK(said(agreed) ==
        "--output-filename /o:nocopy: the ranks' output is in the launcher's "
        "pod, in /o/rank-N.out and rank-N.err, and not shown here");
  CHECK(left_out(agreed).empty());
  CHECK(join(agreed.words, " ").find("/o") == std::string::npos);
  bed.options.log_directory = "/l";
  bed.options.bootstrap = Bootstrap::kPmix;
  agreed = bed.agreed();
  CHECK(agreed.bootstrap == Bootstrap::kPmix);
  CHECK(said(agreed).find("in /l/rank-N.out") != std::string::npos);
  bed.use_line({"mpirun", "--output", "tag,dir=/o", "./app"});
  CHECK(
      left_out(bed.agreed()).find("--output tag,dir=/o has no other effect") !=
      std::string::npos);
}

TEST_CASE("programs with hosts of their own keep them") {
  for (const Bootstrap bootstrap : {Bootstrap::kPmix, Bootstrap::kMpirun}) {
    MpirunBed bed;
    bed.options.bootstrap = bootstrap;
    bed.use_line({"mpirun", "-np", "1", "-H", "w-1", "./a", ":", "-np", "2",
                  "-H", "short:*", "./b"});
    // As the operator's hostfile has it.
    bed.discovery.line->apps[1].hosts[0].name = "w-0";
    const Agreement agreed = bed.agreed();
    CHECK(agreed.bootstrap == bootstrap);
    REQUIRE(agreed.plan.ranks.size() == 3);
    CHECK(agreed.plan.ranks[0].node == 1);
    CHECK(agreed.plan.ranks[2].node == 0);
    if (bootstrap == Bootstrap::kPmix) continue;
    const std::string words = join(agreed.words, " ");
    INFO(words);
    CHECK(words.find("--host w-1 ") != std::string::npos);
    CHECK(words.find("--host w-0:2 ") != std::string::npos);
  }
}

// Open MPI 4.1.4 does the same: mpirun --oversubscribe --display-map.
TEST_CASE("max_slots is no limit when oversubscribing is asked for") {
  AgreementBed bed("w-0 slots=2 max_slots=2\nw-1 slots=2 max_slots=3\n");
  bed.options.oversubscribe = true;
  bed.options.np = 8;
  const auto agreed = bed.agree();
  REQUIRE(agreed);
  CHECK(agreed->plan.nodes[0].ranks.size() == 4);
  CHECK(agreed->plan.nodes[1].ranks.size() == 4);
  bed.options.oversubscribe = false;
  bed.options.np = 5;
  CHECK(bed.agree().error().code == "not_enough_slots");
}

TEST_CASE("mpirun is called by the user's word, where that will do") {
  struct Case {
    const char* word;
    const char* program;
    LauncherSet launcher;
    std::vector<std::string> paths;
    const char* called;
  };
  const std::vector<Case> cases = {
      {"mpirun",
       "/usr/bin/mpirun",
       kOpenMpiLauncher,
       {"/v:/usr/bin"},
       "mpirun"},
      {"mpirun", "/usr/bin/mpirun", kOpenMpiLauncher, {"/usr/bin/"}, "mpirun"},
      // Typed with a directory: plain mpirun takes its prefix from it, too.
      {"/usr/bin/mpirun",
       "/usr/bin/mpirun",
       kOpenMpiLauncher,
       {"/usr/bin"},
       "/usr/bin/mpirun"},
      {"./mpirun", "./mpirun", kOpenMpiLauncher, {}, "./mpirun"},
      // One pod would not find orted.
      {"mpirun",
       "/opt/ompi/bin/mpirun",
       kOpenMpiLauncher,
       {"/opt/ompi/bin:/bin", "/usr/bin"},
       "/opt/ompi/bin/mpirun"},
      {"mpirun",
       "/opt/ompi/bin/mpirun",
       kOpenMpiLauncher,
       {"/opt/ompi/bin:/bin", "/opt/ompi/bin"},
       "mpirun"},
      {"mpirun",
       "/opt/ompi/bin/mpirun",
       kOpenMpiLauncher,
       {"/opt/ompi/bin/x:/opt"},
       "/opt/ompi/bin/mpirun"},
      // Open MPI refuses the prefix "/".
      {"mpirun", "/bin/mpirun", kOpenMpiLauncher, {"/usr/bin"}, "mpirun"},
      {"mpiexec",
       "/usr/bin/mpiexec",
       kHydraLauncher,
       {"/usr/bin"},
       "/usr/bin/mpiexec"},
      {"mpiexec", "", kOpenMpiLauncher, {}, "mpiexec"},
  };
  for (const Case& one : cases) {
    INFO(one.word << " " << one.program);
    CHECK(mpirun_called(one.word, one.program, one.launcher, one.paths) ==
          one.called);
  }
}

TEST_CASE("an unknown option of Open MPI's is said, with the nearest") {
  MpirunBed bed;
  bed.use_line({"mpirun", "--bind-too", "core", "-np", "2", "./app"});
  const Agreement agreed = bed.agreed();
  const auto& findings = agreed.findings;
  const auto found = std::find_if(
      findings.begin(), findings.end(),
      [](const Finding& one) { return one.code == "option_unknown"; });
  REQUIRE(found != findings.end());
  CHECK(found->text.find("--bind-too") != std::string::npos);
  CHECK(found->remedy.find("--bind-to?") != std::string::npos);
}

}  // namespace
}  // namespace muster
