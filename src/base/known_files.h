// SPDX-License-Identifier: Apache-2.0
// KnownFiles: caches expensive facts about programs and libraries of the image
// (an mpirun's version, a search of a 200 MB library), for later questions
// about the same file in the same state. A worker's pid 1 collects them before
// any job and passes them to its agents in the environment. Reads the state of
// files; else pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

inline constexpr const char* kKnownFilesVariable = "MUSTER_KNOWN_FILES";

// Device, inode, size and time of change: the text differs if the file is
// another one or was written to. "" if there is none.
std::string file_state(const std::string& path);

class KnownFiles {
 public:
  // Reads the output of text(); any other text gives an empty one.
  static KnownFiles parse(std::string_view text);
  [[nodiscard]] std::string text() const;

  // nullopt: unknown, or the file has changed.
  [[nodiscard]] std::optional<std::string> find(const std::string& path) const;
  // Takes answers without line ends and tabs, about existing files.
  void remember(const std::string& path, const std::string& answer);

 private:
  struct Entry {
    std::string state;
    std::string answer;
  };
  std::map<std::string, Entry> entries_;
};

}  // namespace muster
