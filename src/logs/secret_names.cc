// SPDX-License-Identifier: Apache-2.0
#include "logs/secret_names.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/text.h"

namespace muster {

namespace {

constexpr size_t kLongestName = 128;

template <size_t N>
using Words = std::array<std::string_view, N>;

template <size_t N>
bool is_one_of(const Words<N>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The last word of a name that decides.
constexpr Words<12> kPasswords = {
    "pass", "passwd",  "password", "passphrase", "passcode", "pw",
    "pwd",  "sshpass", "pgpass",   "userpass",   "rootpass", "dbpass"};
constexpr Words<26> kTokens = {
    "identitytoken", "registrytoken", "token",      "secret",
    "bearer",        "unseal",        "cred",       "creds",
    "credential",    "credentials",   "cookie",     "cookies",
    "apikey",        "authkey",       "authtoken",  "masterkey",
    "licensekey",    "privatekey",    "secretkey",  "accesskey",
    "signingkey",    "sharedkey",     "accountkey", "accesstoken",
    "signature",     "encryptionkey"};
// Anywhere in a name, written without the signs between its parts.
constexpr Words<13> kAnywhere = {
    "password",   "passwd",      "passphrase", "secret",    "credential",
    "api_key",    "apikey",      "access_key", "accesskey", "private_key",
    "accountkey", "signing_key", "shared_key"};
// Behind the word that decides.
constexpr Words<18> kVariants = {"prod",  "dev",     "test", "staging", "stage",
                                 "old",   "new",     "b64",  "base64",  "value",
                                 "read",  "write",   "ro",   "rw",      "raw",
                                 "plain", "current", "next"};
// As the last word: the name is about a secret, and the value is none.
constexpr Words<26> kAbout = {
    "path",   "file",    "dir",      "name",   "type",     "length",  "len",
    "size",   "count",   "ttl",      "expiry", "expires",  "timeout", "policy",
    "format", "header",  "prefix",   "suffix", "field",    "url",     "uri",
    "sock",   "enabled", "required", "ref",    "algorithm"};
// Before "key": of tables, of caches, of arrays, of public keys.
constexpr Words<46> kPlainKeys = {
    "sort",    "primary", "foreign", "partition", "public", "pub",    "cache",
    "group",   "hash",    "index",   "lookup",    "dict",   "map",    "json",
    "field",   "metric",  "data",    "state",     "config", "row",    "column",
    "routing", "object",  "image",   "label",     "text",   "input",  "output",
    "target",  "rng",     "prng",    "random",    "node",   "merge",  "order",
    "dedup",   "host",    "kv",      "gpg",       "batch",  "sample", "feature",
    "query",   "monitor", "record",  "hot"};
// Before "token": of texts.
constexpr Words<28> kPlainTokens = {
    "pad",   "eos",     "bos",   "unk",   "sep",   "cls",    "mask",
    "start", "end",     "begin", "stop",  "image", "video",  "audio",
    "next",  "last",    "first", "prev",  "per",   "num",    "max",
    "min",   "special", "think", "class", "blank", "ignore", "tool"};
// Before "pass": of programs with several passes.
constexpr Words<16> kPlainPasses = {
    "single", "multi",   "two",      "one", "first", "second", "third", "last",
    "num",    "forward", "backward", "fwd", "bwd",   "max",    "min",   "per"};
// Settings of MPIs, NCCL and their like.
constexpr Words<16> kPlainPrefixes = {
    "nccl_", "ompi_", "ucx_",  "pmix_", "prte_", "pmi_",   "i_mpi_", "mpich_",
    "mpir_", "fi_",   "psm2_", "psm3_", "rccl_", "hydra_", "ucc_",   "opal_"};
constexpr Words<3> kPlainNames = {"old_pwd", "gpg_key", "gpg_keys"};
constexpr Words<31> kPlainValues = {
    "true",     "false",       "yes",           "no",       "on",
    "off",      "none",        "null",          "nil",      "enabled",
    "disabled", "required",    "optional",      "default",  "auto",
    "unset",    "basic",       "bearer",        "kerberos", "simple",
    "oauth2",   "sasl",        "digest",        "gssapi",   "ntlm",
    "trust",    "certificate", "scram-sha-256", "token",    "password",
    "anonymous"};

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Rejects most names here, without a copy. Every name that has a kind has one
// of them; secret_glance.cc looks for their first letters.
bool holds_stem(std::string_view name) {
  constexpr std::string_view kStems[] = {"pass", "secret", "token", "key",
                                         "cred", "pw",     "sig",   "cookie",
                                         "auth", "bearer", "unseal"};
  constexpr std::string_view kFirst = "pstkcabu";
  for (size_t at = 0; at + 2 <= name.size(); ++at) {
    if (kFirst.find(lower(name[at])) == std::string_view::npos) continue;
    for (const std::string_view stem : kStems) {
      if (lower(name[at]) != stem[0] || at + stem.size() > name.size()) {
        continue;
      }
      size_t same = 1;
      while (same < stem.size() && lower(name[at + same]) == stem[same]) {
        ++same;
      }
      if (same == stem.size()) return true;
    }
  }
  return false;
}

// "HFToken2-prod" -> "hf_token2_prod"
std::string normal_form(std::string_view name) {
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (c == '-' || c == '.' || c == '_' || c == ' ') {
      if (!out.empty() && out.back() != '_') out += '_';
      continue;
    }
    const bool hump = i > 0 && is_upper(c) &&
                      (is_lower(name[i - 1]) || is_digit(name[i - 1]) ||
                       (is_upper(name[i - 1]) && i + 1 < name.size() &&
                        is_lower(name[i + 1])));
    if (hump && !out.empty() && out.back() != '_') out += '_';
    out += lower(c);
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  return out;
}

// Without numbers and variants at the end: TOKEN_2, TOKEN2, TOKEN_PROD.
std::vector<std::string_view> telling_parts(std::string_view normal) {
  std::vector<std::string_view> parts = split(normal, '_');
  while (!parts.empty()) {
    std::string_view& last = parts.back();
    while (!last.empty() && is_digit(last.back()) && last != "b64" &&
           last != "base64") {
      last.remove_suffix(1);
    }
    if (!last.empty() && (parts.size() == 1 || !is_one_of(kVariants, last))) {
      break;
    }
    parts.pop_back();
  }
  return parts;
}

SecretKind kind_by_last(const std::vector<std::string_view>& parts) {
  const std::string_view last = parts.back();
  const std::string_view before =
      parts.size() > 1 ? parts[parts.size() - 2] : std::string_view();
  if (last == "pass" && is_one_of(kPlainPasses, before)) {
    return SecretKind::kNone;
  }
  if (is_one_of(kPasswords, last)) return SecretKind::kPassword;
  if (last == "token" && is_one_of(kPlainTokens, before)) {
    return SecretKind::kNone;
  }
  if ((last == "cookie" || last == "cookies") && parts.size() > 1 &&
      before != "set") {
    return SecretKind::kNone;
  }
  if (last == "signature" && parts.size() > 1 && before != "amz" &&
      before != "goog") {
    return SecretKind::kNone;
  }
  if (is_one_of(kTokens, last) || (last == "sig" && parts.size() == 1)) {
    return SecretKind::kToken;
  }
  if (last == "auth") return SecretKind::kKey;
  if (last == "key" && parts.size() > 1 && !is_one_of(kPlainKeys, before)) {
    return SecretKind::kKey;
  }
  return SecretKind::kNone;
}

}  // namespace

SecretKind secret_kind(std::string_view name) {
  // Names are short; anything else is not a name.
  if (name.size() < 2 || name.size() > kLongestName || !holds_stem(name)) {
    return SecretKind::kNone;
  }
  if (name == "PWD") return SecretKind::kNone;  // the shell's
  const std::string normal = normal_form(name);
  if (is_one_of(kPlainNames, normal) ||
      normal.find("tokenizer") != normal.npos ||
      std::any_of(kPlainPrefixes.begin(), kPlainPrefixes.end(),
                  [&](auto prefix) { return normal.starts_with(prefix); })) {
    return SecretKind::kNone;
  }
  const std::vector<std::string_view> parts = telling_parts(normal);
  if (parts.empty() || is_one_of(kAbout, parts.back())) {
    return SecretKind::kNone;
  }
  const SecretKind kind = kind_by_last(parts);
  if (kind == SecretKind::kPassword || kind == SecretKind::kToken) return kind;
  for (const std::string_view word : kAnywhere) {
    if (normal.find(word) == normal.npos) continue;
    return word.starts_with("pass") ? SecretKind::kPassword
                                    : SecretKind::kToken;
  }
  return kind;
}

bool is_secret_name(std::string_view name) {
  return secret_kind(name) != SecretKind::kNone;
}

bool is_secret(std::string_view name, std::string_view value) {
  const SecretKind kind = secret_kind(name);
  if (kind == SecretKind::kNone || is_plain_value(value)) return false;
  if (kind == SecretKind::kPassword) return true;
  if (value.find_first_not_of("0123456789.+-") == value.npos) return false;
  const bool address =
      value.find("://") != value.npos && value.find('@') == value.npos;
  return kind == SecretKind::kToken || !address;
}

bool is_plain_value(std::string_view value) {
  return value.starts_with('/') || value.starts_with("./") ||
         is_one_of(kPlainValues, to_lower(value)) ||
         std::all_of(value.begin(), value.end(),
                     [&value](char c) { return c == value.front(); });
}

}  // namespace muster
