// SPDX-License-Identifier: Apache-2.0
// Queries: the questions of a client about its job, answered from the job's
// map. The only process sets are those that MPI makes itself, and there is no
// other job. libpmix' thread, except for the answer; see agent_pmix_upcalls.h.
#include <memory>

#include "worker/pmix/agent_pmix_bridge.h"
#include "worker/pmix/agent_pmix_upcalls.h"
#include "worker/pmix/agent_pmix_values.h"

namespace muster {

namespace {

// False: not known here.
bool add_answer(const World& world, std::string_view key, PmixInfos& out) {
  if (key == PMIX_QUERY_NUM_PSETS) {
    out.add_u32(PMIX_QUERY_NUM_PSETS, 0);
  } else if (key == PMIX_QUERY_PSET_NAMES) {
    out.add_text(PMIX_QUERY_PSET_NAMES, "");
  } else if (key == PMIX_QUERY_NAMESPACES) {
    out.add_text(PMIX_QUERY_NAMESPACES, world.nspace());
  } else if (key == PMIX_JOB_SIZE) {
    out.add_u32(PMIX_JOB_SIZE, world.size());
  } else if (key == PMIX_QUERY_SPAWN_SUPPORT) {
    out.add_bool(PMIX_QUERY_SPAWN_SUPPORT, false);
  } else {
    return false;
  }
  return true;
}

void release_infos(void* infos) { delete static_cast<PmixInfos*>(infos); }

}  // namespace

pmix_status_t pmix_query(pmix_proc_t*, pmix_query_t* queries, size_t nqueries,
                         pmix_info_cbfunc_t callback, void* data) {
  PmixBridge* bridge = PmixBridge::current();
  if (bridge == nullptr) return PMIX_ERR_NOT_SUPPORTED;
  auto infos = std::make_unique<PmixInfos>();
  bool all = true;
  for (size_t i = 0; i < nqueries; ++i) {
    for (char** key = queries[i].keys; key != nullptr && *key != nullptr;
         ++key) {
      all = add_answer(bridge->world(), *key, *infos) && all;
    }
  }
  if (infos->size() == 0) return PMIX_ERR_NOT_SUPPORTED;
  // In a later turn: libpmix must have seen our return first.
  bridge->post([callback, data, all, given = infos.release()] {
    callback(all ? PMIX_SUCCESS : PMIX_QUERY_PARTIAL_SUCCESS, given->data(),
             given->size(), data, release_infos, given);
  });
  return PMIX_SUCCESS;
}

}  // namespace muster
