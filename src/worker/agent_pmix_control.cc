// SPDX-License-Identifier: Apache-2.0
// Events, job control, spawn: what we accept without doing more, and
// what we refuse. Present although they do little, because libpmix does part
// of the work (clean-up directories) only where a function is.
// libpmix' thread; see agent_pmix_upcalls.h.
#include "worker/agent_pmix_bridge.h"
#include "worker/agent_pmix_upcalls.h"

namespace muster {

pmix_status_t pmix_register_events(pmix_status_t*, size_t, const pmix_info_t[],
                                   size_t, pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t pmix_deregister_events(pmix_status_t*, size_t, pmix_op_cbfunc_t,
                                     void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

// Ranks of this node have heard of it from libpmix; others do not.
pmix_status_t pmix_notify_event(pmix_status_t, const pmix_proc_t*,
                                pmix_data_range_t, pmix_info_t[], size_t,
                                pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

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

void pmix_event(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t[],
                size_t, pmix_info_t[], size_t,
                pmix_event_notification_cbfunc_fn_t callback, void* data) {
  // Who died is known from waitpid, sooner and more surely.
  if (callback != nullptr) {
    callback(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, data);
  }
}

}  // namespace muster
