// SPDX-License-Identifier: Apache-2.0
// Who places and binds: the line, its variables, or nobody yet.
#include "job/line_placement.h"

#include "catch.h"

namespace muster {
namespace {

MpirunLine line_of(std::vector<std::string> words) {
  return parse_mpirun_line(std::move(words)).value();
}

TEST_CASE("lines that bind by themselves") {
  struct Row {
    std::vector<std::string> words;
    const char* own;
  };
  const Row rows[] = {
      {{"mpirun", "-np", "2", "./a"}, ""},
      {{"mpirun", "-np", "2", "./a", "--bind-to", "core"}, ""},
      {{"mpirun", "--bind-to", "socket", "./a"}, "--bind-to socket"},
      {{"mpirun", "-bind-to", "none", "./a"}, "-bind-to none"},
      {{"mpirun", "--map-by", "slot:PE=4", "./a"}, "--map-by slot:PE=4"},
      {{"mpirun", "--map-by", "ppr:2:node", "./a"}, ""},
      {{"mpirun", "--rankfile", "r", "./a"}, "--rankfile r"},
      {{"mpirun", "--cpus-per-proc", "2", "./a"}, "--cpus-per-proc 2"},
      {{"mpirun", "--mca", "hwloc_base_binding_policy", "core", "./a"},
       "--mca hwloc_base_binding_policy core"},
      {{"mpirun", "--mca", "btl", "tcp,self", "./a"}, ""},
      {{"mpiexec.hydra", "-binding", "cell", "./a"}, "-binding cell"},
  };
  for (const Row& row : rows) {
    const MpirunLine line = line_of(row.words);
    INFO(row.own);
    CHECK(own_binding(&line, {}) == row.own);
  }
}

TEST_CASE("variables that bind") {
  CHECK(own_binding(nullptr, {{"PATH", "/bin"}}).empty());
  CHECK(
      own_binding(nullptr, {{"OMPI_MCA_hwloc_base_binding_policy", "numa"}}) ==
      "OMPI_MCA_hwloc_base_binding_policy=numa");
  const MpirunLine line = line_of({"mpirun", "--bind-to", "core", "./a"});
  CHECK(own_binding(&line, {{"I_MPI_PIN", "1"}}) == "--bind-to core");
}

TEST_CASE("lines that map by themselves") {
  for (const auto& [words, own] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"mpirun", "-np", "2", "./a"}, ""},
           {{"mpirun", "--map-by", "numa", "./a"}, "--map-by numa"},
           {{"mpirun", "-npernode", "2", "./a"}, "-npernode 2"},
           {{"mpirun", "--bynode", "./a"}, "--bynode"},
           {{"mpiexec.hydra", "-ppn", "1", "./a"}, "-ppn 1"}}) {
    INFO(own);
    CHECK(own_mapping(line_of(words)) == own);
  }
}

TEST_CASE("lines whose ranks only mpirun can count") {
  const auto counts = [](std::vector<std::string> options) {
    options.insert(options.begin(), "mpirun");
    options.emplace_back("./a");
    return counts_by_itself(line_of(options));
  };
  CHECK(counts({"--map-by", "ppr:1:socket"}));
  CHECK(counts({"--map-by", "PPR:2:numa:PE=2"}));
  CHECK(counts({"--map-by", "slot:PE=4"}));
  CHECK(counts({"-npersocket", "1"}));
  CHECK(counts({"--rankfile", "r"}));
  CHECK(counts({"--mca", "rmaps_base_mapping_policy", "ppr:1:core"}));
  CHECK_FALSE(counts({"--map-by", "ppr:2:node:PE=2"}));
  CHECK_FALSE(counts({"--map-by", "socket"}));
  CHECK_FALSE(counts({"-N", "2"}));
  CHECK_FALSE(counts({"--mca", "btl", "self,tcp"}));
}

}  // namespace
}  // namespace muster
