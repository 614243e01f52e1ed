// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/keys.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/fd.h"
#include "base/known_files.h"
#include "base/log.h"
#include "base/text.h"
#include "job/pod_view.h"
#include "sshd-lite/authorized_keys.h"
#include "sshd-lite/private_key.h"

namespace muster {

namespace {

constexpr std::array<const char*, 4> kPrivateNames = {
    "id_rsa", "ssh-privatekey", "id_ecdsa", "id_ed25519"};
constexpr const char* kEphemeral = "ephemeral";

bool exists(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

// False: the file does not exist.
bool read_authorized(const KeyFiles& files, JobKeys& keys) {
  bool read_any = false;
  for (const std::string& file : files.authorized) {
    if (!exists(file)) continue;
    const auto text = read_file(file, kMaxAuthorizedKeysText);
    if (!text) {
      keys.notes.push_back(text.error().text());
      continue;
    }
    read_any = true;
    AuthorizedKeys parsed = parse_authorized_keys(*text, file);
    std::move(parsed.keys.begin(), parsed.keys.end(),
              std::back_inserter(keys.authorized));
    std::move(parsed.ignored.begin(), parsed.ignored.end(),
              std::back_inserter(keys.notes));
  }
  // A file without a usable key must stay a refusal.
  if (read_any || files.only_authorized || !keys.private_key) return read_any;
  if (auto own = keys.private_key.public_part()) {
    keys.authorized.push_back(std::move(*own));
  }
  return false;
}

// Makes the copies for every login once.
bool read_and_remember(const KeyFiles& files, JobKeys& keys) {
  const bool read_any = read_authorized(files, keys);
  for (SshKey& key : keys.authorized) key.remember_fingerprint();
  return read_any;
}

Result<JobKeys> ephemeral_keys(const KeyFiles& files) {
  auto key = SshKey::generate(KeyType::kEcdsaP256);
  if (!key) return tl::unexpected(key.error());
  JobKeys out;
  read_and_remember(files, out);
  if (out.authorized.empty()) {
    return tl::unexpected(no_private_key(files.private_key));
  }
  out.private_key = std::move(*key);
  out.fingerprint = out.private_key.fingerprint();
  out.source = kEphemeral;
  out.notes.emplace_back(
      "no private key is mounted, so this pod made a host key of its own; "
      "launchers that pin the job key will refuse it");
  return out;
}

}  // namespace

KeyFiles key_files_in(const std::string& dir) {
  KeyFiles out{dir + "/" + kPrivateNames[0], {dir + "/authorized_keys"}};
  for (const char* name : kPrivateNames) {
    if (!exists(dir + "/" + name)) continue;
    out.private_key = dir + "/" + name;
    break;
  }
  return out;
}

Result<JobKeys> load_keys(const KeyFiles& files) {
  auto key = load_private_key(files.private_key);
  if (!key) return tl::unexpected(key.error());
  JobKeys out;
  out.private_key = std::move(*key);
  out.fingerprint = out.private_key.fingerprint();
  out.source = files.private_key;
  read_and_remember(files, out);
  if (out.authorized.empty()) {
    out.notes.push_back(join(files.authorized, ", ") +
                        ": no usable key in it; every login fails");
  }
  return out;
}

Result<JobKeys> find_keys(const std::string& dir) {
  return load_keys(key_files_in(dir));
}

Result<KeyStore> KeyStore::open(KeyFiles files) {
  KeyStore out;
  out.files_ = std::move(files);
  out.seen_ = out.stamps();
  auto keys = load_keys(out.files_);
  if (!keys && keys.error().code == "key_missing") {
    keys = ephemeral_keys(out.files_);
  }
  if (!keys) return tl::unexpected(keys.error());
  out.keys_ = std::move(*keys);
  return out;
}

std::vector<std::string> KeyStore::stamps() const {
  std::vector<std::string> out{file_state(files_.private_key)};
  for (const std::string& file : files_.authorized) {
    out.push_back(file_state(file));
  }
  return out;
}

const JobKeys& KeyStore::current() {
  std::vector<std::string> now = stamps();
  if (now == seen_) return keys_;
  seen_ = std::move(now);
  auto fresh = load_keys(files_);
  // A key of the worker's own has no file; the authorized keys have one.
  JobKeys beside;
  if (!fresh && fresh.error().code == "key_missing" &&
      keys_.source == kEphemeral && read_and_remember(files_, beside)) {
    beside.private_key = std::move(keys_.private_key);
    beside.fingerprint = keys_.fingerprint;
    beside.source = kEphemeral;
    fresh = std::move(beside);
  }
  if (!fresh) {
    log::warn("{}; the keys read before stay in use", fresh.error().text());
    return keys_;
  }
  for (const std::string& note : fresh->notes) log::warn("{}", note);
  log::info("the keys have changed: {} ({}), {} may log in", fresh->fingerprint,
            fresh->source, fresh->authorized.size());
  keys_ = std::move(*fresh);
  return keys_;
}

std::optional<std::string> find_key_dir() {
  if (const char* given = std::getenv("MUSTER_KEY_DIR")) return given;
  PodViewOptions pod;
  pod.env = current_environment();
  pod.uid = static_cast<int>(::getuid());
  if (auto found = best_key_dir(pod)) return found;
  const std::string* home = find_env(pod.env, "HOME");
  if (home != nullptr && exists(key_files_in(*home + "/.ssh").private_key)) {
    return *home + "/.ssh";
  }
  return std::nullopt;
}

}  // namespace muster
