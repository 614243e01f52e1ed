// SPDX-License-Identifier: Apache-2.0
// Fences, and connect and disconnect, which are fences without data. libpmix
// calls once all participants of this node have arrived, except lost ones; for
// a fence of some ranks that are all on this node, not at all. libpmix' thread;
// see agent_pmix_upcalls.h.
#include <algorithm>
#include <cstdlib>

#include "pmi/participants.h"
#include "worker/pmix/agent_pmix_bridge.h"
#include "worker/pmix/agent_pmix_upcalls.h"

namespace muster {

namespace {

void release_text(void* text) { delete static_cast<std::string*>(text); }

pmix_status_t rendezvous(const char* kind, const pmix_proc_t procs[],
                         size_t nprocs, pmix_op_cbfunc_t callback, void* data) {
  PmixBridge* bridge = PmixBridge::current();
  if (bridge == nullptr) return PMIX_ERR_NOT_SUPPORTED;
  std::string who = pmix_participants(*bridge, kind, procs, nprocs);
  if (who.empty()) return PMIX_ERR_NOT_SUPPORTED;
  bridge->post([bridge, who = std::move(who), callback, data] {
    bridge->modex().fence(who, "", [callback, data](Result<std::string> all) {
      callback(all ? PMIX_SUCCESS : PMIX_ERR_TIMEOUT, data);
    });
  });
  return PMIX_SUCCESS;
}

bool of_all_ranks(const pmix_proc_t procs[], size_t nprocs) {
  return std::all_of(procs, procs + nprocs, [](const pmix_proc_t& proc) {
    return proc.rank == PMIX_RANK_WILDCARD;
  });
}

// Whether libpmix has lost one that the others wait for.
pmix_status_t local_status(const pmix_info_t info[], size_t ninfo) {
  for (size_t i = 0; i < ninfo; ++i) {
    if (std::string_view(info[i].key) == PMIX_LOCAL_COLLECTIVE_STATUS) {
      return info[i].value.data.status;
    }
  }
  return PMIX_SUCCESS;
}

}  // namespace

std::string pmix_participants(const PmixBridge& bridge, const char* kind,
                              const pmix_proc_t procs[], size_t nprocs) {
  std::vector<int> ranks;
  for (size_t i = 0; i < nprocs; ++i) {
    if (bridge.world().nspace() != procs[i].nspace) return "";
    if (procs[i].rank == PMIX_RANK_WILDCARD) {
      return participants_text(kind, {}, bridge.world().size());
    }
    const int rank = static_cast<int>(procs[i].rank);
    if (!bridge.world().has(rank)) return "";
    ranks.push_back(rank);
  }
  return participants_text(kind, std::move(ranks), bridge.world().size());
}

pmix_status_t pmix_fence(const pmix_proc_t procs[], size_t nprocs,
                         const pmix_info_t info[], size_t ninfo, char* blob,
                         size_t nblob, pmix_modex_cbfunc_t callback,
                         void* data) {
  // The host frees a fence's data (PMIx standard, fence_nb).
  std::string own(blob == nullptr ? "" : blob, blob == nullptr ? 0 : nblob);
  std::free(blob);
  PmixBridge* bridge = PmixBridge::current();
  if (bridge == nullptr) return PMIX_ERR_NOT_SUPPORTED;
  std::string who = pmix_participants(*bridge, "pmix", procs, nprocs);
  if (who.empty()) return PMIX_ERR_NOT_SUPPORTED;
  if (bridge->world().all_here() && of_all_ranks(procs, nprocs)) {
    // libpmix has all data. Not PMIX_OPERATION_SUCCEEDED, after which it calls
    // again if it loses a rank right now.
    callback(local_status(info, ninfo), nullptr, 0, data, nullptr, nullptr);
    return PMIX_SUCCESS;
  }
  bridge->post([bridge, who = std::move(who), own = std::move(own), callback,
                data] {
    bridge->modex().fence(who, own, [callback, data](Result<std::string> all) {
      if (!all) {
        return callback(PMIX_ERR_TIMEOUT, nullptr, 0, data, nullptr, nullptr);
      }
      auto* text = new std::string(std::move(*all));
      callback(PMIX_SUCCESS, text->data(), text->size(), data, release_text,
               text);
    });
  });
  return PMIX_SUCCESS;
}

pmix_status_t pmix_connect(const pmix_proc_t procs[], size_t nprocs,
                           const pmix_info_t[], size_t,
                           pmix_op_cbfunc_t callback, void* data) {
  return rendezvous("connect", procs, nprocs, callback, data);
}

pmix_status_t pmix_disconnect(const pmix_proc_t procs[], size_t nprocs,
                              const pmix_info_t[], size_t,
                              pmix_op_cbfunc_t callback, void* data) {
  return rendezvous("disconnect", procs, nprocs, callback, data);
}

}  // namespace muster
