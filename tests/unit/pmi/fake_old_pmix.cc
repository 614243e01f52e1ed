// SPDX-License-Identifier: Apache-2.0
// A libpmix of another major version than any that muster is built for: it has
// all names, and must not be called by any but the one that tells its version.
#include <cstdlib>

extern "C" {
const char* PMIx_Get_version() { return "OpenPMIx 2.1.0, repo rev: fake"; }
#define MUSTER_FAKE(name) \
  void name() { std::abort(); }
MUSTER_FAKE(PMIx_server_init)
MUSTER_FAKE(PMIx_server_finalize)
MUSTER_FAKE(PMIx_generate_regex)
MUSTER_FAKE(PMIx_generate_ppn)
MUSTER_FAKE(PMIx_server_register_nspace)
MUSTER_FAKE(PMIx_server_register_client)
MUSTER_FAKE(PMIx_server_setup_fork)
MUSTER_FAKE(PMIx_server_dmodex_request)
MUSTER_FAKE(PMIx_Register_event_handler)
MUSTER_FAKE(PMIx_Error_string)
MUSTER_FAKE(PMIx_Value_load)
MUSTER_FAKE(PMIx_Value_destruct)
MUSTER_FAKE(PMIx_Data_pack)
MUSTER_FAKE(PMIx_Data_unpack)
MUSTER_FAKE(PMIx_Notify_event)
#undef MUSTER_FAKE
}
