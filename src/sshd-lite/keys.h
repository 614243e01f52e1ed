// SPDX-License-Identifier: Apache-2.0
// The job's keys as operators mount them: one private key (host key of every
// worker and user key of the launcher at once) and authorized_keys.
// Modes and owners are never checked: Secret mounts are 0644, root-owned, or
// fsGroup-readable, and sshd's StrictModes is what breaks jobs with them.
// KeyStore reads again when the mount was swapped. One thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sshd-lite/ssh_key.h"

namespace muster {

struct JobKeys {
  SshKey private_key;
  std::vector<SshKey> authorized;
  std::string fingerprint;         // of private_key
  std::string source;              // the file of private_key, or "ephemeral"
  std::vector<std::string> notes;  // sentences worth a warning
};

// Where the two files are; an empty name means "not given".
struct KeyFiles {
  std::string private_key;
  std::vector<std::string> authorized;
  bool only_authorized = false;  // no file of these: no key is authorized
};

// The first of id_rsa, ssh-privatekey, id_ecdsa, id_ed25519 that is in `dir`,
// and authorized_keys beside it.
KeyFiles key_files_in(const std::string& dir);

// Error codes "key_missing" (no private key file) and "key_unusable". Without
// an authorized_keys file the job key itself is the authorized one: its holder
// is the launcher.
Result<JobKeys> load_keys(const KeyFiles& files);
Result<JobKeys> find_keys(const std::string& dir);

// Keys for every new connection: unchanged files cost a stat each.
class KeyStore {
 public:
  // Without a private key in `files` it makes a host key in memory, with a
  // note; authorized_keys must exist then. Error as load_keys().
  static Result<KeyStore> open(KeyFiles files);

  // Never fails: if files have become unreadable, the last good keys stay, with
  // a warning in the log.
  const JobKeys& current();

 private:
  [[nodiscard]] std::vector<std::string> stamps() const;

  KeyFiles files_;
  JobKeys keys_;
  std::vector<std::string> seen_;
};

// The directory with the job's keys: $MUSTER_KEY_DIR, else where operators
// mount them (job/pod_view.h). nullopt: none.
std::optional<std::string> find_key_dir();

}  // namespace muster
