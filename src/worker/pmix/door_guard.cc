// SPDX-License-Identifier: Apache-2.0
#include "worker/pmix/door_guard.h"

#include <dirent.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <memory>

#include "base/fd.h"
#include "base/text.h"

namespace muster {

namespace {

constexpr size_t kLongestTable = 16 << 20;
constexpr size_t kUidField = 7;  // of a row of /proc/net/tcp, proc(5)

// The port of 127.0.0.1 at one end of a connection; 0: it is elsewhere.
int loopback_port(int socket, decltype(&::getpeername) ask) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (ask(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      address.sin_family != AF_INET ||
      address.sin_addr.s_addr != htonl(INADDR_LOOPBACK)) {
    return 0;
  }
  return ntohs(address.sin_port);
}

// The kernel writes addresses in the order of this machine's bytes.
std::string table_address(int port) {
  static const char* const kHex = "0123456789ABCDEF";
  std::string out;
  for (int shift = 28; shift >= 0; shift -= 4) {
    out += kHex[htonl(INADDR_LOOPBACK) >> shift & 15];
  }
  out += ':';
  for (int shift = 12; shift >= 0; shift -= 4) out += kHex[port >> shift & 15];
  return out;
}

// Descriptors of this process that are connected to `port`, by the other end's.
std::map<int, int> guests_at(int port) {
  std::map<int, int> out;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(
      ::opendir("/proc/self/fd"), ::closedir);
  if (!directory) return out;
  while (const dirent* entry = ::readdir(directory.get())) {
    const auto fd = parse_integer(entry->d_name);
    if (!fd) continue;
    const int socket = static_cast<int>(*fd);
    if (loopback_port(socket, ::getsockname) != port) continue;
    if (const int peer = loopback_port(socket, ::getpeername); peer > 0) {
      out[peer] = socket;
    }
  }
  return out;
}

}  // namespace

std::set<int> strangers_at(std::string_view table, int port, uid_t own) {
  const std::string door = table_address(port);
  const std::string loopback = door.substr(0, door.find(':') + 1);
  std::set<int> out;
  for (const std::string_view row : split(table, '\n')) {
    const auto words = split_words(row);
    if (words.size() <= kUidField || words[2] != door ||
        !words[1].starts_with(loopback)) {
      continue;
    }
    const auto uid = parse_integer(words[kUidField]);
    if (!uid || *uid == 0 || *uid == own) continue;
    const std::string digits(words[1].substr(loopback.size()));
    out.insert(static_cast<int>(std::strtol(digits.c_str(), nullptr, 16)));
  }
  return out;
}

int DoorGuard::look(int port) {
  const std::map<int, int> guests = guests_at(port);
  std::erase_if(known_, [&](int peer) { return guests.count(peer) == 0; });
  if (guests.size() == known_.size()) return 0;
  const auto table = read_file("/proc/self/net/tcp", kLongestTable);
  if (!table) return 0;
  const std::set<int> strangers = strangers_at(*table, port, ::geteuid());
  int ended = 0;
  for (const auto& [peer, socket] : guests) {
    if (strangers.count(peer) == 0) {
      known_.insert(peer);
    } else if (loopback_port(socket, ::getpeername) == peer) {
      // libpmix closes it once its read has come back.
      ::shutdown(socket, SHUT_RDWR);
      ++ended;
    }
  }
  return ended;
}

}  // namespace muster
