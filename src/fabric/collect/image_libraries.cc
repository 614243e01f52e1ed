// SPDX-License-Identifier: Apache-2.0
#include "fabric/collect/image_libraries.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "base/directory.h"
#include "base/fd.h"
#include "base/text.h"
#include "fabric/collect/elf_data.h"
#include "fabric/collect/library_names.h"
#include "fabric/collect/loader_search.h"
#include "fabric/collect/sys_files.h"
#include "fabric/facts/nccl_version.h"

namespace muster {

namespace {

constexpr size_t kMaxSearchPath = 64;

// Where wheels put their libraries below …/site-packages/nvidia.
constexpr const char* kWheelParts[] = {"/nccl/lib", "/cuda_runtime/lib",
                                       "/cu13/lib"};
constexpr const char* kWheelPrefixes[] = {"/usr/local/lib", "/usr/local/lib64",
                                          "/usr/lib",       "/usr/lib64",
                                          "/opt/conda/lib", "/opt/venv/lib"};
constexpr const char* kUsual[] = {"/usr/local/cuda/lib64",
                                  "/lib64",
                                  "/usr/lib64",
                                  "/usr/lib",
                                  "/usr/local/lib",
                                  "/lib/x86_64-linux-gnu",
                                  "/lib/aarch64-linux-gnu",
                                  "/usr/lib/x86_64-linux-gnu",
                                  "/usr/lib/aarch64-linux-gnu",
                                  "/opt/conda/lib",
                                  "/opt/rocm/lib",
                                  "/opt/amazon/ofi-nccl/lib",
                                  "/opt/amazon/ofi-nccl/lib64",
                                  "/opt/aws-ofi-nccl/lib",
                                  "/usr/local/gib/lib64",
                                  "/usr/local/nvidia/lib64",
                                  "/opt/hpcx/nccl_rdma_sharp_plugin/lib"};

// Finds directories by their place in the search, each inode once.
class Search {
 public:
  Search(std::string root, KnownFiles& known)
      : root_(std::move(root)), known_(known) {}

  void visit(const std::string& directory) {
    struct stat status {};
    const std::string path = root_ + directory;
    if (::stat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return;
    if (!seen_.insert({status.st_dev, status.st_ino}).second) return;
    auto names = library_names(path, known_);
    std::erase_if(names, [](auto& name) { return !name.starts_with("lib"); });
    if (!names.empty()) found_.push_back({path, std::move(names)});
  }

  void visit_configured() {
    for (const std::string& directory : configured_directories(root_)) {
      visit(directory);
    }
  }

  void visit_wheels(const std::string& prefix) {
    for (const std::string& name : library_names(root_ + prefix, known_)) {
      if (!name.starts_with("python3")) continue;
      for (const char* packages : {"/site-packages", "/dist-packages"}) {
        const std::string here = prefix + "/" + name + packages;
        visit(here + "/torch/lib");  // RCCL in wheels for ROCm
        const std::string wheels = here + "/nvidia";
        if (::access((root_ + wheels).c_str(), F_OK) != 0) continue;
        for (const char* part : kWheelParts) visit(wheels + part);
      }
    }
  }

  ImageLibraries take() { return std::move(found_); }

 private:
  std::string root_;
  KnownFiles& known_;
  std::set<std::pair<dev_t, ino_t>> seen_;
  ImageLibraries found_;
};

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
std::string version_of_name(const LibraryDirectory& directory,
                            const std::string& prefix) {
  for (const std::string& name : directory.names) {
    if (!name.starts_with(prefix)) continue;
    if (auto v = version_behind(name, prefix, 2); !v.empty()) return v;
    const std::string path = directory.path + "/" + name;
    std::error_code ignored;
    if (!std::filesystem::is_symlink(path, ignored)) continue;
    const auto real = std::filesystem::canonical(path, ignored);
    auto v = version_behind(real.filename().string(), prefix, 2);
    if (!v.empty()) return v;
  }
  return "";
}

// DIR is …/site-packages/nvidia/nccl/lib; the wheel's metadata lies at
// …/site-packages/nvidia_nccl_cu12-2.21.5.dist-info.
std::string version_of_wheel(const std::string& directory,
                             const std::string& wheel) {
  if (directory.find("/nvidia/") == std::string::npos) return "";
  const std::string pattern =
      directory + "/../../../" + wheel + "*-*.dist-info";
  glob_t found{};
  std::string path;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    path = found.gl_pathv[0];
  }
  ::globfree(&found);
  const std::string name = std::filesystem::path(path).stem().string();
  const size_t dash = name.rfind('-');
  return dash == std::string::npos ? "" : name.substr(dash + 1);
}

// One library family: how its files and its wheels are called.
struct Family {
  std::string prefix;  // "libnccl.so."
  std::string wheel;   // "nvidia_nccl_cu"
  // The text before "2.21.5" inside the library; "" if it has none.
  std::string marker;
  bool named = true;  // the version is in the file's name
};

// The digits behind the marker; RCCL has " : " between. `whole`: nothing
// follows the window. Leaves a version that is cut off at its end for the next
// one.
std::string version_in(std::string& window, const std::string& marker,
                       bool whole) {
  constexpr size_t kOverlap = 64;
  size_t at = window.find(marker);
  while (at != std::string::npos && (whole || at + kOverlap < window.size())) {
    const size_t start = window.find_first_not_of(" :", at + marker.size());
    const size_t end = window.find_first_not_of("0123456789.", start);
    if (start != std::string::npos && end > start) {
      return window.substr(start, end - start);
    }
    at = window.find(marker, at + 1);  // that was "NCCL version %s"
  }
  if (window.size() > kOverlap) {
    window.erase(0, at != std::string::npos ? at : window.size() - kOverlap);
  }
  return "";
}

// Of a library only its constant texts are read, of another file its
// beginning: librccl.so can be a gigabyte, nearly all of it code for GPUs.
std::string version_inside(const std::string& path, const Family& family) {
  constexpr uint64_t kChunk = 1 << 20;
  uint64_t budget = 128 << 20;
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return "";
  const auto sections = constant_sections(fd.get());
  std::string chunk(kChunk, '\0');
  for (auto [offset, left] :
       sections.value_or(std::vector<ByteRange>{{0, budget}})) {
    std::string window;
    while (left > 0 && budget > 0) {
      const uint64_t want = std::min({kChunk, left, budget});
      const ssize_t n =
          ::pread(fd.get(), chunk.data(), want, static_cast<off_t>(offset));
      if (n <= 0) break;
      const auto got = static_cast<uint64_t>(n);
      window.append(chunk, 0, got);
      offset += got;
      left -= got;
      budget -= got;
      const bool whole = left == 0 || budget == 0 || got < want;
      if (auto v = version_in(window, family.marker, whole); !v.empty()) {
        return v;
      }
    }
  }
  return "";
}

// Metadata and contents are looked at once for each state of the library.
std::string version_slowly(const Family& family,
                           const LibraryDirectory& directory,
                           KnownFiles& known) {
  const auto library =
      std::find_if(directory.names.begin(), directory.names.end(),
                   [&](auto& name) { return name.starts_with(family.prefix); });
  if (library == directory.names.end()) return "";
  const std::string path = directory.path + "/" + *library;
  if (const auto answer = known.find(path)) return *answer;
  std::string version = family.wheel.empty()
                            ? ""
                            : version_of_wheel(directory.path, family.wheel);
  if (version.empty() && !family.marker.empty()) {
    version = version_inside(path, family);
  }
  known.remember(path, version);
  return version;
}

std::string version_of(const Family& family, const ImageLibraries& libraries,
                       KnownFiles& known) {
  for (const LibraryDirectory& directory : libraries) {
    std::string version;
    if (family.named) version = version_of_name(directory, family.prefix);
    if (version.empty()) version = version_slowly(family, directory, known);
    if (!version.empty()) return version;
  }
  return "";
}

}  // namespace

ImageLibraries find_libraries(const std::string& root,
                              const std::string& ld_library_path,
                              KnownFiles& known) {
  Search search(root, known);
  size_t asked = 0;
  for (const auto directory : split(ld_library_path, ':')) {
    if (!directory.starts_with("/")) continue;
    if (++asked > kMaxSearchPath) break;
    search.visit(std::string(directory));
  }
  search.visit_configured();
  for (const char* usual : kUsual) search.visit(usual);
  for (const char* prefix : kWheelPrefixes) search.visit_wheels(prefix);
  return search.take();
}

std::string nccl_version(const ImageLibraries& libraries, KnownFiles& known) {
  const std::string version = version_of(
      {"libnccl.so.", "nvidia_nccl_cu", "NCCL version"}, libraries, known);
  if (parse_nccl_version(version)) return version;
  // librccl.so.1.0.60200: the numbers are those of ROCm.
  const std::string amds =
      version_of({"librccl.so", "", "RCCL version", false}, libraries, known);
  return parse_nccl_version(amds) ? "RCCL " + amds : "";
}

std::string cuda_runtime_version(const ImageLibraries& libraries,
                                 KnownFiles& known) {
  const std::string version = version_of(
      {"libcudart.so.", "nvidia_cuda_runtime", ""}, libraries, known);
  const auto parts = split(version, '.');
  if (parts.size() < 2) return "";
  return std::string(parts[0]) + "." + std::string(parts[1]);
}

namespace {

std::string version_of_file(const std::string& path, Family family,
                            KnownFiles& known) {
  const size_t slash = path.rfind('/');
  LibraryDirectory only{path.substr(0, slash), {path.substr(slash + 1)}};
  family.prefix = only.names[0].substr(0, only.names[0].find(".so") + 3);
  if (only.names[0].starts_with(family.prefix + ".")) family.prefix += '.';
  return version_of(family, {std::move(only)}, known);
}

}  // namespace

std::string nccl_version_of(const std::string& path, KnownFiles& known) {
  const std::string version =
      version_of_file(path, {"", "nvidia_nccl_cu", "NCCL version"}, known);
  return parse_nccl_version(version) ? version : "";
}

std::string named_version_of(const std::string& path, const std::string& wheel,
                             KnownFiles& known) {
  return version_of_file(path, {"", wheel, ""}, known);
}

}  // namespace muster
