// SPDX-License-Identifier: Apache-2.0
#include "worker/facts_libraries.h"

#include <fcntl.h>
#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>

#include "base/fd.h"
#include "base/library_names.h"
#include "base/text.h"

namespace muster {

namespace {

std::vector<std::string> expand(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> out;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    out.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  ::globfree(&found);
  return out;
}

// "2.21.5" of "libnccl.so.2.21.5"; "" unless it has `parts` numbers or more.
std::string version_behind(std::string_view name, std::string_view prefix,
                           size_t parts) {
  if (!name.starts_with(prefix)) return "";
  const auto numbers = split(name.substr(prefix.size()), '.');
  if (numbers.size() < parts) return "";
  for (const auto number : numbers) {
    if (!parse_integer(number)) return "";
  }
  return std::string(name.substr(prefix.size()));
}

// The version in a file name, of the file itself or of what it links to.
std::string version_of_file(const std::string& directory,
                            const std::string& prefix, KnownFiles& known) {
  for (const std::string& name : library_names(directory, known)) {
    if (!name.starts_with(prefix)) continue;
    if (auto version = version_behind(name, prefix, 2); !version.empty()) {
      return version;
    }
    std::error_code ignored;
    const auto real =
        std::filesystem::canonical(directory + "/" + name, ignored);
    if (auto version = version_behind(real.filename().string(), prefix, 2);
        !version.empty()) {
      return version;
    }
  }
  return "";
}

// By name: a directory of libraries has thousands of entries, and is listed
// only if it has one of these.
bool any_in(const std::string& directory,
            const std::vector<std::string>& names) {
  return std::any_of(
      names.begin(), names.end(), [&directory](const std::string& name) {
        return ::access((directory + "/" + name).c_str(), F_OK) == 0;
      });
}

// DIR is …/site-packages/nvidia/nccl/lib; the wheel's metadata lies at
// …/site-packages/nvidia_nccl_cu12-2.21.5.dist-info.
std::string version_of_wheel(const std::string& directory,
                             const std::string& wheel) {
  if (directory.find("/nvidia/") == std::string::npos) return "";
  for (const std::string& path :
       expand(directory + "/../../../" + wheel + "*-*.dist-info")) {
    const std::string name = std::filesystem::path(path).stem().string();
    const size_t dash = name.rfind('-');
    if (dash != std::string::npos) return name.substr(dash + 1);
  }
  return "";
}

// The digits behind "NCCL version " inside the library.
std::string version_inside(const std::string& path) {
  constexpr std::string_view kMarker = "NCCL version 2.";
  constexpr size_t kChunk = 1 << 20;
  constexpr size_t kOverlap = 64;
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return "";
  std::string window;
  std::string chunk(kChunk, '\0');
  for (;;) {
    const ssize_t n = ::read(fd.get(), chunk.data(), chunk.size());
    if (n <= 0) return "";
    window.append(chunk, 0, static_cast<size_t>(n));
    const size_t at = window.find(kMarker);
    if (at != std::string::npos && at + kOverlap < window.size()) {
      const size_t start = at + kMarker.size() - 2;
      size_t end = window.find_first_not_of("0123456789.", start);
      return window.substr(start, end - start);
    }
    if (window.size() > kOverlap) {
      window.erase(0, at != std::string::npos ? at : window.size() - kOverlap);
    }
  }
}

void add_configured(std::vector<std::string>& out, const std::string& root) {
  std::vector<std::string> files = expand(root + "/etc/ld.so.conf.d/*.conf");
  files.insert(files.begin(), root + "/etc/ld.so.conf");
  for (const std::string& file : files) {
    const auto text = read_file(file);
    if (!text) continue;
    for (const auto line : split(*text, '\n')) {
      if (trim(line).starts_with("/")) {
        out.push_back(root + std::string(trim(line)));
      }
    }
  }
}

}  // namespace

std::vector<std::string> library_directories(
    const std::string& root, const std::string& ld_library_path) {
  std::vector<std::string> out;
  for (const auto directory : split(ld_library_path, ':')) {
    if (directory.starts_with("/"))
      out.push_back(root + std::string(directory));
  }
  add_configured(out, root);
  for (const char* usual :
       {"/usr/local/cuda/lib64", "/lib64", "/usr/lib64", "/usr/lib",
        "/usr/local/lib", "/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu",
        "/opt/conda/lib"}) {
    out.push_back(root + usual);
  }
  for (const char* prefix : {"/usr/local/lib", "/usr/local/lib64", "/usr/lib",
                             "/usr/lib64", "/opt/conda/lib", "/opt/venv/lib"}) {
    for (const auto& wheels :
         expand(root + prefix + "/python3*/*-packages/nvidia")) {
      out.push_back(wheels + "/nccl/lib");
      out.push_back(wheels + "/cuda_runtime/lib");
    }
  }
  return out;
}

std::string nccl_version(const std::vector<std::string>& directories,
                         KnownFiles& known) {
  static const std::vector<std::string> kNames = {"libnccl.so.2", "libnccl.so"};
  for (const std::string& directory : directories) {
    if (!any_in(directory, kNames)) continue;
    if (auto v = version_of_file(directory, "libnccl.so.", known); !v.empty()) {
      return v;
    }
    if (auto v = version_of_wheel(directory, "nvidia_nccl_cu"); !v.empty()) {
      return v;
    }
    const std::string library = directory + "/libnccl.so.2";
    std::optional<std::string> inside = known.find(library);
    if (!inside) {
      inside = version_inside(library);
      known.remember(library, *inside);
    }
    if (!inside->empty()) return *inside;
  }
  return "";
}

std::string cuda_runtime_version(const std::vector<std::string>& directories,
                                 KnownFiles& known) {
  static const std::vector<std::string> kNames = {
      "libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0",
      "libcudart.so.10.2", "libcudart.so"};
  for (const std::string& directory : directories) {
    if (!any_in(directory, kNames)) continue;
    std::string version = version_of_file(directory, "libcudart.so.", known);
    if (version.empty()) {
      version = version_of_wheel(directory, "nvidia_cuda_runtime_cu");
    }
    const auto parts = split(version, '.');
    if (parts.size() >= 2) {
      return std::string(parts[0]) + "." + std::string(parts[1]);
    }
  }
  return "";
}

}  // namespace muster
