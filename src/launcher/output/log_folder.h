// SPDX-License-Identifier: Apache-2.0
// LogFolder: the folder of a launch's rank files under --log-dir DIR. DIR
// itself, after an earlier launch's files have moved to DIR/earlier-N; DIR/ID,
// while another launch writes in DIR. So no launch loses its files to another
// one. A lock on the file DIR/.in-use tells the two apart; on a file system
// without locks, DIR counts as free. A folder that does not answer within 10 s
// is an error.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace muster {

// "rank-3.out", "rank-3.out.2", "mpirun.err"; not a user's "a.out".
bool is_log_file(const std::string& name);

// Makes `directory` and proves that a file can be written there; "" is fine.
// Error code "log_directory".
Status prepare_log_directory(const std::string& directory);

class LogFolder {
 public:
  // Reports where it keeps the files, unless that is DIR itself. Error code
  // "log_directory".
  static Result<LogFolder> claim(const std::string& directory,
                                 const std::string& launch_id);
  LogFolder() = default;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  static Result<LogFolder> claim_now(const std::string& directory,
                                     const std::string& launch_id);

  std::string path_;
  std::string words_;  // the place of kept files
  UniqueFd lock_;
};

}  // namespace muster
