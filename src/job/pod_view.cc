// SPDX-License-Identifier: Apache-2.0
// Reads the pod for job/pod_view.h: opens files, blocks only on the pod's own
// file system. Checks key files by access(2), never by their modes: Secrets
// come with any.
#include "job/pod_view.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <utility>

#include "base/fd.h"
#include "base/hostname.h"
#include "base/text.h"
#include "job/mountinfo.h"

namespace muster {

namespace {

constexpr size_t kMaxConfig = 1 << 20;
constexpr size_t kMaxHostfile = 16 << 20;  // 65536 hosts of 253 characters

void add_unique(std::vector<std::string>& list, std::string item) {
  if (item.empty() || std::count(list.begin(), list.end(), item) > 0) return;
  list.push_back(std::move(item));
}

std::string home_of(const PodViewOptions& options) {
  const auto text = read_file(options.root + "/etc/passwd", kMaxConfig);
  if (!text) return {};
  for (const std::string_view line : split(*text, '\n')) {
    const std::vector<std::string_view> fields = split(line, ':');
    if (fields.size() >= 6 && parse_integer(fields[2]) == options.uid) {
      return std::string(fields[5]);
    }
  }
  return {};
}

std::vector<std::string> homes(const PodViewOptions& options) {
  std::vector<std::string> list;
  if (const std::string* home = find_env(options.env, "HOME")) {
    add_unique(list, *home);
  }
  add_unique(list, home_of(options));
  add_unique(list, "/root");
  add_unique(list, "/home/mpiuser");
  return list;
}

bool holds_keys(const std::string& directory) {
  const auto readable = [&directory](const char* name) {
    return access((directory + "/" + name).c_str(), R_OK) == 0;
  };
  // Operators call every key id_rsa, whatever its type.
  return readable("authorized_keys") &&
         (readable("id_rsa") || readable("id_ecdsa") || readable("id_ed25519"));
}

// A key exists, or a mount for ssh lies where this user may not go: at
// /root/.ssh, mpi-operator's default.
bool locks_keys(const std::string& directory) {
  const std::string key = directory + "/id_rsa";
  if (access(key.c_str(), F_OK) == 0) return access(key.c_str(), R_OK) != 0;
  return errno == EACCES && directory.find("ssh") != directory.npos;
}

std::vector<std::string> usual_key_dirs(const PodViewOptions& options) {
  std::vector<std::string> list;
  for (const std::string& home : homes(options)) {
    add_unique(list, home + "/.ssh");
  }
  add_unique(list, "/tmp/ssh");
  return list;
}

void find_key_dirs(const PodViewOptions& options, PodView& view) {
  std::vector<std::string> candidates = usual_key_dirs(options);
  const auto mounts =
      read_file(options.root + "/proc/self/mountinfo", kMaxConfig);
  if (mounts) {
    for (Mount& mount : parse_mountinfo(*mounts)) {
      if (locks_keys(options.root + mount.point)) {
        view.locked_key_dirs.push_back(mount.point);
      }
      add_unique(candidates, std::move(mount.point));
    }
  }
  for (std::string& directory : candidates) {
    if (holds_keys(options.root + directory)) {
      view.key_dirs.push_back(std::move(directory));
    }
  }
}

void add_file(const PodViewOptions& options, const std::string& path,
              size_t limit, std::vector<TextFile>& files) {
  const bool known =
      std::any_of(files.begin(), files.end(),
                  [&path](const TextFile& file) { return file.path == path; });
  if (path.empty() || known) return;
  auto text = read_file(options.root + path, limit);
  if (text) files.push_back({path, *std::move(text)});
}

std::vector<TextFile> find_hostfiles(const PodViewOptions& options) {
  std::vector<TextFile> files;
  if (!options.hostfile.empty()) {
    add_file(options, options.hostfile, kMaxHostfile, files);
    return files;
  }
  static constexpr std::array<const char*, 4> kVariables = {
      "OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile",
      "I_MPI_HYDRA_HOST_FILE", "HYDRA_HOST_FILE"};
  for (const char* variable : kVariables) {
    if (const std::string* path = find_env(options.env, variable)) {
      add_file(options, *path, kMaxHostfile, files);
    }
  }
  add_file(options, "/etc/mpi/hostfile", kMaxHostfile, files);
  return files;
}

std::vector<TextFile> find_ssh_configs(const PodViewOptions& options) {
  std::vector<TextFile> files;
  add_file(options, options.sshd_config, kMaxConfig, files);
  for (const std::string& home : homes(options)) {
    add_file(options, home + "/.ssh/config", kMaxConfig, files);
    add_file(options, home + "/.sshd_config", kMaxConfig, files);
  }
  add_file(options, "/etc/ssh/ssh_config", kMaxConfig, files);
  add_file(options, "/etc/ssh/sshd_config", kMaxConfig, files);
  return files;
}

std::vector<std::string> interface_addresses() {
  std::vector<std::string> list;
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return list;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(first, freeifaddrs);
  for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || (at->ifa_flags & IFF_LOOPBACK) != 0) {
      continue;
    }
    const int family = at->ifa_addr->sa_family;
    const void* address = nullptr;
    if (family == AF_INET) {
      address = &reinterpret_cast<const sockaddr_in*>(at->ifa_addr)->sin_addr;
    } else if (family == AF_INET6) {
      address = &reinterpret_cast<const sockaddr_in6*>(at->ifa_addr)->sin6_addr;
    }
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (address != nullptr &&
        inet_ntop(family, address, text.data(), text.size()) != nullptr) {
      add_unique(list, text.data());
    }
  }
  return list;
}

}  // namespace

PodViewOptions own_pod_options() {
  PodViewOptions options;
  options.env = current_environment();
  options.hostname = own_hostname();
  options.own_addresses = interface_addresses();
  options.uid = static_cast<int>(getuid());
  options.is_pid1 = getpid() == 1;
  return options;
}

std::optional<std::string> best_key_dir(const PodViewOptions& options) {
  for (std::string& directory : usual_key_dirs(options)) {
    if (holds_keys(options.root + directory)) return std::move(directory);
  }
  PodView view;
  find_key_dirs(options, view);
  if (!view.key_dirs.empty()) return view.key_dirs[0];
  if (!view.locked_key_dirs.empty()) return view.locked_key_dirs[0];
  return std::nullopt;
}

PodView read_pod_view(const PodViewOptions& options) {
  PodView view;
  view.env = options.env;
  view.hostname = options.hostname;
  view.own_addresses = options.own_addresses;
  view.is_pid1 = options.is_pid1;
  find_key_dirs(options, view);
  view.hostfiles = find_hostfiles(options);
  view.ssh_configs = find_ssh_configs(options);
  return view;
}

}  // namespace muster
