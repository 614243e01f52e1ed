// SPDX-License-Identifier: Apache-2.0
// LogFiles: the files of --log-dir, one per rank and stream, "rank-3.out". One
// that has grown to the limit becomes "rank-3.out.1", the older ones move up,
// and a new one begins; only ever between two lines, so that no line is torn or
// lost by it. What moves beyond the count is removed, and that is said once.
// A file that can no longer be written is not rotated. Loop thread; writes
// themselves are the caller's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace muster {

struct LogRotation {
  uint64_t bytes = uint64_t{1} << 30;  // 0: never
  int older = 8;                       // files kept beside the newest
};

class LogFiles {
 public:
  // Kept by whoever still writes to it: rotated files are closed by the last.
  using File = std::shared_ptr<UniqueFd>;

  LogFiles(std::string directory, LogRotation rotation);

  // Where `bytes` of `name` go next. Null: it cannot be written, which was
  // said.
  File file_for(const std::string& name, std::string_view bytes);
  // Writing to it failed. Returns its path, or "".
  std::string failed(int fd);

 private:
  struct Entry {
    std::string path;
    File file;
    uint64_t size = 0;
    bool line_ended = true;
    bool broken = false;
  };

  void open(Entry& entry);
  void rotate(Entry& entry);

  std::string directory_;
  LogRotation rotation_;
  std::map<std::string, Entry> entries_;
  // Rotated, and perhaps still written: a number must not be used again while
  // a write to it may fail.
  std::vector<std::pair<std::string, std::weak_ptr<UniqueFd>>> rotated_;
  std::vector<File> kept_;
  bool removal_told_ = false;
};

}  // namespace muster
