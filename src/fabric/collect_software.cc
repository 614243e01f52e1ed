// SPDX-License-Identifier: Apache-2.0
// NCCL's version and plugins in the image, its configuration files, the
// variables that matter, and the pod's limits. Libraries are looked at by
// name only, never loaded.
#include <glob.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>

#include "base/library_names.h"
#include "base/spawn.h"
#include "base/text.h"
#include "fabric/collect.h"
#include "fabric/collect_parts.h"
#include "fabric/nccl_version.h"
#include "fabric/sys_files.h"

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

std::vector<std::string> directories(const std::string& root,
                                     const PodFabric& pod) {
  std::vector<std::string> out;
  const auto paths = pod.environment.find("LD_LIBRARY_PATH");
  if (paths != pod.environment.end()) {
    for (const auto path : split(paths->second, ':')) {
      if (path.starts_with('/')) out.push_back(root + std::string(path));
      if (out.size() > 64) break;
    }
  }
  for (const char* usual :
       {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
        "/usr/lib", "/usr/local/lib", "/usr/local/cuda/lib64",
        "/opt/amazon/ofi-nccl/lib", "/opt/amazon/ofi-nccl/lib64",
        "/opt/aws-ofi-nccl/lib", "/usr/local/gib/lib64",
        "/usr/local/nvidia/lib64", "/opt/hpcx/nccl_rdma_sharp_plugin/lib",
        "/opt/conda/lib"}) {
    out.push_back(root + usual);
  }
  for (const char* wheels :
       {"/usr/local/lib/python3*/*-packages/nvidia/nccl/lib",
        "/usr/lib/python3*/*-packages/nvidia/nccl/lib",
        "/opt/conda/lib/python3*/*-packages/nvidia/nccl/lib"}) {
    for (std::string& found : expand(root + wheels)) out.push_back(found);
  }
  return out;
}

// From "libnccl.so.2.21.5" or the wheel's "nvidia_nccl_cu12-2.21.5.dist-info".
std::string version_in(const std::string& directory,
                       const std::vector<std::string>& names) {
  constexpr std::string_view kPrefix = "libnccl.so.2.";
  for (const std::string& name : names) {
    const std::string version = name.substr(std::min(name.size(), size_t{11}));
    if (name.starts_with(kPrefix) && parse_nccl_version(version)) {
      return version;
    }
  }
  if (!directory.ends_with("/nvidia/nccl/lib")) return "";
  for (const std::string& path :
       expand(directory + "/../../../nvidia_nccl_cu*.dist-info")) {
    const std::string name = path.substr(path.rfind('/') + 1);
    const size_t dash = name.find('-');
    const std::string version =
        name.substr(dash + 1, name.rfind(".dist-info") - dash - 1);
    if (dash != name.npos && parse_nccl_version(version)) return version;
  }
  return "";
}

// What the directory says about a plugin that only has NCCL's usual name.
std::string network_by_place(const std::string& path) {
  const std::string lower = to_lower(path);
  if (lower.find("ofi") != lower.npos) return "AWS Libfabric";
  if (lower.find("/gib/") != lower.npos) return "gIB";
  if (lower.find("sharp") != lower.npos || lower.find("hpcx") != lower.npos) {
    return "IBext";
  }
  return "";
}

void collect_libraries(const std::string& root, KnownFiles& files,
                       PodFabric& pod) {
  pod.plugins.emplace();
  for (const std::string& directory : directories(root, pod)) {
    const auto names = library_names(directory, files);
    if (pod.nccl_version.empty()) {
      pod.nccl_version = version_in(directory, names);
    }
    for (const std::string& name : names) {
      if (!name.starts_with("libnccl-net") || !name.ends_with(".so")) continue;
      FabricPlugin plugin;
      plugin.name = name;
      plugin.network = network_by_place(directory + "/" + name);
      const bool known =
          std::any_of(pod.plugins->begin(), pod.plugins->end(),
                      [&](auto& other) { return other.name == plugin.name; });
      if (!known) pod.plugins->push_back(std::move(plugin));
    }
  }
}

std::map<std::string, std::string> read_conf(const std::string& path) {
  std::map<std::string, std::string> out;
  const SysText file = read_sys(path);
  for (const auto raw : split(file.text, '\n')) {
    const auto line = trim(raw);
    const size_t equals = line.find('=');
    if (line.starts_with('#') || equals == line.npos || equals == 0) continue;
    out.emplace(trim(line.substr(0, equals)), trim(line.substr(equals + 1)));
    if (out.size() > 1024) break;
  }
  return out;
}

bool matters(std::string_view name) {
  for (const char* prefix :
       {"NCCL_", "UCX_", "OMPI_MCA_", "FI_", "I_MPI_", "MPIR_", "RDMAV_",
        "MV2_", "PMIX_MCA_", "LD_LIBRARY_PATH"}) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
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
  pod.nccl_conf = read_conf(root + "/etc/nccl.conf");
  const auto file = pod.environment.find("NCCL_CONF_FILE");
  if (file != pod.environment.end()) {
    pod.nccl_user_conf = read_conf(root + file->second);
    return;
  }
  const char* home = root.empty() ? ::getenv("HOME") : "/root";
  if (home != nullptr) {
    pod.nccl_user_conf = read_conf(root + home + "/.nccl.conf");
  }
}

void collect_limits(const std::string& root, PodFabric& pod) {
  const std::string limits = read_sys(root + "/proc/self/limits").text;
  for (const auto line : split(limits, '\n')) {
    const auto words = split_words(line);
    if (words.size() < 5 || words[0] != "Max" || words[1] != "locked") continue;
    const auto hard = parse_integer(words[4]);
    pod.memlock_bytes = words[4] == "unlimited" ? -1 : hard.value_or(-2);
  }
  struct statvfs shm {};
  if (root.empty() && ::statvfs("/dev/shm", &shm) == 0) {
    pod.shm_bytes = static_cast<int64_t>(shm.f_blocks * shm.f_frsize);
  }
}

void collect_machine(const std::string& root, PodFabric& pod) {
  const std::string dmi = root + "/sys/class/dmi/id/";
  pod.vendor = read_sys(dmi + "sys_vendor").text;
  pod.product = read_sys(dmi + "product_name").text;
  pod.asset_tag = read_sys(dmi + "chassis_asset_tag").text;
  pod.name = read_sys(root + "/proc/sys/kernel/hostname").text;
  const char* node = root.empty() ? ::getenv("NODE_NAME") : nullptr;
  if (node != nullptr) pod.node = node;
  for (const char* pattern :
       {"/opt/microsoft/*topo*.xml", "/opt/microsoft/*/topo*.xml",
        "/etc/nccl/*topo*.xml"}) {
    for (const std::string& path : expand(root + pattern)) {
      pod.files.push_back(path.substr(root.size()));
    }
  }
}

}  // namespace

std::vector<std::string> nccl_libraries() {
  PodFabric pod;
  collect_environment("", pod);
  std::vector<std::string> out{"libnccl.so.2"};
  for (const std::string& directory : directories("", pod)) {
    if (sys_exists(directory + "/libnccl.so.2")) {
      out.push_back(directory + "/libnccl.so.2");
    }
  }
  return out;
}

void learn_libraries(const std::string& sysroot, KnownFiles& known) {
  PodFabric pod;
  collect_environment(sysroot, pod);
  for (const std::string& directory : directories(sysroot, pod)) {
    (void)library_names(directory, known);
  }
}

void collect_software(const std::string& root, KnownFiles& known,
                      PodFabric& pod) {
  collect_environment(root, pod);
  collect_conf(root, pod);
  collect_libraries(root, known, pod);
  pod.environment.erase("LD_LIBRARY_PATH");
  collect_limits(root, pod);
  collect_machine(root, pod);
}

}  // namespace muster
