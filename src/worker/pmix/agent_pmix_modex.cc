// SPDX-License-Identifier: Apache-2.0
// A rank here asks for the data of a rank elsewhere. libpmix' thread; see
// agent_pmix_upcalls.h. The other direction is AgentPmixHost::serve_get().
#include "worker/pmix/agent_pmix_bridge.h"
#include "worker/pmix/agent_pmix_upcalls.h"

namespace muster {

namespace {
void release_text(void* text) { delete static_cast<std::string*>(text); }
}  // namespace

pmix_status_t pmix_direct_modex(const pmix_proc_t* proc, const pmix_info_t[],
                                size_t, pmix_modex_cbfunc_t callback,
                                void* data) {
  PmixBridge* bridge = PmixBridge::current();
  if (bridge == nullptr) return PMIX_ERR_NOT_SUPPORTED;
  const int rank = static_cast<int>(proc->rank);
  if (bridge->world().nspace() != proc->nspace || !bridge->world().has(rank)) {
    return PMIX_ERR_NOT_FOUND;
  }
  bridge->post([bridge, rank, callback, data] {
    bridge->modex().get(rank, [callback, data](Result<std::string> blob) {
      if (!blob) {
        return callback(PMIX_ERR_NOT_FOUND, nullptr, 0, data, nullptr, nullptr);
      }
      auto* text = new std::string(std::move(*blob));
      callback(PMIX_SUCCESS, text->data(), text->size(), data, release_text,
               text);
    });
  });
  return PMIX_SUCCESS;
}

}  // namespace muster
