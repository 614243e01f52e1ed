// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/mpi_settings.h"

namespace muster {

namespace {

// Open MPI 4 (ORTE) and 5 (PRRTE): each ignores the other's names.
void open_mpi(const MpiSettingsInput& in, MpiSettings& out) {
  const std::string shell = in.agent + " ssh";
  const std::string wrapper = in.agent + " rank --";
  const std::string concurrent = std::to_string(in.hosts + 1);
  out.launcher = kOpenMpiLauncher;
  out.env = {
      {"OMPI_MCA_plm", "rsh"},
      {"OMPI_MCA_plm_rsh_agent", shell},
      // Without tree spawn every daemon is asked for here. Left attached, a
      // daemon does not fork away from the agent that started it.
      {"OMPI_MCA_plm_rsh_no_tree_spawn", "1"},
      {"OMPI_MCA_plm_rsh_num_concurrent", concurrent},
      {"OMPI_MCA_orte_leave_session_attached", "1"},
      {"OMPI_MCA_orte_keep_fqdn_hostnames", "true"},
      {"OMPI_MCA_orte_default_hostfile", in.hostfile},
      {"PRTE_MCA_plm", "ssh"},
      {"PRTE_MCA_plm_ssh_agent", shell},
      {"PRTE_MCA_plm_ssh_no_tree_spawn", "1"},
      {"PRTE_MCA_plm_ssh_num_concurrent", concurrent},
      {"PRTE_MCA_prte_leave_session_attached", "1"},
      // `true` makes PRRTE dial itself when its own host is in the hostfile.
      {"PRTE_MCA_prte_keep_fqdn_hostnames", "false"},
      {"PRTE_MCA_prte_default_hostfile", in.hostfile},
  };
  out.daemon_env = {{"OMPI_MCA_orte_fork_agent", wrapper},
                    {"PRTE_MCA_odls_base_exec_agent", wrapper}};
  out.env.insert(out.env.end(), out.daemon_env.begin(), out.daemon_env.end());
  if (in.is_root) {
    for (const char* name :
         {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
          "PRTE_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM"}) {
      if (!in.called_mpirun) out.env.emplace_back(name, "1");
      out.daemon_env.emplace_back(name, "1");
    }
  }
  // PRRTE does not resolve by default.
  if (in.shares_address) {
    out.env.emplace_back("OMPI_MCA_if_base_do_not_resolve", "1");
  }
  if (in.oversubscribe) out.options.emplace_back("--oversubscribe");
  out.unset = {
      "OMPI_MCA_plm_rsh_args",          "OMPI_MCA_orte_rsh_agent",
      "PRTE_MCA_plm_ssh_args",          "OMPI_MCA_plm_ssh_args",
      "OMPI_MCA_plm_ssh_agent",         "OMPI_MCA_orte_set_default_slots",
      "PRTE_MCA_prte_set_default_slots"};
}

std::string sibling(const std::string& agent, const char* name) {
  return agent.substr(0, agent.rfind('/') + 1) + name;
}

void hydra(const MpiSettingsInput& in, MpiSettings& out) {
  // A launcher's path takes no arguments: the link's name selects `ssh`.
  const std::string shell = sibling(in.agent, "muster-ssh");
  out.launcher = in.family == "intel" ? kIntelLauncher : kHydraLauncher;
  out.options = {"-launcher", "ssh", "-launcher-exec", shell};
  if (!in.interface.empty()) {
    out.options.insert(out.options.end(), {"-iface", in.interface});
  }
  // Hydra passes on its own environment by default, which would put the
  // launcher pod's PATH and HOME, and muster's HYDRA_* over the workers'. It
  // takes one such option only; -genv NAME VALUE goes with any.
  if (!in.passes_named) out.options.emplace_back("-genvnone");
  out.wrapper = {in.agent, "rank", "--"};
  out.env = {{"HYDRA_LAUNCHER", "ssh"},
             {"HYDRA_LAUNCHER_EXEC", shell},
             {"HYDRA_HOST_FILE", in.hostfile}};
  if (in.family == "intel") {
    out.env.insert(out.env.end(), {{"I_MPI_HYDRA_BOOTSTRAP", "ssh"},
                                   {"I_MPI_HYDRA_BOOTSTRAP_EXEC", shell},
                                   {"I_MPI_HYDRA_HOST_FILE", in.hostfile}});
  }
  if (in.shares_address) {
    out.env.emplace_back("HYDRA_LAUNCHER_AUTOFORK", "0");
    if (in.family == "intel") {
      out.env.emplace_back("I_MPI_HYDRA_BOOTSTRAP_AUTOFORK", "0");
    }
  }
  out.unset = {"HYDRA_LAUNCHER_EXTRA_ARGS",
               "HYDRA_LAUNCH_EXTRA_ARGS",
               "HYDRA_BOOTSTRAP",
               "HYDRA_BOOTSTRAP_EXEC",
               "HYDRA_RMK",
               "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS",
               "I_MPI_PERHOST"};
}

// As parameters, which an option in a script's line still overrules. MPICH's
// Hydra binds only where it is asked to.
void leave_unbound(const std::string& family, MpiSettings& out) {
  Environment more;
  if (family == "openmpi") {
    more = {{"OMPI_MCA_hwloc_base_binding_policy", "none"},
            {"PRTE_MCA_hwloc_default_binding_policy", "none"}};
  }
  if (family == "intel") more = {{"I_MPI_PIN", "off"}};
  if (family == "mvapich") more = {{"MV2_ENABLE_AFFINITY", "0"}};
  for (const auto& [name, value] : more) {
    out.env.emplace_back(name, value);
    out.daemon_env.emplace_back(name, value);
  }
}

}  // namespace

MpiSettings mpi_settings(const MpiSettingsInput& input) {
  MpiSettings out;
  if (input.family == "openmpi") open_mpi(input, out);
  if (input.family == "mpich" || input.family == "intel" ||
      input.family == "mvapich") {
    hydra(input, out);
  }
  if (!input.mpi_binds) leave_unbound(input.family, out);
  return out;
}

}  // namespace muster
