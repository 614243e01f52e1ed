// SPDX-License-Identifier: Apache-2.0
#include "fabric/collect/program_libraries.h"

#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/directory.h"
#include "base/text.h"
#include "fabric/collect/image_libraries.h"
#include "fabric/collect/loader_search.h"
#include "fabric/collect/python_path.h"

namespace muster {

namespace {

constexpr const char* kNccl = "NCCL";

struct Wanted {
  const char* name;
  const char* file;   // its name, or how it begins where a number follows
  const char* wheel;  // of pip's metadata
  std::vector<std::string> parts;  // below …/nvidia, where wheels put it
};

const std::vector<Wanted>& wanted() {
  static const std::vector<Wanted> kAll = {
      {kNccl, "libnccl.so.2", "nvidia_nccl_cu", {"/nccl/lib"}},
      {"CUDA runtime",
       "libcudart.so.",
       "nvidia_cuda_runtime",
       {"/cuda_runtime/lib", "/cu13/lib"}},
      {"cuDNN", "libcudnn.so.", "nvidia_cudnn_cu", {"/cudnn/lib"}},
      {"libfabric", "libfabric.so.1", "", {}}};
  return kAll;
}

class Finder {
 public:
  Finder(const std::string& root, KnownFiles& known, const ProgramFile& file)
      : root_(root),
        known_(known),
        file_(file),
        loader_(root, value("LD_LIBRARY_PATH")) {}

  std::vector<ProgramLibrary> compiled();
  std::vector<ProgramLibrary> of_python(const PythonPlace& place);

 private:
  [[nodiscard]] std::string value(const char* name) const {
    const std::string* found = find_env(file_.env, name);
    return found != nullptr ? *found : "";
  }
  [[nodiscard]] bool has(const std::string& path) const {
    return ::access((root_ + path).c_str(), R_OK) == 0;
  }
  // The file itself, or the first in `directory` that begins so.
  [[nodiscard]] std::string in(const std::string& directory,
                               const std::string& file) const;
  [[nodiscard]] ProgramLibrary made(const Wanted& one, const std::string& path,
                                    std::string why) const;
  [[nodiscard]] std::optional<ProgramLibrary> preloaded(
      const Wanted& one) const;
  [[nodiscard]] std::optional<ProgramLibrary> of_torch(
      const Wanted& one, const std::string& packages) const;
  [[nodiscard]] std::optional<ProgramLibrary> of_wheel(
      const Wanted& one, const std::string& packages) const;
  [[nodiscard]] std::optional<ProgramLibrary> opened(const Wanted& one) const;

  std::string root_;
  KnownFiles& known_;
  const ProgramFile& file_;
  LoaderSearch loader_;
};

std::string Finder::in(const std::string& directory,
                       const std::string& file) const {
  if (!file.ends_with('.')) {
    return has(directory + "/" + file) ? directory + "/" + file : "";
  }
  std::string best;
  for (const std::string& name : names_in(root_ + directory)) {
    if (!name.starts_with(file)) continue;
    if (best.empty() || name.size() < best.size()) best = name;
  }
  return best.empty() ? "" : directory + "/" + best;
}

ProgramLibrary Finder::made(const Wanted& one, const std::string& path,
                            std::string why) const {
  ProgramLibrary out{one.name, path, "", std::move(why)};
  out.version = one.name == std::string(kNccl)
                    ? nccl_version_of(root_ + path, known_)
                    : named_version_of(root_ + path, one.wheel, known_);
  return out;
}

std::optional<ProgramLibrary> Finder::preloaded(const Wanted& one) const {
  std::string list = value("LD_PRELOAD");
  std::replace(list.begin(), list.end(), ' ', ':');
  for (const auto entry : split(list, ':')) {
    const std::string path(entry);
    const std::string name = path.substr(path.rfind('/') + 1);
    if (path.starts_with('/') && name.starts_with(one.file) && has(path)) {
      return made(one, path, "LD_PRELOAD names it");
    }
  }
  return std::nullopt;
}

// torch's own libraries say what they need; one that is linked in says nothing.
std::optional<ProgramLibrary> Finder::of_torch(
    const Wanted& one, const std::string& packages) const {
  const std::string lib = packages + "/torch/lib";
  const std::string cuda = lib + "/libtorch_cuda.so";
  if (!has(cuda)) return std::nullopt;
  const auto names = loader_.names_of(cuda);
  if (!names) return std::nullopt;
  const std::string file = one.file;
  const auto needed =
      std::find_if(names->needed.begin(), names->needed.end(),
                   [&](auto& name) { return name.starts_with(file); });
  if (needed != names->needed.end()) {
    if (const auto found = loader_.find(*needed, cuda)) {
      return made(one, found->path, "torch needs it: " + found->why);
    }
    return std::nullopt;
  }
  if (one.name != std::string(kNccl)) return std::nullopt;
  auto linked = made(one, cuda, "it is linked into torch");
  return linked.version.empty() ? std::nullopt : std::optional(linked);
}

std::optional<ProgramLibrary> Finder::of_wheel(
    const Wanted& one, const std::string& packages) const {
  for (const std::string& part : one.parts) {
    const std::string path = in(packages + "/nvidia" + part, one.file);
    if (!path.empty()) return made(one, path, "a wheel in " + packages);
  }
  const std::string bundled = in(packages + "/torch/lib", one.file);
  if (bundled.empty()) return std::nullopt;
  return made(one, bundled, "torch brings it along");
}

// By name at run time.
std::optional<ProgramLibrary> Finder::opened(const Wanted& one) const {
  if (std::string(one.file).ends_with('.')) return std::nullopt;
  const auto found = loader_.find(one.file, file_.path);
  if (!found) return std::nullopt;
  return made(one, found->path, found->why);
}

std::vector<ProgramLibrary> Finder::of_python(const PythonPlace& place) {
  std::vector<ProgramLibrary> out;
  for (const Wanted& one : wanted()) {
    std::optional<ProgramLibrary> found = preloaded(one);
    // The first torch of sys.path is the one that is imported.
    for (const std::string& packages : place.packages) {
      if (found || !has(packages + "/torch/lib")) continue;
      found = of_torch(one, packages);
      break;
    }
    for (const std::string& packages : place.packages) {
      if (!found) found = of_wheel(one, packages);
    }
    if (!found && !place.kind.empty()) {
      const std::string path = in(place.prefix + "/lib", one.file);
      if (!path.empty())
        found = made(one, path, place.kind + " " + place.prefix);
    }
    if (!found) found = opened(one);
    if (found) out.push_back(std::move(*found));
  }
  return out;
}

std::vector<ProgramLibrary> Finder::compiled() {
  std::vector<ProgramLibrary> out;
  const auto needed = loader_.all_needed(file_.path);
  for (const Wanted& one : wanted()) {
    std::optional<ProgramLibrary> found = preloaded(one);
    // A name that ends with a dot has a number behind it.
    const auto at = needed.lower_bound(one.file);
    if (!found && at != needed.end() && at->first.starts_with(one.file)) {
      found = made(one, at->second.path, at->second.why);
    }
    if (found) out.push_back(std::move(*found));
  }
  return out;
}

}  // namespace

const ProgramLibrary* ProgramLibraries::find(const std::string& name) const {
  const auto at = std::find_if(found.begin(), found.end(),
                               [&](auto& one) { return one.name == name; });
  return at == found.end() ? nullptr : &*at;
}

ProgramLibraries program_libraries(const std::string& root,
                                   const ProgramCall& call, KnownFiles& known) {
  ProgramLibraries out;
  const ProgramFile file = find_program_file(root, call);
  out.program = file.path;
  if (file.path.empty()) return out;
  Finder finder(root, known, file);
  out.said = file.path;
  if (!is_python(file.path)) {
    out.found = finder.compiled();
  } else {
    const PythonPlace place = python_place(root, file);
    if (!place.kind.empty()) {
      out.said += " (" + place.kind + " " + place.prefix + ")";
    }
    out.found = finder.of_python(place);
  }
  if (!file.by.empty()) out.said += ", by " + join(file.by, ", ");
  return out;
}

std::vector<std::string> library_lines(const ProgramLibraries& libraries) {
  std::vector<std::string> out;
  if (libraries.program.empty()) return out;
  out.push_back("program: " + libraries.said);
  for (const ProgramLibrary& one : libraries.found) {
    out.push_back(one.name + ": " +
                  (one.version.empty() ? "" : one.version + " ") + one.path +
                  " (" + one.why + ")");
  }
  if (libraries.find(kNccl) == nullptr) {
    out.emplace_back("NCCL: none is found for this program");
  }
  return out;
}

}  // namespace muster
