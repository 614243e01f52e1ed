// SPDX-License-Identifier: Apache-2.0
// What a variable or a parameter file says of places is as if the line said it.
#include "job/mpi_parameters.h"

#include "catch.h"
#include "job/line_placement.h"

namespace muster {
namespace {

MpirunLine line_with(std::vector<std::string> words,
                     const std::vector<MpiParameter>& ambient) {
  auto line = parse_mpirun_line(std::move(words));
  REQUIRE(line);
  apply_parameters(ambient, *line);
  return std::move(*line);
}

const std::vector<std::string> kLine = {"mpirun", "-np", "3", "./a"};

TEST_CASE("who allows more ranks than slots") {
  struct Row {
    std::vector<std::string> words;
    std::vector<MpiParameter> ambient;
    bool allowed;
  };
  const Row rows[] = {
      {kLine, {}, false},
      {kLine, {{"rmaps_base_oversubscribe", "1", ""}}, true},
      {kLine, {{"rmaps_base_oversubscribe", "true", ""}}, true},
      {kLine, {{"rmaps_base_oversubscribe", "0", ""}}, false},
      {kLine, {{"rmaps_base_oversubscribe", "off", ""}}, false},
      {kLine, {{"rmaps_base_mapping_policy", ":OVERSUBSCRIBE", ""}}, true},
      {kLine,
       {{"rmaps_default_mapping_policy", "node:oversubscribe", ""}},
       true},
      {kLine,
       {{"rmaps_base_mapping_policy", "slot:nooversubscribe", ""}},
       false},
      // The later one wins, and the line over both.
      {kLine,
       {{"rmaps_base_oversubscribe", "1", "file"},
        {"rmaps_base_oversubscribe", "0", "variable"}},
       false},
      {kLine,
       {{"rmaps_base_oversubscribe", "1", ""},
        {"rmaps_base_no_oversubscribe", "1", ""}},
       false},
      {{"mpirun", "--mca", "rmaps_base_oversubscribe", "1", "./a"}, {}, true},
      {{"mpirun", "--mca", "rmaps_base_oversubscribe", "0", "./a"},
       {{"rmaps_base_oversubscribe", "1", ""}},
       false},
      {{"mpirun", "--nooversubscribe", "./a"},
       {{"rmaps_base_oversubscribe", "1", ""}},
       false},
      {{"mpiexec.hydra", "-n", "3", "./a"},
       {{"rmaps_base_oversubscribe", "1", ""}},
       false},
  };
  for (const Row& row : rows) {
    const MpirunLine line = line_with(row.words, row.ambient);
    INFO(line.words[1] << " " << row.ambient.size());
    CHECK(line.oversubscribe == row.allowed);
    CHECK(own_mapping(line).find("oversubscribe=") == std::string::npos);
  }
}

TEST_CASE("parameters that map ranks") {
  const MpirunLine node =
      line_with(kLine, {{"rmaps_base_mapping_policy", "node", "V=node"}});
  CHECK(node.by_node);
  CHECK(own_mapping(node) == "V=node");
  CHECK(line_with(kLine, {{"rmaps_base_mapping_policy", "ppr:2:node", "f:3"}})
            .per_node == 2);
  CHECK(line_with(kLine, {{"rmaps_ppr_n_pernode", "4", "f:1"}}).per_node == 4);
  CHECK(line_with(kLine, {{"rmaps_base_pernode", "1", "f:1"}}).per_node == 1);
  CHECK_FALSE(line_with(kLine, {{"rmaps_base_pernode", "0", "f:1"}}).per_node);
  // An option of the line has the last word.
  const MpirunLine own =
      line_with({"mpirun", "--map-by", "slot", "./a"},
                {{"rmaps_base_mapping_policy", "ppr:2:node", "f:3"}});
  CHECK_FALSE(own.per_node);
  CHECK(own_mapping(own) == "--map-by slot");
  // Only mpirun knows how many ranks these make.
  CHECK(counts_by_itself(line_with(
      {"mpirun", "./a"}, {{"rmaps_ppr_pattern", "1:socket", "f:2"}})));
}

TEST_CASE("labels by parameter") {
  CHECK(line_with(kLine, {{"orte_tag_output", "1", ""}}).tag_output);
  CHECK_FALSE(line_with(kLine, {{"orte_tag_output", "0", ""}}).tag_output);
}

TEST_CASE("a time limit by variable") {
  const auto limit = [](std::vector<std::string> words, std::string value) {
    auto line = parse_mpirun_line(std::move(words));
    REQUIRE(line);
    apply_time_limit({{"MPIEXEC_TIMEOUT", std::move(value)}}, *line);
    return line->timeout_s;
  };
  CHECK(limit(kLine, "20") == 20);
  CHECK(limit({"mpiexec.hydra", "-timeout", "5", "./a"}, "20") == 5);
  for (const char* nonsense : {"", "0", "-1", "soon"}) {
    CHECK_FALSE(limit(kLine, nonsense));
  }
}

TEST_CASE("variables and files as parameters") {
  const auto of_env = parameters_of(
      {{"OMPI_MCA_btl", "tcp"},
       {"PATH", "/bin"},
       {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"}});
  REQUIRE(of_env.size() == 2);
  CHECK(of_env[1].name == "rmaps_default_mapping_policy");
  CHECK(allow_oversubscription(of_env));
  const auto of_file = parse_parameter_file(
      "# comment\n\n  rmaps_base_oversubscribe = 1  # yes\nno value\n=x\n"
      "btl=self",
      "/etc/p.conf");
  REQUIRE(of_file.size() == 2);
  CHECK(of_file[0].name == "rmaps_base_oversubscribe");
  CHECK(of_file[0].value == "1");
  CHECK(of_file[0].source == "/etc/p.conf:3");
  CHECK(of_file[1].value == "self");
}

}  // namespace
}  // namespace muster
