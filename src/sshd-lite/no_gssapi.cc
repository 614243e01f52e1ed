// SPDX-License-Identifier: Apache-2.0
// A libgssapi_krb5 that offers nothing. Platforms build libssh with Kerberos,
// and their libgssapi_krb5 brings five more libraries into every process that
// loads it; a login of ours is by key only. In front of the bundled libssh
// (scripts/bundle-libs) this one takes its place: no mechanism, no credential,
// every question answered with "unavailable" (RFC 2744, section 3.9.1).
//
// It has what libssh 0.10 to 0.12 asks for; where a libssh wants more,
// scripts/bundle-libs sees that and leaves the platform's library in place.
#include <cstdint>

namespace {

constexpr uint32_t kUnavailable = 16U << 16;  // GSS_S_UNAVAILABLE

}  // namespace

// Every function of GSS-API has this first argument, and only this is touched.
#define MUSTER_UNAVAILABLE(name)                           \
  extern "C" [[gnu::visibility("default")]] uint32_t name( \
      uint32_t* minor_status) {                            \
    if (minor_status != nullptr) *minor_status = 0;        \
    return kUnavailable;                                   \
  }

MUSTER_UNAVAILABLE(gss_accept_sec_context)
MUSTER_UNAVAILABLE(gss_acquire_cred)
MUSTER_UNAVAILABLE(gss_add_oid_set_member)
MUSTER_UNAVAILABLE(gss_create_empty_oid_set)
MUSTER_UNAVAILABLE(gss_delete_sec_context)
MUSTER_UNAVAILABLE(gss_display_name)
MUSTER_UNAVAILABLE(gss_display_status)
MUSTER_UNAVAILABLE(gss_get_mic)
MUSTER_UNAVAILABLE(gss_import_name)
MUSTER_UNAVAILABLE(gss_indicate_mechs)
MUSTER_UNAVAILABLE(gss_init_sec_context)
MUSTER_UNAVAILABLE(gss_inquire_cred)
MUSTER_UNAVAILABLE(gss_inquire_cred_by_mech)
MUSTER_UNAVAILABLE(gss_release_buffer)
MUSTER_UNAVAILABLE(gss_release_cred)
MUSTER_UNAVAILABLE(gss_release_name)
MUSTER_UNAVAILABLE(gss_release_oid_set)
MUSTER_UNAVAILABLE(gss_test_oid_set_member)
MUSTER_UNAVAILABLE(gss_verify_mic)

// Names of kinds of names; nobody looks behind them.
extern "C" {
[[gnu::visibility("default")]] void* GSS_C_NT_HOSTBASED_SERVICE = nullptr;
[[gnu::visibility("default")]] void* GSS_C_NT_USER_NAME = nullptr;
}
