// SPDX-License-Identifier: Apache-2.0
// The algorithms that the server offers, and whether this machine allows only
// FIPS-approved ones. The lists are ours rather than libssh's: no finite-field
// Diffie-Hellman at all (a cheap request for an expensive answer,
// CVE-2002-20001), no SHA-1, no CBC. No crypto of our own: the platform's
// libraries do everything.
#pragma once

#include <string>

#include "base/result.h"

namespace muster {

struct CryptoProfile {
  bool fips = false;
  const char* key_exchanges;
  const char* ciphers;
  const char* macs;
};

CryptoProfile crypto_profile(bool fips);

// The kernel's switch (/proc/sys/crypto/fips_enabled below `root`), or a crypto
// library that refuses algorithms outside FIPS.
bool platform_is_fips(const std::string& root = {});

// "0.10.6/openssl/zlib". Error code "libssh_old" below the floor, 0.10.4: the
// version of RHEL 9, which carries its fixes as patches.
Result<std::string> check_libssh();

}  // namespace muster
