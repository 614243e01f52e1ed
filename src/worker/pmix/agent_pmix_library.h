// SPDX-License-Identifier: Apache-2.0
// libpmix, opened at run time: the functions that we call, by name. Only jobs
// that need it pay for it, and the program runs without it. Search order:
// $MUSTER_PMIX_LIBRARY if set, our own copy beside the program, the system's.
// The servers of one job must be of one version: their messages to each other
// may change with every version. Refuses: a library of another major version
// than these headers.
#pragma once

#include <pmix.h>
#include <pmix_server.h>

#include <string>

#include "base/result.h"

namespace muster {

struct PmixLibrary {
  decltype(&::PMIx_server_init) server_init = nullptr;
  decltype(&::PMIx_server_finalize) server_finalize = nullptr;
  decltype(&::PMIx_generate_regex) generate_regex = nullptr;
  decltype(&::PMIx_generate_ppn) generate_ppn = nullptr;
  decltype(&::PMIx_server_register_nspace) register_nspace = nullptr;
  decltype(&::PMIx_server_register_client) register_client = nullptr;
  decltype(&::PMIx_server_setup_fork) setup_fork = nullptr;
  decltype(&::PMIx_server_dmodex_request) dmodex_request = nullptr;
  decltype(&::PMIx_Register_event_handler) register_event_handler = nullptr;
  decltype(&::PMIx_Get_version) get_version = nullptr;
  decltype(&::PMIx_Error_string) error_string = nullptr;
  decltype(&::PMIx_Value_load) value_load = nullptr;
  decltype(&::PMIx_Value_destruct) value_destruct = nullptr;
  decltype(&::PMIx_Data_pack) data_pack = nullptr;
  decltype(&::PMIx_Data_unpack) data_unpack = nullptr;
  decltype(&::PMIx_Notify_event) notify_event = nullptr;
  std::string path;

  [[nodiscard]] std::string error(pmix_status_t status) const;
};

// Error code "no_pmix". Stays loaded for ever: it has threads.
Result<PmixLibrary> open_pmix_library();

// Both mean success (a blocking call gives the second).
inline bool pmix_ok(pmix_status_t status) {
  return status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED;
}

}  // namespace muster
