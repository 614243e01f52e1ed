// SPDX-License-Identifier: Apache-2.0
// Where muster may write under a read-only root: $TMPDIR, /tmp, /dev/shm, in
// that order, the first that takes a file. Sockets live on paths, never in the
// abstract namespace (that one is shared by all pods on a host network).
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace muster {

// The candidates in order, without testing them.
std::vector<std::string> writable_candidates();
// Those of the candidates that really take a file now.
std::vector<std::string> writable_directories();

// One of this user, and no link to one.
bool is_own_directory(const std::string& path);

// A private directory (0700) that is removed with everything in it on
// destruction. Its path is short enough for a Unix socket inside.
class RuntimeDir {
 public:
  // DIR/muster-NAME under the first writable candidate; an existing one of our
  // own is used again. Error code "no_writable_dir".
  static Result<RuntimeDir> create(const std::string& name);
  // A new one that is known to be this process's for as long as it lives, and
  // as abandoned afterwards, even if it was killed.
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

// Was it made by create_owned(), and is its owner gone? By a lock, not by a
// process id: the owner may be of another PID namespace. No, if that is not
// sure.
bool abandoned(const std::string& path);
// Removes the abandoned ones of this user whose NAME begins with `prefix`.
void remove_abandoned(const std::string& prefix);

}  // namespace muster
