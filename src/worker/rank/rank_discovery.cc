// SPDX-License-Identifier: Apache-2.0
#include "worker/rank/rank_discovery.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/directory.h"
#include "base/process_table.h"
#include "base/runtime_dir.h"
#include "worker/rank/rank_protocol.h"

namespace muster {

namespace {

bool is_ours(const std::string& path, mode_t type) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && info.st_uid == ::geteuid() &&
         (info.st_mode & S_IFMT) == type;
}

}  // namespace

std::vector<pid_t> parent_chain(pid_t pid, const std::string& proc) {
  constexpr size_t kDeepest = 64;
  std::vector<pid_t> chain;
  while (chain.size() < kDeepest) {
    pid = parent_of(pid, proc);
    if (pid <= 0) break;
    chain.push_back(pid);
  }
  return chain;
}

std::vector<std::string> run_directories(const Environment& env) {
  std::vector<std::string> out;
  if (const std::string* hint = find_env(env, "MUSTER_RUN_DIR")) {
    if (is_ours(*hint, S_IFDIR)) out.push_back(*hint);
  }
  for (const std::string& parent : writable_candidates()) {
    for (const std::string& name : names_in(parent)) {
      const std::string path = parent + "/" + name;
      if (name.starts_with("muster-") && is_ours(path, S_IFDIR)) {
        out.push_back(path);
      }
    }
  }
  return out;
}

UniqueFd connect_agent(const std::vector<pid_t>& chain,
                       const std::vector<std::string>& directories) {
  for (const pid_t pid : chain) {
    for (const std::string& directory : directories) {
      const std::string path = directory + "/" + agent_socket_name(pid);
      if (!is_ours(path, S_IFSOCK)) continue;
      UniqueFd socket = connect_unix(path, SOCK_SEQPACKET);
      if (socket && peer_pid(socket.get()) == pid) return socket;
    }
  }
  return {};
}

UniqueFd connect_unix(const std::string& path, int type) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) return {};
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  UniqueFd socket(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  if (socket &&
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                sizeof address) != 0) {
    socket.reset();
  }
  return socket;
}

pid_t peer_pid(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return 0;
  }
  return peer.pid;
}

}  // namespace muster
