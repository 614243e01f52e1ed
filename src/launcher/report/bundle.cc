// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/bundle.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <vector>

#include "base/directory.h"
#include "base/fd.h"
#include "launcher/report/kept_logs.h"

namespace muster {

namespace {

namespace fs = std::filesystem;

constexpr auto kKept = std::chrono::hours(24);
// For a launch without a report: it may run, and be silent for long.
constexpr auto kUnfinishedKept = std::chrono::hours(7 * 24);
constexpr const char* kPrefix = "muster-launch-";

// The time of the last write in it.
fs::file_time_type newest_in(const fs::path& folder) {
  std::error_code error;
  fs::file_time_type newest = fs::last_write_time(folder, error);
  for (fs::recursive_directory_iterator at(folder, error), end;
       !error && at != end; at.increment(error)) {
    std::error_code gone;
    if (at->is_symlink(gone)) continue;
    const auto time = fs::last_write_time(at->path(), gone);
    if (!gone) newest = std::max(newest, time);
  }
  return newest;
}

// Only our own, oldest first.
void prune(const fs::path& directory, const fs::path& newest) {
  const auto now = fs::file_time_type::clock::now();
  std::vector<std::pair<fs::file_time_type, fs::path>> finished;
  std::error_code error;
  for (const std::string& name : names_in(directory.string())) {
    const fs::path path = directory / name;
    if (!name.starts_with(kPrefix) || path == newest ||
        fs::is_symlink(path, error) || !fs::is_directory(path, error)) {
      continue;
    }
    const auto time = newest_in(path);
    if (fs::exists(path / "report.json", error)) {
      finished.emplace_back(time, path);
    } else if (time < now - kUnfinishedKept) {
      fs::remove_all(path, error);
    }
  }
  std::sort(finished.begin(), finished.end());
  const size_t excess =
      finished.size() + 1 > kMaxBundles ? finished.size() + 1 - kMaxBundles : 0;
  for (size_t i = 0; i < finished.size(); ++i) {
    if (i < excess || finished[i].first < now - kKept) {
      fs::remove_all(finished[i].second, error);
    }
  }
}

}  // namespace

std::string bundle_folder(const std::string& directory,
                          const std::string& launch_id) {
  return (fs::path(directory) / (kPrefix + launch_id)).string();
}

Result<Bundle> write_bundle(const std::string& directory,
                            const LaunchReport& report,
                            const std::string& log_directory) {
  const fs::path folder = bundle_folder(directory, report.launch_id);
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
      {"verdict.txt", verdict_text(report.verdict)},
      {"plan.json", report.plan},
      {"facts.json", report.facts}};
  for (const auto& [name, text] : files) {
    if (text.empty()) continue;  // the launch failed before
    if (auto written = write_file_atomically((folder / name).string(), text);
        !written) {
      return fail(written.error());
    }
  }
  Bundle bundle{folder.string(), {}};
  if (!log_directory.empty()) {
    bundle.left_out = keep_logs(log_directory, (folder / "logs").string());
  }
  prune(directory, folder);
  return bundle;
}

}  // namespace muster
