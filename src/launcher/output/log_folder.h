// SPDX-License-Identifier: Apache-2.0
// LogFolder: where a launch writes its ranks' files when told --log-dir DIR.
// DIR itself, after what an earlier launch left there has been moved to
// DIR/earlier-N; DIR/ID, while another launch writes in DIR. So no launch loses
// its files to another one. A lock on the file DIR/.in-use tells the two
// apart; where the file system has no locks, DIR counts as free. One that does
// not answer within 10 s is an error.
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
  // Error code "log_directory". Says where what is kept, if that is not plain.
  static Result<LogFolder> claim(const std::string& directory,
                                 const std::string& launch_id);
  LogFolder() = default;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  static Result<LogFolder> claim_now(const std::string& directory,
                                     const std::string& launch_id);

  std::string path_;
  std::string words_;  // where what is kept
  UniqueFd lock_;
};

}  // namespace muster
