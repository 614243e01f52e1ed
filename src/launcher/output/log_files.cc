// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/log_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace muster {

namespace {

std::string numbered(const std::string& path, int number) {
  return number == 0 ? path : path + "." + std::to_string(number);
}

}  // namespace

LogFiles::LogFiles(std::string directory, LogRotation rotation)
    : directory_(std::move(directory)), rotation_(rotation) {}

int LogFiles::descriptor_for(const std::string& name, std::string_view bytes) {
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
  return entry.file.get();
}

void LogFiles::open(Entry& entry) {
  entry.size = 0;
  entry.file.reset(::open(entry.path.c_str(),
                          O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (entry.file) return;
  entry.broken = true;
  words_.push_back(entry.path + ": cannot write the log file: " +
                   strerror(errno) + ". Its lines are on stdout only");
}

void LogFiles::rotate(Entry& entry) {
  const std::string oldest = numbered(entry.path, rotation_.older);
  if (::unlink(oldest.c_str()) == 0 && !removal_told_) {
    removal_told_ = true;
    words_.push_back(
        oldest + " was removed: of each rank's output the newest " +
        std::to_string(rotation_.older + 1) + " files are kept (--log-rotate)");
  }
  for (int i = rotation_.older; i > 0; --i) {
    const std::string older = numbered(entry.path, i);
    if (::rename(numbered(entry.path, i - 1).c_str(), older.c_str()) == 0 ||
        i > 1) {
      continue;
    }
    words_.push_back(entry.path + ": cannot rotate the log file: " +
                     strerror(errno) + ". It keeps growing");
    entry.broken = true;
    return;
  }
  open(entry);
}

void LogFiles::failed(const std::string& name, int error) {
  Entry& entry = entries_[name];
  entry.file.reset();
  entry.broken = true;
  words_.push_back(entry.path +
                   ": cannot write rank output: " + strerror(error) +
                   ". Further output to it is lost; the job goes on");
}

std::vector<std::string> LogFiles::take_words() {
  return std::exchange(words_, {});
}

}  // namespace muster
