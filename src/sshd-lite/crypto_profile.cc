// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/crypto_profile.h"

#include <libssh/libssh.h>

#include "base/fd.h"
#include "base/text.h"
#include "sshd-lite/ssh_key.h"

namespace muster {

namespace {

constexpr CryptoProfile kOrdinary = {
    false,
    "curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp256,"
    "ecdh-sha2-nistp384,ecdh-sha2-nistp521",
    "aes128-gcm@openssh.com,aes256-gcm@openssh.com,"
    "chacha20-poly1305@openssh.com,aes256-ctr,aes192-ctr,aes128-ctr",
    "hmac-sha2-256-etm@openssh.com,hmac-sha2-512-etm@openssh.com,"
    "hmac-sha2-256,hmac-sha2-512"};

constexpr CryptoProfile kFips = {
    true, "ecdh-sha2-nistp256,ecdh-sha2-nistp384,ecdh-sha2-nistp521",
    "aes128-gcm@openssh.com,aes256-gcm@openssh.com,aes256-ctr,aes128-ctr",
    kOrdinary.macs};

constexpr int kFloor = SSH_VERSION_INT(0, 10, 4);

}  // namespace

CryptoProfile crypto_profile(bool fips) { return fips ? kFips : kOrdinary; }

bool platform_is_fips(const std::string& root) {
  const auto text = read_file(root + "/proc/sys/crypto/fips_enabled");
  if (text && trim(*text) == "1") return true;
  // OpenSSL's own configuration may say so, whatever the kernel says.
  return root.empty() && !SshKey::generate(KeyType::kEd25519);
}

Result<std::string> check_libssh() {
  const char* version = ssh_version(0);
  if (ssh_version(kFloor) != nullptr) return std::string(version);
  return fail(Error{"libssh_old",
                    "this libssh is too old",
                    std::string(version != nullptr ? version : "unknown") +
                        " has known holes",
                    {},
                    "install libssh 0.10.4 with the distribution's fixes, or "
                    "a newer one"});
}

}  // namespace muster
