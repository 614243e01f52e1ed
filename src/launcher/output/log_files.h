// SPDX-License-Identifier: Apache-2.0
// LogFiles: the files of --log-dir, one per rank and stream, "rank-3.out". A
// file that reaches the limit becomes "rank-3.out.1", the older ones move up,
// and a new one begins; only between two lines, so that rotation neither tears
// nor loses a line. It removes files beyond the count, and reports that once.
// It does not rotate a file that it can no longer write. Runs on one thread,
// which may wait long for the file system: never a loop's. Leaves its messages
// for another thread to log.
#pragma once

#include <cstdint>
#include <map>
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
  LogFiles(std::string directory, LogRotation rotation);

  // The descriptor for the next `bytes` of `name`; -1: it cannot be written.
  int descriptor_for(const std::string& name, std::string_view bytes);
  // Writing to it failed: no more is written there.
  void failed(const std::string& name, int error);
  // The messages so far, each once.
  std::vector<std::string> take_words();

 private:
  struct Entry {
    std::string path;
    UniqueFd file;
    uint64_t size = 0;
    bool line_ended = true;
    bool broken = false;  // not rotated any more
  };

  void open(Entry& entry);
  void rotate(Entry& entry);

  std::string directory_;
  LogRotation rotation_;
  std::map<std::string, Entry> entries_;
  bool removal_told_ = false;
  std::vector<std::string> words_;
};

}  // namespace muster
