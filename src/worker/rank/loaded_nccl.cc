// SPDX-License-Identifier: Apache-2.0
#include "worker/rank/loaded_nccl.h"

#include "base/fd.h"
#include "base/known_files.h"
#include "base/text.h"
#include "fabric/collect/image_libraries.h"

namespace muster {

LoadedNccl loaded_nccl(pid_t pid, const std::string& proc) {
  constexpr size_t kMostText = 8 << 20;
  LoadedNccl out;
  const std::string place = proc + "/" + std::to_string(pid);
  const auto maps = read_file(place + "/maps", kMostText);
  if (!maps) return out;
  for (const auto line : split(*maps, '\n')) {
    const size_t slash = line.find('/');
    if (slash == line.npos) continue;
    const std::string_view path = line.substr(slash);
    const std::string_view name = path.substr(path.rfind('/') + 1);
    if (!name.starts_with("libnccl.so")) continue;
    out.path = std::string(path);
    KnownFiles nothing;
    // In the pod's own files, or those of a container beside it.
    out.version =
        named_version_of(place + "/root" + out.path, "nvidia_nccl_cu", nothing);
    if (out.version.empty()) {
      out.version = named_version_of(out.path, "nvidia_nccl_cu", nothing);
    }
    break;
  }
  return out;
}

}  // namespace muster
