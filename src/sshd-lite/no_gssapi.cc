// SPDX-License-Identifier: Apache-2.0
// A libgssapi_krb5 that offers nothing. Platforms build libssh with Kerberos,
// and their libgssapi_krb5 brings five more libraries into every process that
// loads it; a login of ours is by key only. In front of the bundled libssh
// (scripts/bundle-libs) this one takes its place: the set of mechanisms is
// empty, every other question is answered with "unavailable" (RFC 2744,
// section 3.9.1). With the empty set libssh refuses such a login as it does
// any other; told that the set is unavailable, it would end the connection.
//
// It has what libssh 0.10 to 0.12 asks for; where a libssh wants more,
// scripts/bundle-libs sees that and leaves the platform's library in place.
#include <cstddef>
#include <cstdint>

namespace {

constexpr uint32_t kUnavailable = 16U << 16;  // GSS_S_UNAVAILABLE
constexpr uint32_t kComplete = 0;             // GSS_S_COMPLETE

// A gss_OID_set_desc: how many there are, and where.
struct OidSet {
  size_t count;
  void* elements;
};
OidSet no_mechanism{0, nullptr};

}  // namespace

// Every function of GSS-API has this first argument.
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
MUSTER_UNAVAILABLE(gss_init_sec_context)
MUSTER_UNAVAILABLE(gss_inquire_cred)
MUSTER_UNAVAILABLE(gss_inquire_cred_by_mech)
MUSTER_UNAVAILABLE(gss_release_buffer)
MUSTER_UNAVAILABLE(gss_release_cred)
MUSTER_UNAVAILABLE(gss_release_name)
MUSTER_UNAVAILABLE(gss_release_oid_set)
MUSTER_UNAVAILABLE(gss_test_oid_set_member)
MUSTER_UNAVAILABLE(gss_verify_mic)

extern "C" [[gnu::visibility("default")]] uint32_t gss_indicate_mechs(
    uint32_t* minor_status, OidSet** mechanisms) {
  if (minor_status != nullptr) *minor_status = 0;
  *mechanisms = &no_mechanism;  // never freed: gss_release_oid_set is ours
  return kComplete;
}

// Names of kinds of names; no caller reads their content.
extern "C" {
[[gnu::visibility("default")]] void* GSS_C_NT_HOSTBASED_SERVICE = nullptr;
[[gnu::visibility("default")]] void* GSS_C_NT_USER_NAME = nullptr;
}
