// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/door_proof.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <algorithm>
#include <array>

namespace muster {

namespace {

constexpr std::string_view kMark = "muster-door ";
constexpr std::string_view kNonceMark = " door=";
constexpr size_t kNonceDigits = 32;
// The purpose of the secret, so that it serves no other.
constexpr std::string_view kPurpose = "muster door, version 1";

std::string hex(const unsigned char* bytes, size_t size) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (size_t i = 0; i < size; ++i) {
    out += kDigits[bytes[i] >> 4];
    out += kDigits[bytes[i] & 15];
  }
  return out;
}

// "": the crypto library refuses.
std::string hmac_sha256(std::string_view key, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned size = 0;
  const auto* data = reinterpret_cast<const unsigned char*>(text.data());
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), data,
           text.size(), out.data(), &size) == nullptr) {
    return {};
  }
  return hex(out.data(), size);
}

}  // namespace

std::string new_nonce() {
  std::array<unsigned char, kNonceDigits / 2> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), GRND_NONBLOCK) !=
      static_cast<ssize_t>(bytes.size())) {
    return {};
  }
  return hex(bytes.data(), bytes.size());
}

std::string server_software(const std::string& nonce) {
  std::string out = "muster_" MUSTER_VERSION;
  if (!nonce.empty()) out.append(kNonceMark).append(nonce);
  return out;
}

std::string server_version_line(const std::string& nonce) {
  return "SSH-2.0-" + server_software(nonce) + "\r\n";
}

std::optional<std::string> nonce_of(std::string_view version_line) {
  if (!version_line.starts_with("SSH-2.0-muster_")) return std::nullopt;
  const size_t mark = version_line.find(kNonceMark);
  if (mark == version_line.npos) return std::nullopt;
  std::string_view rest = version_line.substr(mark + kNonceMark.size());
  if (rest.ends_with("\r\n")) rest.remove_suffix(2);
  const auto is_digit = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  };
  if (rest.size() != kNonceDigits ||
      !std::all_of(rest.begin(), rest.end(), is_digit)) {
    return std::nullopt;
  }
  return std::string(rest);
}

std::string door_secret(std::string_view key_text) {
  const size_t begin = key_text.find("-----BEGIN ");
  if (begin == key_text.npos) return {};
  const size_t end = key_text.find("-----END ", begin);
  if (end == key_text.npos) return {};
  std::string key;
  for (const char c : key_text.substr(begin, end - begin)) {
    if (c > ' ') key += c;
  }
  std::string out = hmac_sha256(key, kPurpose);
  OPENSSL_cleanse(key.data(), key.size());
  return out;
}

std::string proof_line(const std::string& secret, std::string_view nonce) {
  std::string out(kMark);
  out += hmac_sha256(secret, nonce);
  out.resize(kProofSize - 2, ' ');
  return out + "\r\n";
}

bool looks_like_proof(std::string_view bytes) {
  return bytes.size() >= kProofSize && bytes.starts_with(kMark);
}

bool is_proof(std::string_view line, const std::string& secret,
              std::string_view nonce) {
  if (line.size() != kProofSize || secret.empty() || nonce.empty()) {
    return false;
  }
  const std::string wanted = proof_line(secret, nonce);
  return CRYPTO_memcmp(line.data(), wanted.data(), kProofSize) == 0;
}

}  // namespace muster
