// SPDX-License-Identifier: Apache-2.0
#include "launcher/options/mpirun_words.h"

#include "catch.h"
#include "diagnosis/book/rule_book.h"

using namespace muster;

TEST_CASE("who typed mpirun is told variables") {
  const std::string where = " (in the environment of mpirun)";
  CHECK(for_mpirun("give the pods more time: --connect-timeout 600s") ==
        "give the pods more time: MUSTER_CONNECT_TIMEOUT=600s" + where);
  CHECK(for_mpirun("go on over TCP for now: --profile tcp") ==
        "go on over TCP for now: MUSTER_PROFILE=tcp" + where);
  CHECK(for_mpirun("use --bootstrap pmix, which serves every MPI") ==
        "use MUSTER_BOOTSTRAP=pmix, which serves every MPI" + where);
  CHECK(for_mpirun("try muster launch --profile tcp.") ==
        "try MUSTER_PROFILE=tcp" + where + ".");
  CHECK(for_mpirun("--log-dir DIR writes a file of each rank") ==
        "MUSTER_LOG_DIR=DIR writes a file of each rank" + where);
  CHECK(for_mpirun("or pass --allow-skew to try all the same") ==
        "or pass MUSTER_ALLOW_SKEW=1 to try all the same" + where);
  CHECK(for_mpirun("raise --silence if it is known") ==
        "raise MUSTER_SILENCE if it is known" + where);
  CHECK(for_mpirun("--hang-timeout and --hang-action stop end it") ==
        "MUSTER_HANG_TIMEOUT and MUSTER_HANG_ACTION=stop end it" + where);
}

TEST_CASE("what an mpirun knows, and whole commands, are left to it") {
  for (const char* text :
       {"pass --oversubscribe.", "use --bind-to none", "with --map-by node",
        "--hostfile or -H", "`muster launch --dry-run -- PROGRAM`",
        "`muster fabric plan --profile rl`", "argparse's --epochs 3",
        "no option at all", "", "--"}) {
    INFO(text);
    CHECK(for_mpirun(text) == text);
  }
}

// The kind: whatever the rules advise, nobody who typed mpirun is told an
// option that only `muster launch` has.
TEST_CASE("no rule tells a user of mpirun an option that it refuses") {
  for (const Rule& rule : RuleBook::built_in().rules()) {
    for (const std::string& remedy : rule.remedies) {
      const std::string said = for_mpirun(remedy);
      INFO(said);
      for (const char* own : {"--connect-timeout", "--profile ", "--bootstrap ",
                              "--start-timeout", "--silence", "--hang-timeout",
                              "--hang-action", "--log-dir", "--key-dir"}) {
        CHECK(said.find(own) == std::string::npos);
      }
    }
  }
}

TEST_CASE("what was seen is not reworded") {
  Verdict verdict;
  verdict.evidence = {"rank 0 wrote: train.py: bad --profile tcp"};
  verdict.remedies = {"--profile tcp"};
  say_for_mpirun(verdict);
  CHECK(verdict.evidence[0].ends_with("bad --profile tcp"));
  CHECK(verdict.remedies[0].starts_with("MUSTER_PROFILE=tcp"));
}
