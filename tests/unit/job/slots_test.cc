// SPDX-License-Identifier: Apache-2.0
// Which source of a slot count wins, what it says, when it is suspicious.
#include "job/slots.h"

#include "catch.h"

namespace muster {
namespace {

SlotsInput input_of(int user, int hostfile, int gpus, double quota, int cpus) {
  SlotsInput input;
  input.host = "w-0";
  input.user = user;
  input.hostfile = hostfile;
  input.hostfile_source = "/etc/mpi/hostfile:1";
  input.gpus = gpus;
  input.cpu_quota = quota;
  input.cpus_allowed = cpus;
  return input;
}

std::string codes(const SlotsDecision& decision) {
  std::string out;
  for (const Finding& finding : decision.findings) out += finding.code + " ";
  return out;
}

TEST_CASE("the order of the terms") {
  struct Row {
    SlotsInput input;
    int slots;
    const char* reason;
    const char* codes;
  };
  const Row rows[] = {
      {input_of(3, 4, 8, 16, 64), 3, "--slots-per-node says 3",
       "slots_below_gpus "},
      {input_of(0, 4, 8, 16, 64), 4, "/etc/mpi/hostfile:1 says 4",
       "slots_below_gpus "},
      {input_of(0, 8, 4, -1, -1), 8, "/etc/mpi/hostfile:1 says 8",
       "slots_exceed_gpus "},
      {input_of(0, 8, 8, 16, 64), 8, "/etc/mpi/hostfile:1 says 8", ""},
      {input_of(0, 0, 8, 16, 64), 8, "the pod shows 8 GPUs", ""},
      {input_of(0, 0, 1, 16, 64), 1, "the pod shows 1 GPU", ""},
      {input_of(0, 0, 8, 4, 64), 8, "the pod shows 8 GPUs", ""},
      {input_of(0, 0, 0, 3.5, 64), 3, "the pod's CPU limit is 3", ""},
      {input_of(0, 0, 0, 3.9999999, 64), 4, "the pod's CPU limit is 4", ""},
      {input_of(0, 0, -1, 0.5, 64), 1, "the pod's CPU limit is 1", ""},
      {input_of(0, 0, -1, 1e300, 6), 6, "the pod may use 6 CPUs", ""},
      {input_of(0, 0, -1, -1, 64), 64, "the pod may use 64 CPUs", ""},
      {input_of(0, 0, -1, -1, -1), 1,
       "one rank per host if nothing else is known", ""},
      {input_of(0, 2, 0, 1, 1), 2, "/etc/mpi/hostfile:1 says 2", ""},
  };
  for (const Row& row : rows) {
    const SlotsDecision decision = decide_slots(row.input);
    INFO(row.reason);
    CHECK(decision.slots == row.slots);
    CHECK(decision.reason == row.reason);
    CHECK(codes(decision) == row.codes);
  }
}

TEST_CASE("every term leaves a note, MIG slices have their name") {
  SlotsInput input = input_of(2, 4, 7, 16, 64);
  NodeFacts facts;
  facts.gpu = {"nvidia", 7, {"/dev/nvidia0", "MIG-1"}};
  facts.cpu_quota = 8;
  facts.cpus_allowed = 4;
  add_facts(input, facts);
  const SlotsDecision decision = decide_slots(input);
  CHECK(decision.notes ==
        std::vector<std::string>{
            "--slots-per-node says 2", "/etc/mpi/hostfile:1 says 4",
            "the pod shows 7 MIG slices", "the pod may use 4 CPUs",
            "one rank per host if nothing else is known"});
  REQUIRE(decision.findings.size() == 1);
  CHECK(decision.findings[0].text ==
        "host w-0 has 7 MIG slices, but --slots-per-node says 2 slots: some "
        "GPUs will have no rank");
}

}  // namespace
}  // namespace muster
