// SPDX-License-Identifier: Apache-2.0
#include "fabric/collect/loader_search.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <deque>

#include "base/directory.h"
#include "base/fd.h"
#include "base/text.h"
#include "fabric/collect/sys_files.h"

namespace muster {

namespace {

constexpr size_t kMostDirectories = 256;
constexpr size_t kMostLibraries = 300;

std::string directory_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// Absolute directories of "a:b"; $ORIGIN is that of the file.
std::vector<std::string> directories(const std::string& list,
                                     const std::string& origin) {
  std::vector<std::string> out;
  for (const auto entry : split(list, ':')) {
    std::string directory(entry);
    for (const std::string word : {"$ORIGIN", "${ORIGIN}"}) {
      const size_t at = directory.find(word);
      if (at != directory.npos) directory.replace(at, word.size(), origin);
    }
    if (directory.starts_with('/')) out.push_back(std::move(directory));
    if (out.size() == kMostDirectories) break;
  }
  return out;
}

void add_lines(const std::string& file, std::vector<std::string>& out) {
  const SysText text = read_sys(file);
  for (const auto line : split(text.text, '\n')) {
    if (trim(line).starts_with('/')) out.emplace_back(trim(line));
  }
}

}  // namespace

std::vector<std::string> configured_directories(const std::string& root) {
  std::vector<std::string> out;
  add_lines(root + "/etc/ld.so.conf", out);
  const std::string parts = root + "/etc/ld.so.conf.d";
  std::vector<std::string> files = names_in(parts);
  std::erase_if(files, [](auto& name) { return !name.ends_with(".conf"); });
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) add_lines(parts + "/" + file, out);
  return out;
}

LoaderSearch::LoaderSearch(std::string root, const std::string& ld_library_path)
    : root_(std::move(root)),
      users_(directories(ld_library_path, "")),
      system_(configured_directories(root_)) {
  for (const char* usual :
       {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
        "/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib64",
        "/usr/lib64", "/lib", "/usr/lib"}) {
    system_.emplace_back(usual);
  }
}

std::optional<DynamicNames> LoaderSearch::names_of(
    const std::string& path) const {
  const UniqueFd fd(
      ::open((root_ + path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  return fd ? dynamic_names(fd.get()) : std::nullopt;
}

std::optional<LoadedFrom> LoaderSearch::find(const std::string& name,
                                             const std::string& by) const {
  DynamicNames own;
  if (!by.empty()) own = names_of(by).value_or(DynamicNames{});
  return find_for(own, by, name);
}

std::optional<LoadedFrom> LoaderSearch::find_for(
    const DynamicNames& own, const std::string& by,
    const std::string& name) const {
  const auto in = [&](const std::vector<std::string>& places,
                      const std::string& why) -> std::optional<LoadedFrom> {
    for (const std::string& place : places) {
      const std::string path = place + "/" + name;
      if (::access((root_ + path).c_str(), R_OK) == 0) {
        return LoadedFrom{path, why};
      }
    }
    return std::nullopt;
  };
  const std::string origin = directory_of(by);
  if (own.runpath.empty()) {
    if (auto found =
            in(directories(own.rpath, origin), "RPATH of " + base_name(by))) {
      return found;
    }
  }
  if (auto found = in(users_, "LD_LIBRARY_PATH")) return found;
  if (auto found =
          in(directories(own.runpath, origin), "RUNPATH of " + base_name(by))) {
    return found;
  }
  return in(system_, "the system's library path");
}

std::map<std::string, LoadedFrom> LoaderSearch::all_needed(
    const std::string& program) const {
  std::map<std::string, LoadedFrom> out;
  std::deque<std::string> open{program};
  while (!open.empty() && out.size() < kMostLibraries) {
    const std::string by = open.front();
    open.pop_front();
    const auto names = names_of(by);
    if (!names) continue;
    for (const std::string& needed : names->needed) {
      if (out.count(needed) > 0) continue;  // the linker loads it once
      auto found = find_for(*names, by, needed);
      if (!found) continue;
      open.push_back(found->path);
      out.emplace(needed, std::move(*found));
    }
  }
  return out;
}

}  // namespace muster
