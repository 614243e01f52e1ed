// SPDX-License-Identifier: Apache-2.0
// Who wins, what never travels, and that values arrive byte for byte.
#include "job/env_merge.h"

#include "catch.h"

namespace muster {
namespace {

const EnvDecision* find(const EnvMerge& merge, std::string_view name) {
  for (const EnvDecision& decision : merge.decisions) {
    if (decision.name == name) return &decision;
  }
  return nullptr;
}

TEST_CASE("worker < launcher < command line") {
  const EnvMerge merge =
      merge_environment({{"A", "w"}, {"B", "w"}, {"C", "w"}, {"S", "same"}},
                        {{"B", "l"}, {"C", "l"}, {"D", "l"}, {"S", "same"}},
                        {{"C", "c"}, {"E", "c"}, {"D", std::nullopt}});
  CHECK(merge.to_set ==
        Environment{{"B", "l"}, {"C", "c"}, {"D", "l"}, {"E", "c"}});
  CHECK(find(merge, "A")->source == EnvSource::kWorker);
  CHECK(find(merge, "B")->source == EnvSource::kLauncher);
  CHECK(find(merge, "B")->overridden == "w");
  CHECK(find(merge, "B")->overridden_source == EnvSource::kWorker);
  CHECK(find(merge, "B")->reason ==
        "the launcher pod has it, which wins over the worker pod");
  CHECK(find(merge, "C")->source == EnvSource::kCommandLine);
  CHECK(find(merge, "C")->overridden == "l");
  CHECK(find(merge, "D")->source == EnvSource::kCommandLine);
  CHECK(find(merge, "E")->overridden == std::nullopt);
  CHECK(merge.findings.empty());
}

TEST_CASE("values survive exactly") {
  const std::string value =
      " two  words\n\"quotes\" 'single' $(x) \\ \xff" + std::string("\0", 1);
  const EnvMerge merge = merge_environment({}, {{"A", value}}, {{"B", value}});
  CHECK(merge.to_set == Environment{{"A", value}, {"B", value}});
}

TEST_CASE("what stays in the launcher pod") {
  const std::pair<const char*, const char*> stays[] = {
      {"HOSTNAME", "x"},
      {"HOME", "/root"},
      {"PWD", "/"},
      {"OLDPWD", "/"},
      {"SHLVL", "1"},
      {"_", "/bin/env"},
      {"TMPDIR", "/t"},
      {"PATH", "/bin"},
      {"LD_LIBRARY_PATH", "/lib"},
      {"USER", "u"},
      {"LOGNAME", "u"},
      {"MAIL", "m"},
      {"SHELL", "/bin/sh"},
      {"TERM", "xterm"},
      {"KUBERNETES_SERVICE_HOST", "10.0.0.1"},
      {"KUBERNETES_PORT", "tcp://10.0.0.1:443"},
      {"REDIS_SERVICE_HOST", "10.0.0.2"},
      {"REDIS_SERVICE_PORT", "6379"},
      {"REDIS_SERVICE_PORT_HTTP", "6379"},
      {"REDIS_PORT", "tcp://10.0.0.2:6379"},
      {"REDIS_PORT", "udp://10.0.0.2:6379"},
      {"REDIS_PORT_6379_TCP", "tcp://10.0.0.2:6379"},
      {"REDIS_PORT_6379_TCP_ADDR", "10.0.0.2"},
      {"REDIS_PORT_6379_UDP_PROTO", "udp"},
      {"A_PORT_X_PORT_80_SCTP_PORT", "80"},
      {"NVIDIA_VISIBLE_DEVICES", ""},
      {"NVIDIA_DRIVER_CAPABILITIES", ""},
      {"CUDA_VISIBLE_DEVICES", "0"},
      {"JOB_COMPLETION_INDEX", "0"},
      {"POD_IP", "10.0.0.3"},
      {"POD_NAME", "p"},
      {"POD_UID", "u"},
      {"NODE_NAME", "n"},
      {"K_MPI_JOB_ROLE", "launcher"},
      {"MUSTER_LAUNCH_ID", "1"},
      {"OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile"},
      {"OMPI_MCA_plm_rsh_args", "-o x"},
      {"OMPI_COMM_WORLD_RANK", "0"},
      {"I_MPI_HYDRA_HOST_FILE", "/etc/mpi/hostfile"},
      {"I_MPI_PERHOST", "8"},
      {"HYDRA_HOST_FILE", "/etc/mpi/hostfile"},
      {"PMI_RANK", "0"},
      {"PMIX_NAMESPACE", "n"},
      {"PRTE_MCA_prte_default_hostfile", "x"},
      {"SLURM_JOB_ID", "1"},
      {"SSH_CONNECTION", "a b"},
  };
  for (const auto& [name, value] : stays) {
    INFO(name);
    CHECK(why_not_travel(name, value));
    CHECK(merge_environment({}, {{name, value}}, {}).to_set.empty());
    // The user's own word is another matter.
    CHECK(
        merge_environment({}, {{name, value}}, {{name, std::nullopt}}).to_set ==
        Environment{{name, value}});
  }
}

TEST_CASE("what travels although it looks alike") {
  const std::pair<const char*, const char*> travels[] = {
      {"MASTER_PORT", "29500"},
      {"MASTER_ADDR", "a"},
      {"MY_PORT", "8080"},
      {"MY_PORT_NAME", "x"},
      {"MY_PORT_80", "x"},
      {"MY_PORT_80_TCPX", "x"},
      {"MY_SERVICE_PORTS", "1,2"},
      {"SERVICE_HOSTS", "x"},
      {"HOME_DIR", "/x"},
      {"PYTHONPATH", "/x"},
      {"CUDA_DEVICE_MAX_CONNECTIONS", "1"},
      {"NCCL_DEBUG", "INFO"},
      {"OMPI_MCA_btl", "self"},
      {"OMPI_MCA_pml", "ob1"},
      {"PMIX_MCA_gds", "hash"},
      {"I_MPI_FABRICS", "ofi"},
      {"UCX_TLS", "tcp"},
      {"OMP_NUM_THREADS", "4"},
      {"BASH_FUNC_module%%", "() { :\n}"},
  };
  for (const auto& [name, value] : travels) {
    INFO(name);
    CHECK_FALSE(why_not_travel(name, value));
    CHECK(merge_environment({}, {{name, value}}, {}).to_set ==
          Environment{{name, value}});
  }
}

TEST_CASE("a variable that stays is explained where both pods have it") {
  const EnvMerge merge =
      merge_environment({{"PATH", "/w"}}, {{"PATH", "/l"}}, {});
  CHECK(find(merge, "PATH")->value == "/w");
  CHECK(find(merge, "PATH")->reason ==
        "the worker pod has it; the launcher's differs and stays there: a path "
        "of the launcher's own image");
}

TEST_CASE("a pod does not say which rank one is, the command line may") {
  const Environment pod = {{"RANK", "7"}, {"LOCAL_RANK", "3"}, {"A", "1"}};
  EnvMerge merge = merge_environment(pod, pod, {});
  CHECK(merge.decisions.size() == 1);
  CHECK(merge.to_set.empty());
  merge = merge_environment(pod, pod, {{"RANK", std::nullopt}});
  CHECK(merge.to_set == Environment{{"RANK", "7"}});  // the pod's is taken away
}

TEST_CASE("wildcards and names that nobody has") {
  const Environment launcher = {{"NCCL_A", "1"}, {"NVIDIA_X", "2"}};
  const EnvMerge merge = merge_environment(
      {{"W", "w"}}, launcher,
      {{"N*", std::nullopt}, {"NONE", std::nullopt}, {"W", std::nullopt}});
  CHECK(merge.to_set == launcher);
  REQUIRE(merge.findings.size() == 1);
  CHECK(merge.findings[0].code == "env_unset");
  CHECK(merge.findings[0].text.find("NONE") != std::string::npos);
}

}  // namespace
}  // namespace muster
