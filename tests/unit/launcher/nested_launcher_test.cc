// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/nested_launcher.h"

#include "catch.h"

using namespace muster;

namespace {

using Words = std::vector<std::string>;

// What is said of a program with that many ranks in its first pod.
std::string said(const Words& words, int ranks_of_pod = 2) {
  AppSpec app;
  app.argv = words;
  Plan plan;
  for (int i = 0; i <= ranks_of_pod; ++i) {
    plan.ranks.push_back({i, i / ranks_of_pod, i % ranks_of_pod, 0, words});
  }
  const auto findings = nested_launchers({app}, plan);
  return findings.empty() ? "" : findings[0].text;
}

}  // namespace

TEST_CASE("a command of ranks that starts jobs of its own") {
  const Words all[] = {{"bash", "-c", "cd /w && mpirun -np 2 ./a"},
                       {"/bin/sh", "-ec", "exec mpiexec ./a"},
                       {"env", "A=1", "mpirun", "-np", "2", "./a"},
                       {"timeout", "20", "/opt/mpi/bin/mpirun", "./a"},
                       {"bash", "-c", "module load x; srun ./a"},
                       {"srun", "-n", "4", "./a"},
                       {"flux", "run", "./a"},
                       {"nice", "deepspeed", "train.py"}};
  for (const Words& words : all) {
    INFO(words[0] << " " << words[1]);
    CHECK(said(words).ends_with("a job for each of them"));
    CHECK(said(words, 1).ends_with("a job for each of them"));
  }
  const Words none[] = {{"./a"},
                        {"python", "t.py", "--launcher", "mpirun"},
                        {"bash", "run.sh", "mpirun"},
                        {"bash", "-c", "python t.py --strategy deepspeed"},
                        {"bash", "-c", "pip install deepspeed && ./a"},
                        {"bash", "-c", "echo $RANK"},
                        {"bash", "-c"},
                        {"flux", "version"},
                        {"env", "A=1", "./a"}};
  for (const Words& words : none) {
    INFO(words[0]);
    CHECK(said(words).empty());
  }
}

TEST_CASE("torchrun is meant once a pod") {
  const Words all[] = {
      {"torchrun", "--nproc-per-node", "8", "train.py"},
      {"python3", "-m", "torch.distributed.run", "train.py"},
      {"python3", "-u", "-m", "torch.distributed.run", "train.py"},
      {"bash", "-c", "cd /w && python -u -m torch.distributed.launch t.py"},
      {"accelerate", "launch", "train.py"}};
  for (const Words& words : all) {
    INFO(words[0]);
    CHECK(said(words, 8).ends_with(
        "8 times in one pod, each with processes of its own"));
    CHECK(said(words, 1).empty());
  }
  CHECK(said({"python3", "-m", "torch.utils.collect_env"}, 8).empty());
  CHECK(said({"python3", "t.py", "-m", "torch.distributed.run"}, 8).empty());
}

TEST_CASE("each program of a line is looked at") {
  AppSpec good;
  good.argv = {"./a"};
  AppSpec bad;
  bad.argv = {"torchrun", "t.py"};
  Plan plan;
  plan.ranks = {{0, 0, 0, 0, {}}, {1, 0, 1, 1, {}}};
  CHECK(nested_launchers({good, bad}, plan).empty());
  plan.ranks.push_back({2, 0, 2, 1, {}});
  REQUIRE(nested_launchers({good, bad}, plan).size() == 1);
}
