// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/log_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/log.h"

namespace muster {

namespace {

std::string numbered(const std::string& path, int number) {
  return number == 0 ? path : path + "." + std::to_string(number);
}

}  // namespace

LogFiles::LogFiles(std::string directory, LogRotation rotation)
    : directory_(std::move(directory)), rotation_(rotation) {}

LogFiles::File LogFiles::file_for(const std::string& name,
                                  std::string_view bytes) {
  const auto [found, is_new] = entries_.try_emplace(name);
  Entry& entry = found->second;
  if (is_new) {
    entry.path = directory_ + "/" + name;
    open(entry);
  } else if (rotation_.bytes > 0 && entry.line_ended && !entry.broken &&
             entry.size > 0 && entry.size + bytes.size() > rotation_.bytes) {
    rotate(entry);
  }
  entry.size += bytes.size();
  if (!bytes.empty()) entry.line_ended = bytes.back() == '\n';
  return entry.file;
}

void LogFiles::open(Entry& entry) {
  UniqueFd fd(::open(entry.path.c_str(),
                     O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!fd) {
    log::warn("{}: cannot write the log file: {}. Its lines are on stdout only",
              entry.path, strerror(errno));
    entry.broken = true;
    entry.file = nullptr;
    return;
  }
  entry.size = 0;
  entry.file = std::make_shared<UniqueFd>(std::move(fd));
}

// Whatever is still queued for the file goes on into it under its new name.
void LogFiles::rotate(Entry& entry) {
  const std::string oldest = numbered(entry.path, rotation_.older);
  if (::unlink(oldest.c_str()) == 0 && !removal_told_) {
    removal_told_ = true;
    log::warn(
        "{} was removed: of each rank's output the newest {} files are kept "
        "(--log-rotate)",
        oldest, rotation_.older + 1);
  }
  for (int i = rotation_.older; i > 0; --i) {
    const std::string older = numbered(entry.path, i);
    if (::rename(numbered(entry.path, i - 1).c_str(), older.c_str()) == 0 ||
        i > 1) {
      continue;
    }
    log::warn("{}: cannot rotate the log file: {}. It goes on growing",
              entry.path, strerror(errno));
    entry.broken = true;
    return;
  }
  rotated_.erase(
      std::remove_if(rotated_.begin(), rotated_.end(),
                     [](const auto& old) { return old.second.expired(); }),
      rotated_.end());
  rotated_.emplace_back(entry.path, entry.file);
  open(entry);
}

std::string LogFiles::failed(int fd) {
  for (auto& [name, entry] : entries_) {
    if (entry.file && entry.file->get() == fd) {
      entry.broken = true;
      return entry.path;
    }
  }
  for (const auto& [path, weak] : rotated_) {
    const File file = weak.lock();
    if (!file || file->get() != fd) continue;
    kept_.push_back(file);
    return path;
  }
  return "";
}

}  // namespace muster
