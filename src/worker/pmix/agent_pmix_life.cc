// SPDX-License-Identifier: Apache-2.0
// The MPI state of a rank: connected (PMIx_Init), finalized, aborted. libpmix'
// thread; see agent_pmix_upcalls.h.
#include "worker/pmix/agent_pmix_bridge.h"
#include "worker/pmix/agent_pmix_upcalls.h"

namespace muster {

pmix_status_t pmix_connected(const pmix_proc_t* proc, void*, pmix_info_t[],
                             size_t, pmix_op_cbfunc_t, void*) {
  PmixBridge* bridge = PmixBridge::current();
  if (bridge == nullptr) return PMIX_ERR_NOT_SUPPORTED;
  // Libraries before 5.0.8 pass no callback; this answer suits them all.
  bridge->post([bridge, rank = static_cast<int>(proc->rank)] {
    bridge->events().connected(rank);
  });
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t pmix_finalized(const pmix_proc_t* proc, void*, pmix_op_cbfunc_t,
                             void*) {
  PmixBridge* bridge = PmixBridge::current();
  if (bridge == nullptr) return PMIX_OPERATION_SUCCEEDED;
  bridge->post([bridge, rank = static_cast<int>(proc->rank)] {
    bridge->events().finalized(rank);
  });
  return PMIX_OPERATION_SUCCEEDED;
}

// Whomever the rank wants ended: the job ends as a whole, MPI can do no other.
pmix_status_t pmix_abort(const pmix_proc_t* proc, void*, int status,
                         const char message[], pmix_proc_t[], size_t,
                         pmix_op_cbfunc_t callback, void* data) {
  PmixBridge* bridge = PmixBridge::current();
  if (bridge == nullptr) return PMIX_ERR_NOT_SUPPORTED;
  bridge->post([bridge, rank = static_cast<int>(proc->rank), status,
                text = std::string(message == nullptr ? "" : message), callback,
                data] {
    bridge->events().aborted(rank, status, text);
    // Released, it ends by itself, with its own exit code.
    if (callback != nullptr) callback(PMIX_SUCCESS, data);
  });
  return PMIX_SUCCESS;
}

}  // namespace muster
