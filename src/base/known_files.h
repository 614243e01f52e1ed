// SPDX-License-Identifier: Apache-2.0
// KnownFiles: what was found out about programs and libraries of the image at
// some expense (asking an mpirun for its version, searching a library of 200
// MB), for later questions about the same file in the same state. A worker's
// pid 1 learns it when no job has come yet and hands it to its agents in the
// environment. Reads the state of files; else pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

inline constexpr const char* kKnownFilesVariable = "MUSTER_KNOWN_FILES";

// Device, inode, size and time of change: another text when the file is another
// one or was written to. "" if there is none.
std::string file_state(const std::string& path);

class KnownFiles {
 public:
  // What text() made; anything else is an empty one.
  static KnownFiles parse(std::string_view text);
  [[nodiscard]] std::string text() const;

  // nullopt: never asked, or the file is not what it was.
  [[nodiscard]] std::optional<std::string> find(const std::string& path) const;
  // Answers without line ends and tabs, about files that are there.
  void remember(const std::string& path, const std::string& answer);

 private:
  struct Entry {
    std::string state;
    std::string answer;
  };
  std::map<std::string, Entry> entries_;
};

}  // namespace muster
