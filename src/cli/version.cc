// SPDX-License-Identifier: Apache-2.0
#include "cli/version.h"

#include <fcntl.h>
#include <gnu/libc-version.h>
#include <libssh/libssh.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>

#include "base/decimal.h"
#include "base/fd.h"
#include "base/json_text.h"
#include "base/self_path.h"
#include "base/text.h"
#include "cli/build_revision.h"
#include "fabric/collect/elf_data.h"
#include "wire/frame.h"

namespace muster {

namespace {

#ifdef __clang__
constexpr char kCompiler[] = __VERSION__;
#else
constexpr char kCompiler[] = "gcc " __VERSION__;
#endif

// "GLIBC_2.34" -> {2, 34}; {0, 0}: another library's, or GLIBC_PRIVATE.
std::pair<int64_t, int64_t> glibc_of(std::string_view need) {
  constexpr std::string_view kPrefix = "GLIBC_";
  if (!need.starts_with(kPrefix)) return {};
  const auto parts = split(need.substr(kPrefix.size()), '.');
  if (parts.size() < 2) return {};
  return {parse_integer(parts[0]).value_or(0),
          parse_integer(parts[1]).value_or(0)};
}

// What scripts/bundle-libs wrote: file, package, version.
std::map<std::string, BundledLibrary> recorded(const std::string& folder) {
  std::map<std::string, BundledLibrary> out;
  std::ifstream file(folder + "/packages.tsv");
  for (std::string line; std::getline(file, line);) {
    const auto parts = split(line, '\t');
    if (parts.size() != 3) continue;
    const std::string name(parts[0]);
    out[name] = {name, "", std::string(parts[1]), std::string(parts[2])};
  }
  return out;
}

std::optional<DynamicNames> names_of(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return fd ? dynamic_names(fd.get()) : std::nullopt;
}

void print_text(const Installation& here) {
  std::printf(
      "revision   %s\nbuild      %s, %s\npmix       %s\nverbs      %s\n"
      "protocol   %d, speaks with %d and later\nlibssh     %s\n"
      "glibc      %s or later; this is %s\n",
      MUSTER_REVISION, MUSTER_BUILD_TYPE, kCompiler,
      MUSTER_HAS_PMIX ? "yes" : "no", MUSTER_HAS_VERBS ? "yes" : "no",
      int{wire::kProtocol}, int{wire::kProtocolMin}, ssh_version(0),
      here.glibc.empty() ? "unknown" : here.glibc.c_str(),
      ::gnu_get_libc_version());
  if (here.libraries.empty()) {
    std::printf("libraries  all from this system\n");
    return;
  }
  std::printf("libraries  in %s\n", here.folder.c_str());
  for (const BundledLibrary& one : here.libraries) {
    const std::string from =
        one.package.empty() ? "of unknown origin" : one.package;
    std::printf("  %-28s %s %s\n",
                (one.soname.empty() ? one.file : one.soname).c_str(),
                from.c_str(), one.version.c_str());
  }
}

void append_member(std::string& out, const char* name, std::string_view value) {
  out += std::string(out.back() == '{' ? "" : ",") + "\"" + name + "\":";
  append_json_string(out, value);
}

std::string verbose_json(const Installation& here) {
  std::string out = "{";
  append_member(out, "revision", MUSTER_REVISION);
  append_member(out, "build", MUSTER_BUILD_TYPE);
  out += std::string(",\"pmix\":") + (MUSTER_HAS_PMIX ? "true" : "false") +
         ",\"verbs\":" + (MUSTER_HAS_VERBS ? "true" : "false");
  append_member(out, "glibc_needed", here.glibc);
  append_member(out, "glibc", ::gnu_get_libc_version());
  out += ",\"libraries\":[";
  for (const BundledLibrary& one : here.libraries) {
    std::string entry = "{";
    append_member(entry, "file", one.file);
    append_member(entry, "soname", one.soname);
    append_member(entry, "package", one.package);
    append_member(entry, "version", one.version);
    out += (out.back() == '[' ? "" : ",") + entry + "}";
  }
  return "," + out.substr(1) + "]";
}

void print_json(bool verbose) {
  std::string more;
  if (verbose) {
    more = verbose_json(
        installation_of(self_path(), agent_path().value_or(std::string())));
  }
  std::printf(
      "{\"muster\":\"%s\",\"protocol\":%d,\"protocol_min\":%d,"
      "\"libssh\":\"%s\",\"compiler\":\"%s\"%s}\n",
      MUSTER_VERSION, int{wire::kProtocol}, int{wire::kProtocolMin},
      ssh_version(0), __VERSION__, more.c_str());
}

}  // namespace

Installation installation_of(const std::string& program,
                             const std::string& agent) {
  Installation out;
  std::pair<int64_t, int64_t> highest;
  const auto look_at = [&highest](const std::string& path) {
    auto names = names_of(path).value_or(DynamicNames());
    for (const std::string& need : names.versions) {
      highest = std::max(highest, glibc_of(need));
    }
    return names.soname;
  };
  look_at(program);
  look_at(agent);
  std::error_code error;
  const auto folder =
      std::filesystem::path(program).parent_path().parent_path() / "lib" /
      "muster";
  const auto origins = recorded(folder.string());
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string file = entry.path().filename().string();
    if (file.find(".so") == std::string::npos) continue;
    const auto known = origins.find(file);
    BundledLibrary one =
        known == origins.end() ? BundledLibrary() : known->second;
    one.file = file;
    one.soname = look_at(entry.path().string());
    out.libraries.push_back(std::move(one));
  }
  std::sort(out.libraries.begin(), out.libraries.end(),
            [](const auto& a, const auto& b) { return a.file < b.file; });
  if (!out.libraries.empty()) out.folder = folder.string();
  if (highest.first > 0) {
    out.glibc =
        std::to_string(highest.first) + "." + std::to_string(highest.second);
  }
  return out;
}

int version_main(const std::vector<std::string>& args) {
  bool verbose = false;
  bool json = false;
  for (size_t i = 0; i < args.size(); ++i) {
    const bool output = args[i] == "-o" || args[i] == "--output";
    const std::string form = output && i + 1 < args.size() ? args[++i] : "";
    if (args[i] == "--verbose") {
      verbose = true;
    } else if (form == "text" || form == "json") {
      json = form == "json";
    } else {
      std::fprintf(stderr,
                   "muster version: usage is muster version [--verbose] "
                   "[-o text|json]\n");
      return 2;
    }
  }
  if (json) {
    print_json(verbose);
    return 0;
  }
  std::printf("muster %s\n", MUSTER_VERSION);
  if (verbose) {
    print_text(
        installation_of(self_path(), agent_path().value_or(std::string())));
  }
  return 0;
}

}  // namespace muster
