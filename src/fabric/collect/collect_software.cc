// SPDX-License-Identifier: Apache-2.0
// NCCL's version and plugins in the image, its configuration files, the
// variables that matter, and the pod's limits. Libraries are looked at by
// name only, never loaded.
#include <glob.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>

#include "base/spawn.h"
#include "base/text.h"
#include "fabric/collect/collect_parts.h"
#include "fabric/collect/locked_memory.h"
#include "fabric/collect/sys_files.h"
#include "fabric/facts/effective.h"
#include "fabric/policy/settings/nccl_variables.h"

namespace muster {

namespace {

constexpr size_t kMaxFound = 256;

std::vector<std::string> expand(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> out;
  if (::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0) {
    for (size_t i = 0; i < std::min(found.gl_pathc, kMaxFound); ++i) {
      out.emplace_back(found.gl_pathv[i]);
    }
  }
  ::globfree(&found);
  std::sort(out.begin(), out.end());
  return out;
}

// The kind of a plugin with NCCL's usual name, by its directory.
std::string network_by_place(const std::string& path) {
  const std::string lower = to_lower(path);
  if (lower.find("ofi") != lower.npos) return "AWS Libfabric";
  if (lower.find("/gib/") != lower.npos) return "gIB";
  if (lower.find("sharp") != lower.npos || lower.find("hpcx") != lower.npos) {
    return "IBext";
  }
  return "";
}

void collect_libraries(const ImageLibraries& libraries, KnownFiles& known,
                       PodFabric& pod) {
  pod.nccl_version = nccl_version(libraries, known);
  pod.plugins.emplace();
  for (const auto& [directory, names] : libraries) {
    for (const std::string& name : names) {
      const bool plugin_name = name.starts_with("libnccl-net") ||
                               name.starts_with("librccl-net") ||
                               name.starts_with("librccl-anp");
      if (!plugin_name || !name.ends_with(".so")) continue;
      FabricPlugin plugin;
      plugin.name = name;
      plugin.network = network_by_place(directory + "/" + name);
      const bool known_name =
          std::any_of(pod.plugins->begin(), pod.plugins->end(),
                      [&](auto& other) { return other.name == plugin.name; });
      if (!known_name) pod.plugins->push_back(std::move(plugin));
    }
  }
}

// As NCCL reads its files: it strips nothing, and lint_conf() says so.
std::map<std::string, std::string> read_conf(const std::string& path) {
  std::map<std::string, std::string> out;
  const SysText file = read_sys(path);
  for (const auto line : split(file.text, '\n')) {
    const size_t equals = line.find('=');
    if (trim(line).starts_with('#') || equals == line.npos || equals == 0) {
      continue;
    }
    out.emplace(line.substr(0, equals), line.substr(equals + 1));
    if (out.size() > 1024) break;
  }
  return out;
}

// The variables that the checks of users' values read.
bool matters(std::string_view name) {
  for (const char* prefix : {"NCCL_",
                             "UCX_",
                             "UCC_",
                             "OMPI_MCA_",
                             "FI_",
                             "I_MPI_",
                             "MPIR_",
                             "MPICH_",
                             "RDMAV_",
                             "IBV_FORK_",
                             "MV2_",
                             "PMIX_MCA_",
                             "PRTE_MCA_",
                             "HYDRA_IFACE",
                             "RCCL_",
                             "HSA_",
                             "CCL_",
                             "HCCL_",
                             "HCOLL_",
                             "MXM_",
                             "NVSHMEM_",
                             "PSM2_",
                             "PSM3_",
                             "OFI_NCCL_",
                             "TORCH_NCCL_",
                             "GLOO_",
                             "TP_SOCKET_",
                             "HOROVOD_GLOO_",
                             "UCXPY_",
                             "UCCL_",
                             "MASTER_ADDR",
                             "PET_MASTER_ADDR",
                             "VLLM_HOST_IP",
                             "SGLANG_HOST_IP",
                             "LD_LIBRARY_PATH",
                             "LD_PRELOAD"}) {
    if (name.starts_with(prefix)) return true;
  }
  return !nccl_name_meant(name).empty();
}

void collect_environment(const std::string& root, PodFabric& pod) {
  if (root.empty()) {
    for (const auto& [name, value] : current_environment()) {
      if (matters(name)) pod.environment[name] = value;
    }
    return;
  }
  // read_sys() shows the NUL bytes between entries as '?', so a recorded
  // environment has one entry per line.
  for (auto& [name, value] : read_conf(root + "/proc/self/environ")) {
    if (matters(name)) pod.environment[name] = value;
  }
}

void collect_conf(const std::string& root, PodFabric& pod) {
  // RCCL reads files of its own name.
  const std::string file_name =
      pod.nccl_version.starts_with("RCCL") ? "rccl.conf" : "nccl.conf";
  pod.nccl_conf = read_conf(root + "/etc/" + file_name);
  const auto file = pod.environment.find("NCCL_CONF_FILE");
  if (file != pod.environment.end()) {
    pod.nccl_user_conf = read_conf(root + file->second);
    return;
  }
  const char* home = root.empty() ? ::getenv("HOME") : "/root";
  if (home != nullptr) {
    pod.nccl_user_conf = read_conf(root + home + "/." + file_name);
  }
}

// Of the running system; of a recorded one from its files.
void ask_limits(PodFabric& pod) {
  rlimit memlock{};
  if (::getrlimit(RLIMIT_MEMLOCK, &memlock) == 0) {
    pod.memlock_bytes = memlock.rlim_max == RLIM_INFINITY
                            ? -1
                            : static_cast<int64_t>(memlock.rlim_max);
  }
  struct statvfs shm {};
  if (::statvfs("/dev/shm", &shm) == 0) {
    pod.shm_bytes = static_cast<int64_t>(shm.f_blocks * shm.f_frsize);
  }
}

void read_limits(const std::string& root, PodFabric& pod) {
  const std::string limits = read_sys(root + "/proc/self/limits").text;
  for (const auto line : split(limits, '\n')) {
    const auto words = split_words(line);
    if (words.size() < 5 || words[0] != "Max" || words[1] != "locked") continue;
    const auto hard = parse_integer(words[4]);
    pod.memlock_bytes = words[4] == "unlimited" ? -1 : hard.value_or(-2);
  }
}

void collect_limits(const std::string& root, PodFabric& pod) {
  if (root.empty()) {
    ask_limits(pod);
  } else {
    read_limits(root, pod);
  }
  if (may_lock_all(root)) pod.memlock_bytes = -1;
}

void collect_machine(const std::string& root, PodFabric& pod) {
  const std::string dmi = root + "/sys/class/dmi/id/";
  pod.vendor = read_sys(dmi + "sys_vendor").text;
  pod.product = read_sys(dmi + "product_name").text;
  pod.asset_tag = read_sys(dmi + "chassis_asset_tag").text;
  pod.name = read_sys(root + "/proc/sys/kernel/hostname").text;
  const char* node = root.empty() ? ::getenv("NODE_NAME") : nullptr;
  if (node != nullptr) pod.node = node;
  pod.files.emplace();
  for (const char* pattern :
       {"/opt/microsoft/*topo*.xml", "/opt/microsoft/*/topo*.xml",
        "/etc/nccl/*topo*.xml"}) {
    for (const std::string& path : expand(root + pattern)) {
      pod.files->push_back(path.substr(root.size()));
    }
  }
  const auto named = effective(pod, "NCCL_TOPO_FILE");
  if (!named || ::access((root + named->value).c_str(), R_OK) != 0) return;
  if (std::count(pod.files->begin(), pod.files->end(), named->value) == 0) {
    pod.files->push_back(named->value);
  }
}

}  // namespace

std::string pod_library_path(const std::string& root) {
  PodFabric pod;
  collect_environment(root, pod);
  return pod.environment["LD_LIBRARY_PATH"];
}

std::vector<std::string> nccl_libraries() {
  const std::string name = "libnccl.so.2";
  std::vector<std::string> out{name};
  KnownFiles nothing;
  for (const auto& [directory, names] :
       find_libraries("", pod_library_path(""), nothing)) {
    if (std::count(names.begin(), names.end(), name) > 0) {
      out.push_back(directory + "/" + name);
    }
  }
  return out;
}

void collect_software(const std::string& root, const ImageLibraries& libraries,
                      KnownFiles& known, const Environment& given,
                      PodFabric& pod) {
  collect_environment(root, pod);
  for (const auto& [name, value] : given) {
    if (matters(name)) pod.environment[name] = value;
  }
  pod.environment.erase("LD_LIBRARY_PATH");
  collect_libraries(libraries, known, pod);
  collect_conf(root, pod);
  collect_limits(root, pod);
  collect_machine(root, pod);
}

}  // namespace muster
