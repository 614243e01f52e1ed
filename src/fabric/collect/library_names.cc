// SPDX-License-Identifier: Apache-2.0
#include "fabric/collect/library_names.h"

#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <string_view>

#include "base/directory.h"
#include "base/text.h"

namespace muster {

namespace {

constexpr size_t kMaxNames = 256;
constexpr time_t kSettled = 2;  // seconds

std::vector<std::string> list(const std::string& directory) {
  std::vector<std::string> names;
  for (std::string& name : names_in(directory)) {
    if (!name.starts_with("libnccl") && !name.starts_with("librccl") &&
        !name.starts_with("libcudart") && !name.starts_with("python3")) {
      continue;
    }
    names.push_back(std::move(name));
    if (names.size() == kMaxNames) break;
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Its time stamp has no finer steps than the kernel's clock: what changed just
// now may change again without another stamp.
bool is_settled(const std::string& directory) {
  struct stat info {};
  return ::stat(directory.c_str(), &info) == 0 &&
         info.st_mtim.tv_sec + kSettled < ::time(nullptr);
}

}  // namespace

std::vector<std::string> library_names(const std::string& directory,
                                       KnownFiles& known) {
  if (const auto names = known.find(directory)) {
    std::vector<std::string> out;
    for (const auto name : split(*names, '/')) {
      if (!name.empty()) out.emplace_back(name);
    }
    return out;
  }
  auto names = list(directory);
  if (is_settled(directory)) known.remember(directory, join(names, "/"));
  return names;
}

}  // namespace muster
