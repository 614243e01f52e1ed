// SPDX-License-Identifier: Apache-2.0
// What goes wrong before a program says a word: typos, places, a person's stop.
#include <csignal>

#include "catch.h"
#include "diagnosis/log/log_evidence.h"
#include "diagnosis/verdict.h"

using namespace muster;

namespace {

Evidence one_rank(int wait_status) {
  Evidence evidence;
  evidence.job.backend = "pmix";
  evidence.job.phase = "run";
  evidence.job.world_size = 1;
  RankEvidence rank;
  rank.rank = 0;
  rank.node = 1;
  rank.host = "pi-worker-0";
  rank.outcome = RankOutcome::kExited;
  rank.wait_status = wait_status;
  rank.exit_ns = 900'000'000;
  evidence.ranks = {rank};
  return evidence;
}

Verdict of_log(std::string_view text) {
  return diagnose(evidence_from_log(text, RuleBook::built_in()));
}

}  // namespace

TEST_CASE("who stopped the launcher is said by the signal") {
  Evidence evidence = one_rank(SIGTERM);
  evidence.ranks[0].stopped_by_us = true;
  evidence.job.stop_signal = SIGINT;
  CHECK(diagnose(evidence).headline == "The job was stopped by hand (SIGINT)");
  CHECK(diagnose(evidence).exit_code == 130);
  evidence.job.stop_signal = SIGTERM;
  CHECK(diagnose(evidence).headline == "The job was stopped by hand (SIGTERM)");
  CHECK(diagnose(evidence).exit_code == 143);
}

TEST_CASE("a working directory that a host lacks is not a missing program") {
  Evidence evidence = one_rank(0);
  evidence.job.argv = {"./app"};
  RankEvidence& rank = evidence.ranks[0];
  rank.outcome = RankOutcome::kRefused;
  rank.refusal_exit_code = 126;
  rank.refusal = {"cwd_missing", "cannot enter the working directory",
                  "No such file or directory", "/w",
                  "give one that exists on every host with --wdir"};
  const Verdict verdict = diagnose(evidence);
  CHECK(verdict.code == "workdir_missing");
  CHECK(verdict.headline.find("cannot enter the working directory /w") !=
        std::string::npos);
  CHECK(verdict.exit_code == 126);

  const Verdict hydra = of_log(
      "[proxy:0:0@w-0] launch_procs (pm/pmiserv/pmip_cb.c:621): unable to "
      "change wdir to /tmp/w (No such file or directory)\n"
      "[mpiexec@l] control_cb (pm/pmiserv/pmiserv_cb.c:206): assert (!closed) "
      "failed\n");
  CHECK(hydra.code == "workdir_missing");
  CHECK(hydra.headline == "Host w-0 cannot enter the working directory /tmp/w");
  CHECK(hydra.exit_code == 126);

  const Verdict orte = of_log(
      "mpirun was unable to launch the specified application as it could not\n"
      "change to the specified working directory:\n\n"
      "Working directory: /nosuch\nNode: w-1\n");
  CHECK(orte.code == "workdir_missing");
  CHECK(orte.exit_code == 126);
  // Removed under the shell that called mpirun.
  CHECK(of_log("[l:00580] Error: Unable to get the current working directory\n")
            .code == "workdir_missing");
}

TEST_CASE("a refused program is named once, with the reason") {
  Evidence evidence = one_rank(0);
  evidence.job.argv = {"/tmp"};
  RankEvidence& rank = evidence.ranks[0];
  rank.outcome = RankOutcome::kRefused;
  rank.refusal_exit_code = 126;
  rank.refusal = {"exe_not_runnable", "cannot start /tmp", "is a directory", "",
                  "name a program"};
  CHECK(diagnose(evidence).headline.find("cannot start /tmp: is a dir") !=
        std::string::npos);
  // Under mpirun the rank's wrapper says it.
  const Verdict wrapped =
      of_log("[0|w-0] muster-agent: cannot start /tmp: Permission denied\n");
  CHECK(wrapped.code == "exe_not_runnable");
}

TEST_CASE("a script with the line ends of Windows") {
  for (const char* const line :
       {"/usr/bin/env: 'python3\\r': No such file or directory\n",
        "bash: ./run.sh: /bin/bash^M: bad interpreter: /bin/bash^M\n"}) {
    INFO(line);
    const Verdict verdict = of_log(line);
    CHECK(verdict.code == "exe_not_runnable");
    REQUIRE(verdict.remedies.size() > 1);
    CHECK(verdict.remedies[1].find("line ends of Windows") !=
          std::string::npos);
  }
}

TEST_CASE("options that mpirun does not know") {
  for (const char* const line :
       {"/usr/bin/mpirun: Error: unknown option \"--frobnicate\"\n",
        "The specified mapping policy is not recognized:\n\n"
        "  Policy: nonsense\n",
        "[mpiexec@vm] match_arg (utils/args/args.c:163): unrecognized argument "
        "frobnicate\n",
        "[proxy:0:0@vm] get_hw_obj_list (tools/topo/hwloc/topo_hwloc.c:354): "
        "unrecognized directive \"foo\"\n"
        "[mpiexec@vm] control_cb (pm/pmiserv/pmiserv_cb.c:206): assert "
        "(!closed) failed\n"}) {
    INFO(line);
    const Verdict verdict = of_log(line);
    CHECK(verdict.code == "usage");
    CHECK(verdict.exit_code == 2);
    CHECK(verdict.headline.starts_with("mpirun does not understand its "));
  }
}
