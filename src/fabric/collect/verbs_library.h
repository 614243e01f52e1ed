// SPDX-License-Identifier: Apache-2.0
// libibverbs, opened at run time: one table of the functions that muster
// calls. Nothing links against it, so that one binary serves images with and
// without. MUSTER_HAS_VERBS: the build's option `verbs` found the headers.
#pragma once

#ifdef MUSTER_HAS_VERBS
#include <infiniband/verbs.h>

namespace muster {

struct VerbsLibrary {
  decltype(&::ibv_get_device_list) get_device_list;
  decltype(&::ibv_get_device_name) get_device_name;
  decltype(&::ibv_open_device) open_device;
  decltype(&::ibv_close_device) close_device;
  decltype(&::ibv_alloc_pd) alloc_pd;
  decltype(&::ibv_dealloc_pd) dealloc_pd;
  decltype(&::ibv_create_cq) create_cq;
  decltype(&::ibv_destroy_cq) destroy_cq;
  ibv_mr* (*reg_mr)(ibv_pd*, void*, size_t, int);  // a macro in the header
  decltype(&::ibv_dereg_mr) dereg_mr;
  decltype(&::ibv_create_qp) create_qp;
  decltype(&::ibv_modify_qp) modify_qp;
  decltype(&::ibv_destroy_qp) destroy_qp;
  int (*query_gid)(ibv_context*, uint8_t, int, ibv_gid*);
  // The symbol fills the fields up to `flags`.
  int (*query_port)(ibv_context*, uint8_t, ibv_port_attr*);
  decltype(&::ibv_create_ah) create_ah;
  decltype(&::ibv_wc_status_str) wc_status_str;
  // Null before rdma-core 34.
  ibv_mr* (*reg_dmabuf_mr)(ibv_pd*, uint64_t offset, size_t length,
                           uint64_t iova, int fd, int access);
};

// False if the library or one of its functions is missing.
bool load_verbs(VerbsLibrary& verbs);

}  // namespace muster
#endif
