// SPDX-License-Identifier: Apache-2.0
// The requests of libpmix, one file per family. All of these run on libpmix'
// thread. They return PMIX_SUCCESS, and the callback will come;
// PMIX_OPERATION_SUCCEEDED, and it will not; an error, and it will not.
// Arguments are libpmix' and valid during the call only, except a fence's data.
#pragma once

#include <pmix_server.h>

#include <string>

namespace muster {

class PmixBridge;

// agent_pmix_life.cc
pmix_status_t pmix_connected(const pmix_proc_t* proc, void* object,
                             pmix_info_t info[], size_t ninfo,
                             pmix_op_cbfunc_t callback, void* data);
pmix_status_t pmix_finalized(const pmix_proc_t* proc, void* object,
                             pmix_op_cbfunc_t callback, void* data);
pmix_status_t pmix_abort(const pmix_proc_t* proc, void* object, int status,
                         const char message[], pmix_proc_t procs[],
                         size_t nprocs, pmix_op_cbfunc_t callback, void* data);

// agent_pmix_fence.cc
pmix_status_t pmix_fence(const pmix_proc_t procs[], size_t nprocs,
                         const pmix_info_t info[], size_t ninfo, char* blob,
                         size_t nblob, pmix_modex_cbfunc_t callback,
                         void* data);
pmix_status_t pmix_connect(const pmix_proc_t procs[], size_t nprocs,
                           const pmix_info_t info[], size_t ninfo,
                           pmix_op_cbfunc_t callback, void* data);
pmix_status_t pmix_disconnect(const pmix_proc_t procs[], size_t nprocs,
                              const pmix_info_t info[], size_t ninfo,
                              pmix_op_cbfunc_t callback, void* data);

// `procs` as text for pmi/participants.h; "" if not all of them are ranks of
// this job.
std::string pmix_participants(const PmixBridge& bridge, const char* kind,
                              const pmix_proc_t procs[], size_t nprocs);

// agent_pmix_group.cc
pmix_status_t pmix_group(pmix_group_operation_t operation, char* group,
                         const pmix_proc_t procs[], size_t nprocs,
                         const pmix_info_t directives[], size_t ndirs,
                         pmix_info_cbfunc_t callback, void* data);

// agent_pmix_modex.cc
pmix_status_t pmix_direct_modex(const pmix_proc_t* proc,
                                const pmix_info_t info[], size_t ninfo,
                                pmix_modex_cbfunc_t callback, void* data);

// agent_pmix_names.cc
pmix_status_t pmix_publish(const pmix_proc_t* proc, const pmix_info_t info[],
                           size_t ninfo, pmix_op_cbfunc_t callback, void* data);
pmix_status_t pmix_lookup(const pmix_proc_t* proc, char** keys,
                          const pmix_info_t info[], size_t ninfo,
                          pmix_lookup_cbfunc_t callback, void* data);
pmix_status_t pmix_unpublish(const pmix_proc_t* proc, char** keys,
                             const pmix_info_t info[], size_t ninfo,
                             pmix_op_cbfunc_t callback, void* data);

// agent_pmix_query.cc
pmix_status_t pmix_query(pmix_proc_t* proc, pmix_query_t* queries,
                         size_t nqueries, pmix_info_cbfunc_t callback,
                         void* data);

// agent_pmix_control.cc
pmix_status_t pmix_job_control(const pmix_proc_t* requestor,
                               const pmix_proc_t targets[], size_t ntargets,
                               const pmix_info_t directives[], size_t ndirs,
                               pmix_info_cbfunc_t callback, void* data);
pmix_status_t pmix_spawn(const pmix_proc_t* proc, const pmix_info_t info[],
                         size_t ninfo, const pmix_app_t apps[], size_t napps,
                         pmix_spawn_cbfunc_t callback, void* data);

// agent_pmix_events.cc
pmix_status_t pmix_register_events(pmix_status_t* codes, size_t ncodes,
                                   const pmix_info_t info[], size_t ninfo,
                                   pmix_op_cbfunc_t callback, void* data);
pmix_status_t pmix_deregister_events(pmix_status_t* codes, size_t ncodes,
                                     pmix_op_cbfunc_t callback, void* data);
pmix_status_t pmix_notify_event(pmix_status_t code, const pmix_proc_t* source,
                                pmix_data_range_t range, pmix_info_t info[],
                                size_t ninfo, pmix_op_cbfunc_t callback,
                                void* data);
// The handler of every event that nothing else handles.
void pmix_event(size_t id, pmix_status_t status, const pmix_proc_t* source,
                pmix_info_t info[], size_t ninfo, pmix_info_t results[],
                size_t nresults, pmix_event_notification_cbfunc_fn_t callback,
                void* data);

}  // namespace muster
