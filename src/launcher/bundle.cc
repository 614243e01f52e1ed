// SPDX-License-Identifier: Apache-2.0
#include "launcher/bundle.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <vector>

#include "base/fd.h"

namespace muster {

namespace {

namespace fs = std::filesystem;

constexpr auto kKept = std::chrono::hours(24);
constexpr const char* kPrefix = "muster-launch-";

// Ours and no others', oldest first.
void prune(const fs::path& directory, const fs::path& newest) {
  std::vector<std::pair<fs::file_time_type, fs::path>> all;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix) || entry.path() == newest ||
        entry.is_symlink(error) || !entry.is_directory(error)) {
      continue;
    }
    all.emplace_back(entry.last_write_time(error), entry.path());
  }
  std::sort(all.begin(), all.end());
  const auto limit = fs::file_time_type::clock::now() - kKept;
  const size_t excess =
      all.size() + 1 > kMaxBundles ? all.size() + 1 - kMaxBundles : 0;
  for (size_t i = 0; i < all.size(); ++i) {
    if (i < excess || all[i].first < limit)
      fs::remove_all(all[i].second, error);
  }
}

}  // namespace

Result<std::string> write_bundle(const std::string& directory,
                                 const LaunchReport& report) {
  const fs::path folder = fs::path(directory) / (kPrefix + report.launch_id);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    return fail(Error{"bundle", "cannot make the folder of --bundle",
                      error.message(), folder.string(),
                      "Name a directory that can be written."});
  }
  const std::pair<const char*, std::string> files[] = {
      {"report.json", to_json(report)},
      {"evidence.json", to_json(report.evidence) + "\n"},
      {"verdict.txt", verdict_text(report.verdict)}};
  for (const auto& [name, text] : files) {
    if (auto written = write_file_atomically((folder / name).string(), text);
        !written) {
      return fail(written.error());
    }
  }
  prune(directory, folder);
  return folder.string();
}

}  // namespace muster
