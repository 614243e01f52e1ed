// SPDX-License-Identifier: Apache-2.0
#include "worker/pmix/agent_pmix_guests.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <map>
#include <mutex>
#include <utility>

#include "base/loopback.h"

namespace muster {

namespace {

struct Waiting {
  std::mutex mutex;
  std::map<int, PmixGuest> by_port;  // of our end of `inside`
};

// Never destroyed: libpmix' thread may outlive main().
Waiting& waiting() {
  static auto* const all = new Waiting;
  return *all;
}

template <class Ask>
int port_by(Ask ask, int socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (ask(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      address.sin_family != AF_INET) {
    return 0;
  }
  return ntohs(address.sin_port);
}

// The guest's socket if it was knocked for, else `accepted` itself.
int guest_behind(int accepted) {
  Waiting& all = waiting();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (all.by_port.empty()) return accepted;
  const auto found = all.by_port.find(port_by(::getpeername, accepted));
  if (found == all.by_port.end()) return accepted;
  UniqueFd guest = std::move(found->second.socket);
  all.by_port.erase(found);
  const UniqueFd knock(accepted);       // has done its work
  set_nonblocking(guest.get(), false);  // as accept() gives them
  return guest.release();
}

}  // namespace

bool knock_for_guest(int port, UniqueFd socket) {
  Waiting& all = waiting();
  // Held while connecting: it may be accepted before we are back.
  const std::lock_guard<std::mutex> lock(all.mutex);
  UniqueFd inside = connect_to_loopback(port);
  const int own = inside ? port_by(::getsockname, inside.get()) : 0;
  if (own == 0) return false;
  all.by_port[own] = {std::move(socket), std::move(inside)};
  return true;
}

std::vector<PmixGuest> take_back_guests() {
  Waiting& all = waiting();
  const std::lock_guard<std::mutex> lock(all.mutex);
  std::vector<PmixGuest> out;
  for (auto& [port, guest] : all.by_port) out.push_back(std::move(guest));
  all.by_port.clear();
  return out;
}

}  // namespace muster

// Everybody's in this program. accept4() is the kernel's same call, and what
// our own code uses.
extern "C" __attribute__((used, visibility("default"))) int accept(
    int listener, sockaddr* __restrict address, socklen_t* __restrict size) {
  const int accepted = ::accept4(listener, address, size, 0);
  return accepted < 0 ? accepted : muster::guest_behind(accepted);
}
