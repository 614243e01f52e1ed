// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/kept_logs.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/text.h"
#include "launcher/output/log_folder.h"

namespace muster {

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> log_files(const fs::path& from, std::error_code& error) {
  std::vector<fs::path> out;
  for (fs::directory_iterator at(from, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code unknown;
    if (is_log_file(at->path().filename().string()) &&
        at->is_regular_file(unknown)) {
      out.push_back(at->path());
    }
  }
  return out;
}

bool link_all(const std::vector<fs::path>& files, const fs::path& to) {
  std::error_code error;
  for (const fs::path& file : files) {
    fs::create_hard_link(file, to / file.filename(), error);
    if (error) return false;
  }
  return true;
}

// The last `share` bytes at most, from the start of a line.
bool copy_end(const fs::path& from, const fs::path& to, size_t share,
              bool& cut) {
  std::error_code error;
  const auto size = fs::file_size(from, error);
  if (error) return false;
  cut = size > share;
  if (!cut) return fs::copy_file(from, to, error);
  std::ifstream in(from, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(size - share));
  std::string text(share, '\0');
  in.read(text.data(), static_cast<std::streamsize>(share));
  text.resize(static_cast<size_t>(in.gcount()));
  if (const size_t line = text.find('\n'); line + 1 < text.size()) {
    text.erase(0, line + 1);
  }
  std::ofstream out(to, std::ios::binary);
  out << text;
  out.close();
  return !in.bad() && !out.fail();
}

}  // namespace

std::string keep_logs(const std::string& from, const std::string& to,
                      size_t most) {
  std::error_code error;
  fs::create_directory(to, error);
  const auto files = log_files(from, error);
  if (error) {
    return "the bundle lacks the logs of " + from + ": " + error.message();
  }
  if (files.empty() || link_all(files, to)) return "";
  fs::remove_all(to, error);  // those that could be linked
  fs::create_directory(to, error);
  const size_t share = most / files.size();
  size_t shortened = 0;
  size_t failed = 0;
  for (const fs::path& file : files) {
    bool cut = false;
    if (!copy_end(file, fs::path(to) / file.filename(), share, cut)) ++failed;
    if (cut) ++shortened;
  }
  const auto of_all = [&files](size_t count) {
    return std::to_string(count) + " of " + std::to_string(files.size());
  };
  if (failed > 0) {
    return "the bundle lacks " + of_all(failed) + " logs of " + from +
           ", which cannot be copied";
  }
  if (shortened == 0) return "";
  return "the bundle has only the last " + human_bytes(share) + " of " +
         of_all(shortened) + " logs of " + from + ", which could not be linked";
}

}  // namespace muster
