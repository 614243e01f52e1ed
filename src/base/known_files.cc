// SPDX-License-Identifier: Apache-2.0
#include "base/known_files.h"

#include <sys/stat.h>

#include "base/text.h"

namespace muster {

namespace {

bool is_plain(std::string_view text) {
  return text.find_first_of("\t\n") == std::string_view::npos;
}

}  // namespace

std::string file_state(const std::string& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) return "";
  return std::to_string(file.st_dev) + ":" + std::to_string(file.st_ino) + ":" +
         std::to_string(file.st_size) + ":" +
         std::to_string(file.st_mtim.tv_sec) + "." +
         std::to_string(file.st_mtim.tv_nsec);
}

KnownFiles KnownFiles::parse(std::string_view text) {
  KnownFiles out;
  for (const std::string_view line : split(text, '\n')) {
    const auto fields = split(line, '\t');
    if (fields.size() != 3) continue;
    out.entries_[std::string(fields[0])] = {std::string(fields[1]),
                                            std::string(fields[2])};
  }
  return out;
}

std::string KnownFiles::text() const {
  std::string out;
  for (const auto& [path, entry] : entries_) {
    out += path + '\t' + entry.state + '\t' + entry.answer + '\n';
  }
  return out;
}

std::optional<std::string> KnownFiles::find(const std::string& path) const {
  const auto entry = entries_.find(path);
  if (entry == entries_.end() || entry->second.state != file_state(path)) {
    return std::nullopt;
  }
  return entry->second.answer;
}

void KnownFiles::remember(const std::string& path, const std::string& answer) {
  const std::string state = file_state(path);
  if (state.empty() || !is_plain(path) || !is_plain(answer)) return;
  entries_[path] = {state, answer};
}

}  // namespace muster
