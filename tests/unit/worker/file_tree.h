// SPDX-License-Identifier: Apache-2.0
// Directories made up like /proc, /sys and /dev.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "agent_harness.h"
#include "base/runtime_dir.h"

namespace muster::test {

// A root directory to be filled with files.
class Tree {
 public:
  Tree() : dir_(*RuntimeDir::create(unique_name("tree"))) {}
  void write(const std::string& path, const std::string& text) {
    const std::string full = dir_.path() + path;
    std::filesystem::create_directories(
        std::filesystem::path(full).parent_path());
    std::ofstream(full) << text;
  }
  [[nodiscard]] const std::string& root() const { return dir_.path(); }

 private:
  RuntimeDir dir_;
};

}  // namespace muster::test
