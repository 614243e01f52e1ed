// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/mpi_settings.h"

#include <algorithm>

#include "catch.h"

namespace muster {
namespace {

MpiSettingsInput input_for(const std::string& family) {
  MpiSettingsInput input;
  input.family = family;
  input.agent = "/opt/muster/libexec/muster/muster-agent";
  input.hostfile = "/run/hostfile";
  input.hosts = 4;
  return input;
}

std::string value(const Environment& env, const char* name) {
  const std::string* found = find_env(env, name);
  return found == nullptr ? "(unset)" : *found;
}

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

TEST_CASE("Open MPI: relay, hostfile and wrapper in both spellings") {
  const MpiSettings out = mpi_settings(input_for("openmpi"));
  CHECK(out.launcher == kOpenMpiLauncher);
  const std::string shell = "/opt/muster/libexec/muster/muster-agent ssh";
  CHECK(value(out.env, "OMPI_MCA_plm_rsh_agent") == shell);
  CHECK(value(out.env, "PRTE_MCA_plm_ssh_agent") == shell);
  CHECK(value(out.env, "OMPI_MCA_orte_default_hostfile") == "/run/hostfile");
  CHECK(value(out.env, "PRTE_MCA_prte_default_hostfile") == "/run/hostfile");
  CHECK(value(out.env, "OMPI_MCA_plm_rsh_num_concurrent") == "5");
  CHECK(value(out.env, "OMPI_MCA_plm_rsh_no_tree_spawn") == "1");
  CHECK(value(out.daemon_env, "OMPI_MCA_orte_fork_agent") ==
        "/opt/muster/libexec/muster/muster-agent rank --");
  CHECK(value(out.env, "OMPI_ALLOW_RUN_AS_ROOT") == "(unset)");
  CHECK(out.options.empty());
  CHECK(out.wrapper.empty());
  // What an operator set for its own ssh must not reach our relay.
  CHECK(has(out.unset, "OMPI_MCA_plm_rsh_args"));
  CHECK(has(out.unset, "OMPI_MCA_orte_set_default_slots"));
}

TEST_CASE("Open MPI as root, and oversubscribed") {
  MpiSettingsInput input = input_for("openmpi");
  input.is_root = true;
  input.oversubscribe = true;
  const MpiSettings out = mpi_settings(input);
  CHECK(value(out.env, "OMPI_ALLOW_RUN_AS_ROOT") == "1");
  CHECK(value(out.env, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM") == "1");
  CHECK(value(out.daemon_env, "PRTE_ALLOW_RUN_AS_ROOT") == "1");
  CHECK(out.options == std::vector<std::string>{"--oversubscribe"});
}

TEST_CASE("Open MPI as root under its own name refuses by itself") {
  MpiSettingsInput input = input_for("openmpi");
  input.is_root = true;
  input.called_mpirun = true;
  const MpiSettings out = mpi_settings(input);
  CHECK(value(out.env, "OMPI_ALLOW_RUN_AS_ROOT") == "(unset)");
  CHECK(value(out.env, "PRTE_ALLOW_RUN_AS_ROOT") == "(unset)");
  // Once it has started, its daemons start as well.
  CHECK(value(out.daemon_env, "PRTE_ALLOW_RUN_AS_ROOT") == "1");
}

TEST_CASE("A worker with the launcher's address is another host all the same") {
  for (const bool shared : {false, true}) {
    MpiSettingsInput input = input_for("openmpi");
    input.shares_address = shared;
    const char* on = shared ? "1" : "(unset)";
    const char* off = shared ? "0" : "(unset)";
    CHECK(value(mpi_settings(input).env, "OMPI_MCA_if_base_do_not_resolve") ==
          on);
    input.family = "mpich";
    CHECK(value(mpi_settings(input).env, "HYDRA_LAUNCHER_AUTOFORK") == off);
    input.family = "intel";
    CHECK(value(mpi_settings(input).env, "I_MPI_HYDRA_BOOTSTRAP_AUTOFORK") ==
          off);
  }
}

TEST_CASE("Hydra: a launcher's path takes no arguments") {
  for (const char* family : {"mpich", "mvapich"}) {
    const MpiSettings out = mpi_settings(input_for(family));
    CHECK(out.launcher == kHydraLauncher);
    CHECK(has(out.options, "/opt/muster/libexec/muster/muster-ssh"));
    CHECK(has(out.options, "-genvnone"));
    CHECK_FALSE(has(out.options, "-iface"));
    CHECK(out.wrapper ==
          std::vector<std::string>{"/opt/muster/libexec/muster/muster-agent",
                                   "rank", "--"});
    CHECK(value(out.env, "HYDRA_HOST_FILE") == "/run/hostfile");
    CHECK(value(out.env, "I_MPI_HYDRA_HOST_FILE") == "(unset)");
  }
}

TEST_CASE("Hydra: the interface is named, the user's own -genv kept") {
  MpiSettingsInput input = input_for("mpich");
  input.interface = "eth0";
  input.passes_named = true;
  const MpiSettings out = mpi_settings(input);
  const auto at = std::find(out.options.begin(), out.options.end(), "-iface");
  REQUIRE(at != out.options.end());
  CHECK(*(at + 1) == "eth0");
  CHECK_FALSE(has(out.options, "-genvnone"));
}

TEST_CASE("Intel MPI reads names of its own") {
  const MpiSettings out = mpi_settings(input_for("intel"));
  CHECK(out.launcher == kIntelLauncher);
  CHECK(value(out.env, "I_MPI_HYDRA_BOOTSTRAP") == "ssh");
  CHECK(value(out.env, "I_MPI_HYDRA_HOST_FILE") == "/run/hostfile");
  CHECK(has(out.unset, "I_MPI_PERHOST"));
}

TEST_CASE("an unknown family gets nothing") {
  for (const char* family : {"", "platform"}) {
    const MpiSettings out = mpi_settings(input_for(family));
    CHECK(out.launcher == 0);
    CHECK(out.env.empty());
  }
}

}  // namespace
}  // namespace muster
