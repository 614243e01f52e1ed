// SPDX-License-Identifier: Apache-2.0
#include "fabric/collect/verbs_library.h"

#ifdef MUSTER_HAS_VERBS

#include <dlfcn.h>

namespace muster {

namespace {

template <class Function>
bool load(void* library, const char* name, Function& out) {
  out = reinterpret_cast<Function>(::dlsym(library, name));
  return out != nullptr;
}

}  // namespace

bool load_verbs(VerbsLibrary& verbs) {
  void* library = ::dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) {
    load(library, "ibv_reg_dmabuf_mr", verbs.reg_dmabuf_mr);
  }
  return library != nullptr &&
         load(library, "ibv_get_device_list", verbs.get_device_list) &&
         load(library, "ibv_get_device_name", verbs.get_device_name) &&
         load(library, "ibv_open_device", verbs.open_device) &&
         load(library, "ibv_close_device", verbs.close_device) &&
         load(library, "ibv_alloc_pd", verbs.alloc_pd) &&
         load(library, "ibv_dealloc_pd", verbs.dealloc_pd) &&
         load(library, "ibv_create_cq", verbs.create_cq) &&
         load(library, "ibv_destroy_cq", verbs.destroy_cq) &&
         load(library, "ibv_reg_mr", verbs.reg_mr) &&
         load(library, "ibv_dereg_mr", verbs.dereg_mr) &&
         load(library, "ibv_create_qp", verbs.create_qp) &&
         load(library, "ibv_modify_qp", verbs.modify_qp) &&
         load(library, "ibv_destroy_qp", verbs.destroy_qp) &&
         load(library, "ibv_query_gid", verbs.query_gid) &&
         load(library, "ibv_query_port", verbs.query_port) &&
         load(library, "ibv_create_ah", verbs.create_ah) &&
         load(library, "ibv_wc_status_str", verbs.wc_status_str);
}

}  // namespace muster

#endif
