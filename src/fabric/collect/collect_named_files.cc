// SPDX-License-Identifier: Apache-2.0
// Files that variables name: which of them are not in the pod. A name without a
// slash is the dynamic linker's, and missing where neither its search nor the
// places where images keep NCCL's libraries have it.
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/fd.h"
#include "base/text.h"
#include "fabric/collect/collect_parts.h"
#include "fabric/collect/loader_search.h"
#include "fabric/facts/effective.h"
#include "fabric/facts/named_files.h"

namespace muster {

namespace {

constexpr size_t kLargestCache = 4 << 20;

class Look {
 public:
  Look(const std::string& root, const ImageLibraries& libraries,
       const FileSearch& search)
      : root_(root),
        libraries_(libraries),
        search_(search),
        loader_(root, search.library_path) {}

  // For certain: what may be there counts as there.
  [[nodiscard]] bool lacks(const NamedFile& file) const {
    return std::all_of(file.places.begin(), file.places.end(),
                       [&](auto& place) {
                         return place.find('/') == place.npos && file.library
                                    ? lacks_library(place)
                                    : lacks_path(place);
                       });
  }

 private:
  [[nodiscard]] bool lacks_path(const std::string& path) const {
    if (path.empty() || (!path.starts_with('/') && search_.cwd.empty())) {
      return false;
    }
    const std::string whole =
        root_ + (path.starts_with('/') ? path : search_.cwd + "/" + path);
    struct stat status {};
    return ::stat(whole.c_str(), &status) != 0 &&
           (errno == ENOENT || errno == ENOTDIR);
  }

  [[nodiscard]] bool lacks_library(const std::string& name) const {
    const auto has = [&](const LibraryDirectory& one) {
      return std::count(one.names.begin(), one.names.end(), name) > 0;
    };
    if (std::any_of(libraries_.begin(), libraries_.end(), has)) return false;
    if (loader_.find(name, search_.nccl)) return false;
    // A directory that a user gave to ldconfig by hand is only there.
    const auto cache = read_file(root_ + "/etc/ld.so.cache", kLargestCache);
    return !cache ||
           cache->find("/" + name + std::string(1, '\0')) == cache->npos;
  }

  const std::string& root_;
  const ImageLibraries& libraries_;
  const FileSearch& search_;
  LoaderSearch loader_;
};

// NCCL_NET_PLUGIN may lead to where nobody else looks.
void add_network_plugins(const Look& look, PodFabric& pod) {
  const auto users = effective(pod, "NCCL_NET_PLUGIN");
  if (!users || !pod.plugins) return;
  for (const auto word : split(users->value, ',')) {
    const std::string path(trim(word));
    if (path.find('/') == path.npos) continue;
    const std::string name = path.substr(path.rfind('/') + 1);
    const bool known = std::any_of(pod.plugins->begin(), pod.plugins->end(),
                                   [&](auto& one) { return one.name == name; });
    NamedFile file{"NCCL_NET_PLUGIN", path, users->origin, {path}, true, ""};
    if (!known && !look.lacks(file)) pod.plugins->push_back({name, "", ""});
  }
}

}  // namespace

void collect_named_files(const std::string& root,
                         const ImageLibraries& libraries,
                         const FileSearch& search, PodFabric& pod) {
  const auto files = named_files(pod);
  const bool plugin = effective(pod, "NCCL_NET_PLUGIN").has_value();
  if (files.empty() && !plugin) return;
  const Look look(root, libraries, search);
  for (const NamedFile& file : files) {
    if (look.lacks(file)) pod.missing_files.push_back(file.key());
  }
  add_network_plugins(look, pod);
}

}  // namespace muster
