// SPDX-License-Identifier: Apache-2.0
#include "doctor/path_marks.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/directory.h"
#include "base/fd.h"

namespace muster {

namespace {

constexpr size_t kMostMarks = 4096;

bool is_word(const std::string& text) {
  return !text.empty() && text.size() <= 64 &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  (c >= '0' && c <= '9') || c == '-';
         });
}

std::string prefix_of(const MarkRequest& request) {
  return ".muster-doctor-" + request.id + "-";
}

std::vector<std::string> list(const std::string& directory,
                              const std::string& prefix) {
  std::vector<std::string> pods;
  for (const std::string& name : names_in(directory)) {
    if (!name.starts_with(prefix) || pods.size() >= kMostMarks) continue;
    pods.push_back(name.substr(prefix.size()));
  }
  std::sort(pods.begin(), pods.end());
  return pods;
}

}  // namespace

bool parse_mark(const std::string& text, MarkRequest& request) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos) return false;
  const std::string step = text.substr(0, colon);
  request.id = text.substr(colon + 1);
  request.step = step == "leave"    ? MarkStep::kLeave
                 : step == "list"   ? MarkStep::kList
                 : step == "remove" ? MarkStep::kRemove
                                    : MarkStep::kNone;
  return request.step != MarkStep::kNone && is_word(request.id);
}

std::vector<std::string> do_mark(const MarkRequest& request,
                                 const std::string& directory,
                                 const std::string& pod) {
  const std::string prefix = prefix_of(request);
  const std::string own = directory + "/" + prefix + pod;
  if (request.step == MarkStep::kList) return list(directory, prefix);
  if (request.step == MarkStep::kRemove) ::unlink(own.c_str());
  if (request.step == MarkStep::kLeave) {
    const UniqueFd file(
        ::open(own.c_str(), O_CREAT | O_WRONLY | O_EXCL | O_CLOEXEC, 0644));
  }
  return {};
}

}  // namespace muster
