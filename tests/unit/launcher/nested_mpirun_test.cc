// SPDX-License-Identifier: Apache-2.0
#include "launcher/nested_mpirun.h"

#include "catch.h"

using namespace muster;

TEST_CASE("a command of ranks that calls mpirun") {
  using Words = std::vector<std::string>;
  const Words all[] = {{"bash", "-c", "cd /w && mpirun -np 2 ./a"},
                       {"/bin/sh", "-ec", "exec mpiexec ./a"},
                       {"env", "A=1", "mpirun", "-np", "2", "./a"},
                       {"timeout", "20", "/opt/mpi/bin/mpirun", "./a"}};
  for (const Words& words : all) {
    INFO(words[0]);
    CHECK_FALSE(nested_mpirun(words).empty());
  }
  const Words none[] = {{"./a"},
                        {"python", "t.py", "--launcher", "mpirun"},
                        {"bash", "run.sh", "mpirun"},
                        {"bash", "-c", "echo $RANK"},
                        {"bash", "-c"},
                        {"env", "A=1", "./a"}};
  for (const Words& words : none) {
    INFO(words[0]);
    CHECK(nested_mpirun(words).empty());
  }
}
