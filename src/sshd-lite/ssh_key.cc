// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/ssh_key.h"

#include <libssh/libssh.h>

#include <optional>

#include "job/base64.h"
#include "sshd-lite/door_proof.h"
#include "sshd-lite/ec_pem.h"

namespace muster {

namespace {

constexpr size_t kMaxKeyText = 64 * 1024;
constexpr int kMinRsaBits = 3072;

tl::unexpected<Error> unusable(const std::string& source, std::string why,
                               std::string hint) {
  return fail(Error{"key_unusable", "cannot use this SSH key", std::move(why),
                    source, std::move(hint)});
}

// libssh would otherwise let OpenSSL ask for a passphrase on the terminal.
int refuse_passphrase(const char*, char*, size_t, int, int, void*) {
  return -1;
}

// The next length-prefixed field of a public key blob (RFC 4251, 5).
std::optional<std::string_view> take_field(std::string_view& blob) {
  if (blob.size() < 4) return std::nullopt;
  size_t length = 0;
  for (size_t i = 0; i < 4; ++i) {
    length = length << 8 | static_cast<unsigned char>(blob[i]);
  }
  if (blob.size() - 4 < length) return std::nullopt;
  const std::string_view field = blob.substr(4, length);
  blob.remove_prefix(4 + length);
  return field;
}

// Bits of the modulus of an "ssh-rsa" blob: type, exponent, modulus.
int rsa_bits(std::string_view blob) {
  take_field(blob);
  take_field(blob);
  const auto modulus = take_field(blob);
  if (!modulus) return 0;
  size_t first = modulus->find_first_not_of('\0');
  if (first == std::string_view::npos) return 0;
  int bits = static_cast<int>((modulus->size() - first) * 8);
  for (unsigned top = static_cast<unsigned char>((*modulus)[first]); top < 0x80;
       top <<= 1) {
    --bits;
  }
  return bits;
}

Status check_kind(const SshKey& key, const std::string& source) {
  switch (ssh_key_type(key.get())) {
    case SSH_KEYTYPE_ECDSA_P256:
    case SSH_KEYTYPE_ECDSA_P384:
    case SSH_KEYTYPE_ECDSA_P521:
    case SSH_KEYTYPE_ED25519:
      return {};
    case SSH_KEYTYPE_RSA: {
      const auto blob = base64_decode(key.public_base64());
      const int bits = blob ? rsa_bits(*blob) : 0;
      if (bits >= kMinRsaBits) return {};
      return unusable(source,
                      "an RSA key of " + std::to_string(bits) +
                          " bits is too short (3072 at least)",
                      "make an ECDSA one with `muster keygen`");
    }
    default:
      return unusable(source, "kind " + key.type() + " is not supported",
                      "use ECDSA, Ed25519, or RSA with 3072 bits or more");
  }
}

}  // namespace

void SshKey::Free::operator()(ssh_key_struct* key) const { ssh_key_free(key); }

SshKey SshKey::adopt(ssh_key_struct* key) {
  SshKey out;
  out.key_.reset(key);
  return out;
}

Result<SshKey> SshKey::parse_private(std::string_view text,
                                     const std::string& source) {
  if (text.size() > kMaxKeyText) {
    return unusable(source, "larger than 64 KiB", "check what is mounted here");
  }
  std::string clean;  // no CR, nothing before the armour
  const size_t begin = text.find("-----BEGIN ");
  if (begin == std::string_view::npos || text.find('\0') != text.npos) {
    return unusable(source, "no \"-----BEGIN … PRIVATE KEY-----\" line in it",
                    "mount the Secret's private key in this place");
  }
  for (const char c : text.substr(begin)) {
    if (c != '\r') clean += c;
  }
  if (clean.find("ENCRYPTED") != std::string::npos) {
    return unusable(source, "it is under a passphrase",
                    "use a key without one: a pod has nowhere to type it");
  }
  const std::string text_form = openssh_form(clean).value_or(clean);
  ssh_key raw = nullptr;
  if (ssh_pki_import_privkey_base64(text_form.c_str(), nullptr,
                                    refuse_passphrase, nullptr,
                                    &raw) != SSH_OK) {
    return unusable(source,
                    "it is damaged, under a passphrase, or of an unknown kind",
                    "make one with `muster keygen`");
  }
  SshKey key = adopt(raw);
  if (const auto kind = check_kind(key, source); !kind) {
    return tl::unexpected(kind.error());
  }
  key.secret_ = muster::door_secret(clean);
  return key;
}

Result<SshKey> SshKey::parse_public(std::string_view type,
                                    std::string_view base64,
                                    const std::string& source) {
  const std::string name(type);
  const std::string body(base64);
  const enum ssh_keytypes_e kind = ssh_key_type_from_name(name.c_str());
  if (kind == SSH_KEYTYPE_UNKNOWN || body.size() > kMaxKeyText) {
    return unusable(source, "\"" + name + "\" is not a kind of key known here",
                    "use ECDSA, Ed25519, or RSA with 3072 bits or more");
  }
  ssh_key raw = nullptr;
  if (ssh_pki_import_pubkey_base64(body.c_str(), kind, &raw) != SSH_OK) {
    return unusable(source, "the key's text is damaged or cut", "");
  }
  SshKey key = adopt(raw);
  // libssh trusts the name given beside the key and ignores the one inside.
  const auto blob = base64_decode(body);
  std::string_view rest = blob ? std::string_view(*blob) : std::string_view();
  if (take_field(rest) != name || key.public_base64() != body) {
    return unusable(source, "the key's text is not that of a " + name, "");
  }
  if (const auto fit = check_kind(key, source); !fit) {
    return tl::unexpected(fit.error());
  }
  return key;
}

Result<SshKey> SshKey::generate(KeyType type) {
  enum ssh_keytypes_e kind = SSH_KEYTYPE_ECDSA_P256;
  int bits = 256;
  switch (type) {
    case KeyType::kEcdsaP256:
      break;
    case KeyType::kEcdsaP384:
      kind = SSH_KEYTYPE_ECDSA_P384;
      bits = 384;
      break;
    case KeyType::kEcdsaP521:
      kind = SSH_KEYTYPE_ECDSA_P521;
      bits = 521;
      break;
    case KeyType::kEd25519:
      kind = SSH_KEYTYPE_ED25519;
      bits = 0;
      break;
  }
  ssh_key raw = nullptr;
  if (ssh_pki_generate(kind, bits, &raw) != SSH_OK) {
    return fail(Error{"key_unusable",
                      "cannot make a key",
                      "the crypto library refuses this kind",
                      {},
                      type == KeyType::kEd25519
                          ? "in FIPS mode there is no Ed25519: use ecdsa-p256"
                          : ""});
  }
  return adopt(raw);
}

bool SshKey::same_public(const SshKey& other) const {
  return key_ && other.key_ &&
         ssh_key_cmp(get(), other.get(), SSH_KEY_CMP_PUBLIC) == 0;
}

std::string SshKey::fingerprint() const {
  if (!fingerprint_.empty()) return fingerprint_;
  unsigned char* hash = nullptr;
  size_t length = 0;
  if (!key_ || ssh_get_publickey_hash(get(), SSH_PUBLICKEY_HASH_SHA256, &hash,
                                      &length) != SSH_OK) {
    return {};
  }
  char* text =
      ssh_get_fingerprint_hash(SSH_PUBLICKEY_HASH_SHA256, hash, length);
  std::string out = text != nullptr ? text : "";
  ssh_string_free_char(text);
  ssh_clean_pubkey_hash(&hash);
  return out;
}

std::string SshKey::type() const {
  const char* name = key_ ? ssh_key_type_to_char(ssh_key_type(get())) : nullptr;
  return name != nullptr ? name : "unknown";
}

bool SshKey::is_rsa() const {
  return key_ && ssh_key_type(get()) == SSH_KEYTYPE_RSA;
}

std::string SshKey::public_base64() const {
  char* text = nullptr;
  if (!key_ || ssh_pki_export_pubkey_base64(get(), &text) != SSH_OK) return {};
  std::string out = text;
  ssh_string_free_char(text);
  return out;
}

Result<SshKey> SshKey::public_part() const {
  ssh_key raw = nullptr;
  if (!key_ || ssh_pki_export_privkey_to_pubkey(get(), &raw) != SSH_OK) {
    return unusable("", "no public part can be made from it", "");
  }
  return adopt(raw);
}

Result<std::string> SshKey::private_text() const {
  char* text = nullptr;
  if (!key_ || ssh_pki_export_privkey_base64(get(), nullptr, nullptr, nullptr,
                                             &text) != SSH_OK) {
    return unusable("", "it cannot be written as text", "");
  }
  std::string out = text;
  ssh_string_free_char(text);
  return out;
}

}  // namespace muster
