// SPDX-License-Identifier: Apache-2.0
// mpirun lines that may start natively, and the option that forbids it.
#include "job/native_line.h"

#include "base/text.h"
#include "catch.h"

namespace muster {
namespace {

NativeLine read(const std::string& text) {
  std::vector<std::string> words;
  for (const auto word : split_words(text)) words.emplace_back(word);
  const auto line = parse_mpirun_line(words);
  if (!line) FAIL(text << ": " << line.error().text());
  return native_line(*line);
}

TEST_CASE("what muster keeps of a line itself") {
  for (const char* text :
       {"mpirun -np 4 ./a", "mpirun -n 4 --oversubscribe ./a -x not ours",
        "mpirun -c 2 -H a:2,b --allow-run-as-root -x A=1 -x B ./a",
        "mpirun --hostfile h --map-by ppr:2:node --rank-by slot ./a",
        "mpirun --map-by node --tag-output -wdir /w --timeout 9 ./a",
        "mpirun -np 1 ./a : -np 2 ./b", "mpirun -np 1 ./a : -np 1 -H b ./b",
        "mpirun -np 2 -H a:* ./a", "mpirun -np 2 --output-filename f ./a",
        "mpirun -np 2 --output-directory f:nocopy ./a",
        "mpirun -np 2 --output dir=f:nocopy ./a",
        "mpiexec.hydra -hosts a,b -n 1 ./a : -n 1 ./b",
        "mpiexec.hydra -n 4 -ppn 2 ./a",
        "mpiexec.hydra -genv A 1 -env B 2 -n 2 -f hosts ./a",
        "horovodrun -np 4 -H a:2,b:2 python t.py"}) {
    INFO(text);
    CHECK(read(text).blocker.empty());
  }
}

TEST_CASE("the option that decides against it is named") {
  const std::pair<const char*, const char*> rows[] = {
      {"mpirun --rankfile r -np 2 ./a", "--rankfile r"},
      {"mpirun -np 2 --map-by socket ./a", "--map-by socket"},
      {"mpirun -np 2 --map-by slot:PE=4 ./a", "--map-by slot:PE=4"},
      {"mpirun -np 2 --rank-by core ./a", "--rank-by core"},
      {"mpirun -np 2 --bind-to l3cache ./a", "--bind-to l3cache"},
      {"mpirun -np 2 --mca plm_rsh_args -p ./a", "--mca plm_rsh_args -p"},
      {"mpirun -np 2 --prtemca a b ./a", "--prtemca a b"},
      {"mpirun -np 2 --output tag,dir=f ./a", "--output tag,dir=f"},
      {"mpirun -np 2 --xterm 0 ./a", "--xterm 0"},
      // Open MPI numbers the ranks of each host in a row then.
      {"mpirun --map-by node --rank-by slot ./a", "--rank-by slot"},
      {"mpirun --mca hwloc_base_binding_policy core ./a",
       "--mca hwloc_base_binding_policy core"},
      {"mpiexec.hydra -n 2 -outfile-pattern f ./a", "-outfile-pattern f"},
  };
  for (const auto& [text, blocker] : rows) {
    INFO(text);
    CHECK(read(text).blocker == blocker);
  }
}

TEST_CASE("what becomes ours") {
  const NativeLine line =
      read("mpirun --mca btl self,tcp --mca pml ob1 --bind-to core ./a");
  CHECK(line.blocker.empty());
  CHECK(line.bind_to == "core");
  REQUIRE(line.env.size() == 2);
  CHECK(*find_env(line.env, "OMPI_MCA_btl") == "self,tcp");
  CHECK(*find_env(line.env, "OMPI_MCA_pml") == "ob1");
}

}  // namespace
}  // namespace muster
