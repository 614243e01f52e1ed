// SPDX-License-Identifier: Apache-2.0
// Job control and spawn, which we refuse. Present all the same: libpmix does
// part of the work (clean-up directories) only if the function exists. libpmix'
// thread; see agent_pmix_upcalls.h.
#include "worker/pmix/agent_pmix_bridge.h"
#include "worker/pmix/agent_pmix_upcalls.h"

namespace muster {

pmix_status_t pmix_job_control(const pmix_proc_t*, const pmix_proc_t[], size_t,
                               const pmix_info_t[], size_t, pmix_info_cbfunc_t,
                               void*) {
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t pmix_spawn(const pmix_proc_t* proc, const pmix_info_t[], size_t,
                         const pmix_app_t[], size_t, pmix_spawn_cbfunc_t,
                         void*) {
  PmixBridge* bridge = PmixBridge::current();
  if (bridge == nullptr) return PMIX_ERR_NOT_SUPPORTED;
  bridge->post([bridge, rank = static_cast<int>(proc->rank)] {
    bridge->events().complain(
        rank,
        "MPI_Comm_spawn: natively started ranks cannot start more; use "
        "--bootstrap mpirun");
  });
  return PMIX_ERR_NOT_SUPPORTED;
}

}  // namespace muster
