// SPDX-License-Identifier: Apache-2.0
// A directory for one test case, removed with all that is in it.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace muster {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = "/tmp/muster-test-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  [[nodiscard]] std::string at(const std::string& name) const {
    return path_ + "/" + name;
  }
  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path full = at(name);
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full, std::ios::binary) << text;
  }
  void link(const std::string& name, const std::string& target) const {
    const std::filesystem::path full = at(name);
    std::filesystem::create_directories(full.parent_path());
    std::filesystem::create_symlink(target, full);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace muster
