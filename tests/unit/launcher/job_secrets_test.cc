// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/job_secrets.h"

#include <algorithm>

#include "agreement_bed.h"
#include "catch.h"

namespace muster {
namespace {

using test::AgreementBed;

std::vector<std::string> values_of(AgreementBed& bed, bool agreed = true) {
  std::vector<EnvMerge> pods;
  if (agreed) {
    const auto agreement = bed.agree();
    REQUIRE(agreement);
    pods = agreement->env;
  }
  std::vector<std::string> out;
  for (const auto& [name, value] :
       job_secrets(bed.discovery, bed.options, pods)) {
    out.push_back(value);
  }
  std::sort(out.begin(), out.end());
  return out;
}

using Values = std::vector<std::string>;

TEST_CASE("secrets of the launcher, of each worker and of the command line") {
  AgreementBed bed;
  bed.discovery.env.emplace_back("HF_TOKEN", "of the launcher");
  bed.input.nodes[1].facts.environment["HF_TOKEN"] = "of w-0";
  bed.input.nodes[2].facts.environment["DB_PASSWORD"] = "of w-1";
  bed.input.nodes[2].facts.environment["NODE_ROLE"] = "no secret";
  bed.options.env = {{"WANDB_API_KEY", "of the line"}, {"EPOCHS", "12"}};
  CHECK(values_of(bed) ==
        Values{"of the launcher", "of the line", "of w-0", "of w-1"});
}

TEST_CASE("secrets behind the flags of a program") {
  AgreementBed bed;
  bed.options.command = {
      "./app",      "--api-key", "k3yk3yk3y",     "--token=t0k3n",
      "--password", "hunter",    "--image-token", "<image>",
      "--epochs",   "12",        "--token"};
  CHECK(values_of(bed) == Values{"hunter", "k3yk3yk3y", "t0k3n"});
}

TEST_CASE("secrets in an mpirun line") {
  AgreementBed bed;
  bed.use_mpi("openmpi", "4.1.4");
  bed.use_line({"mpirun", "-np", "2", "-x", "HF_TOKEN=abcdefgh", "./app",
                "--secret", "s3cr3ts3cr3t"});
  CHECK(values_of(bed) == Values{"abcdefgh", "s3cr3ts3cr3t"});
}

TEST_CASE("the command line's secrets are known before any pod is") {
  AgreementBed bed;
  bed.options.command = {"./app", "--api-key", "k3yk3yk3y"};
  bed.options.env = {{"WANDB_API_KEY", "of the line"}};
  CHECK(values_of(bed, false) == Values{"k3yk3yk3y", "of the line"});
  AgreementBed line;
  line.use_line({"mpiexec.hydra", "-n", "2", "-genv", "HF_TOKEN", "abcdefgh",
                 "./app", "--secret", "s3cr3ts3cr3t"});
  CHECK(values_of(line, false) == Values{"abcdefgh", "s3cr3ts3cr3t"});
}

}  // namespace
}  // namespace muster
