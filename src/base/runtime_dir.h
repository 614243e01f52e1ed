// SPDX-License-Identifier: Apache-2.0
// The writable directories under a read-only root: $TMPDIR, /tmp, /dev/shm, in
// that order, the first that takes a file. Sockets live on paths, never in the
// abstract namespace (all pods on a host network share that one).
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace muster {

// The candidates in order, without testing them.
std::vector<std::string> writable_candidates();
// The candidates that really take a file now.
std::vector<std::string> writable_directories();

// A directory of this user that is not a link.
bool is_own_directory(const std::string& path);

// A private directory (0700) that is removed with everything in it on
// destruction. Its path is short enough for a Unix socket inside.
class RuntimeDir {
 public:
  // DIR/muster-NAME under the first writable candidate; an existing one of our
  // own is used again. Error code "no_writable_dir".
  static Result<RuntimeDir> create(const std::string& name);
  // A new one that is marked as this process's while it lives, and as abandoned
  // afterwards, even if it was killed.
  static Result<RuntimeDir> create_owned(const std::string& name);
  RuntimeDir() = default;
  RuntimeDir(RuntimeDir&& other) noexcept;
  RuntimeDir& operator=(RuntimeDir&& other) noexcept;
  ~RuntimeDir();

  [[nodiscard]] const std::string& path() const { return path_; }
  void keep() { path_.clear(); }  // leave it behind

 private:
  std::string path_;
  UniqueFd owned_;
};

// Whether create_owned() made it and its owner has ended. Uses a lock, not a
// process id: the owner may be of another PID namespace. False if unsure.
bool abandoned(const std::string& path);
// Removes the abandoned ones of this user whose NAME begins with `prefix`.
void remove_abandoned(const std::string& prefix);

}  // namespace muster
