// SPDX-License-Identifier: Apache-2.0
// The checks of the user's own variables, by subject; lint.cc calls them. They
// never change a value. Internal to the policy. Pure.
#pragma once

#include <string>

#include "fabric/facts/effective.h"
#include "fabric/facts/name_list.h"
#include "fabric/policy/job_state.h"

namespace muster {

inline void lint_warn(FabricJob& job, const FabricPodState& pod,
                      const char* code, std::string text, std::string remedy) {
  report(job, &pod,
         {Severity::kWarning, code, std::move(text), "", std::move(remedy)});
}

// Names, versions, ranges and words: whether NCCL can read the value.
void lint_value(FabricJob& job, FabricPodState& pod, const std::string& name,
                const EffectiveValue& users);
// Settings that do not fit the job's network.
void lint_network(FabricJob& job, FabricPodState& pod, const std::string& name,
                  const EffectiveValue& users);
// An index into the GID tables of RoCE ports that is not an address in some of
// them. `finds_itself`: the library needs no index.
void lint_gid_index(FabricJob& job, FabricPodState& pod,
                    const std::string& name, const std::string& value,
                    bool finds_itself);
// NCCL_COMM_ID, which chooses the bootstrap's interface.
void lint_comm_id(FabricJob& job, FabricPodState& pod, const std::string& name,
                  const EffectiveValue& users);
// Settings that work, and their cost.
void lint_costs(FabricJob& job, FabricPodState& pod, const std::string& name,
                const EffectiveValue& users);
// Lines of nccl.conf as NCCL takes them.
void lint_conf(FabricJob& job, FabricPodState& pod);
// RCCL's own variables, and HSA's that it asks for.
void lint_amd(FabricJob& job, FabricPodState& pod);
// Gloo's list of interfaces, which frameworks set beside NCCL's.
void lint_gloo(FabricJob& job, FabricPodState& pod);
void lint_open_mpi(FabricJob& job, FabricPodState& pod);
// UCX and Intel MPI.
void lint_mpi(FabricJob& job, FabricPodState& pod);
void lint_libfabric(FabricJob& job, FabricPodState& pod);
// Names of interfaces and adapters, and addresses, in variables of others.
void lint_names(FabricJob& job, const FabricPodState& pod);
// Words that choose transports, components and providers.
void lint_components(FabricJob& job, const FabricPodState& pod);
// Files that variables name and the pod lacks.
void lint_files(FabricJob& job, const FabricPodState& pod);
// Two variables that contradict each other.
void lint_contradictions(FabricJob& job, const FabricPodState& pod);
// Misspelt names of variables of other libraries.
void lint_spelling(FabricJob& job, const FabricPodState& pod);

// The interfaces that NCCL_SOCKET_IFNAME chooses.
void lint_interfaces(FabricJob& job, FabricPodState& pod,
                     const std::string& value, const NameList& list);
// NCCL_IB_HCA and NCCL_SOCKET_IFNAME; other names are ignored.
void lint_lists(FabricJob& job, FabricPodState& pod, const std::string& name,
                const std::string& value);

}  // namespace muster
