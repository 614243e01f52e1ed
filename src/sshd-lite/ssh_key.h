// SPDX-License-Identifier: Apache-2.0
// SshKey: the single owner of one key of libssh's, private or public.
// Reads any text form that libssh knows; the kind comes from the content, never
// from a file name (operators mount ECDSA keys as id_rsa).
// Refuses: DSA, RSA below 3072 bits, keys under a passphrase, certificates.
// No I/O. A key may be read by one thread at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct ssh_key_struct;

namespace muster {

enum class KeyType { kEcdsaP256, kEcdsaP384, kEcdsaP521, kEd25519 };

class SshKey {
 public:
  SshKey() = default;

  // `text`: PEM (SEC1, PKCS#8, PKCS#1) or OpenSSH format, at most 64 KiB.
  // `source` names it in errors (code "key_unusable").
  static Result<SshKey> parse_private(std::string_view text,
                                      const std::string& source);
  // The first two words of a public key line: "ssh-ed25519", "AAAA…".
  static Result<SshKey> parse_public(std::string_view type,
                                     std::string_view base64,
                                     const std::string& source);
  static Result<SshKey> generate(KeyType type);

  explicit operator bool() const { return key_ != nullptr; }
  // Borrowed; libssh wants non-const keys although it does not change them.
  [[nodiscard]] ssh_key_struct* get() const { return key_.get(); }

  // Whether both stand for the same public key.
  [[nodiscard]] bool same_public(const SshKey& other) const;
  [[nodiscard]] std::string fingerprint() const;  // "SHA256:…"
  // Makes every later fingerprint() a copy; for a key that many connections
  // show.
  void remember_fingerprint() { fingerprint_ = fingerprint(); }
  [[nodiscard]] std::string type() const;           // "ecdsa-sha2-nistp521"
  [[nodiscard]] std::string public_base64() const;  // "AAAA…"
  [[nodiscard]] bool is_rsa() const;
  // For door_proof.h; "" unless it was read from text.
  [[nodiscard]] const std::string& door_secret() const { return secret_; }
  [[nodiscard]] Result<SshKey> public_part() const;
  // PEM text; only for a private key.
  [[nodiscard]] Result<std::string> private_text() const;

  // Takes over what a libssh call has returned.
  static SshKey adopt(ssh_key_struct* key);

 private:
  struct Free {
    void operator()(ssh_key_struct* key) const;
  };
  std::unique_ptr<ssh_key_struct, Free> key_;
  std::string secret_;
  std::string fingerprint_;  // "": not remembered
};

}  // namespace muster
