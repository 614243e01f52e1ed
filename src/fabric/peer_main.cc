// SPDX-License-Identifier: Apache-2.0
// `muster fabric peer`: takes orders on stdin, one at a time, on the main
// thread; a second thread accepts other pods' tests and gives each a thread.
// Ends with stdin. Owns its listening socket; the threads end with it.
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <iostream>
#include <thread>

#include "base/fd.h"
#include "fabric/collect.h"
#include "fabric/facts_json.h"
#include "fabric/peer_protocol.h"

namespace muster {

namespace {

constexpr int kServeMs = 60'000;
constexpr int kMostNames = 4096;

struct Peer {
  int listener = -1;
  int port = 0;
};

// Never joined: the process ends with its stdin.
void accept_forever(int listener) {
  for (;;) {
    const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (fd < 0) return;
    std::thread([fd] {
      const UniqueFd owner(fd);
      set_nonblocking(fd);
      // What goes wrong here, the driver reports.
      static_cast<void>(serve_connection(fd, kServeMs));
    }).detach();
  }
}

PeerAnswer failed(const Error& error) {
  PeerAnswer out;
  out.code = error.code;
  out.text = error.text();
  return out;
}

PeerAnswer listen_for_others(const PeerOrder& order, Peer& peer) {
  if (peer.listener < 0) {
    const auto listener = listen_tcp(std::to_string(order.port), peer.port);
    if (!listener) return failed(listener.error());
    peer.listener = *listener;
    std::thread(accept_forever, peer.listener).detach();
  }
  PeerAnswer out;
  out.port = peer.port;
  return out;
}

PeerAnswer look(const PeerOrder& order) {
  PeerAnswer out;
  out.facts = write_facts({collect_fabric("")});
  for (size_t i = 0; i < order.names.size() && i < kMostNames; ++i) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    const std::string& name = order.names[i];
    if (::getaddrinfo(name.c_str(), nullptr, &hints, &list) != 0) {
      out.unresolved.push_back(name);
    } else {
      ::freeaddrinfo(list);
    }
  }
  return out;
}

PeerAnswer drive(const PeerOrder& order, const Peer& peer) {
  PairRequest request;
  request.peer = order.peer;
  request.bulk = order.bulk;
  request.megabytes = order.megabytes;
  request.timeout_ms = order.timeout_ms;
  request.back_listener = peer.listener;
  request.back_port = peer.port;
  request.rdma = order.rdma;
  request.measure_rdma = order.measure_rdma;
  const auto result = drive_pair(request);
  if (!result) return failed(result.error());
  PeerAnswer out;
  out.result = *result;
  return out;
}

PeerAnswer obey(const std::string& line, Peer& peer) {
  const auto order = peer_order_from_json(line);
  if (!order) return failed(order.error());
  if (order->order == "listen") return listen_for_others(*order, peer);
  if (order->order == "look") return look(*order);
  if (order->order == "drive") return drive(*order, peer);
  return failed({"protocol", "unknown order " + order->order, "", {}, {}});
}

}  // namespace

int peer_main() {
  Peer peer;
  std::string line;
  while (std::getline(std::cin, line)) {
    const std::string answer = to_json(obey(line, peer)) + "\n";
    if (!write_all(STDOUT_FILENO, answer)) break;
  }
  // The threads still use what destructors would take down.
  ::_exit(0);
}

}  // namespace muster
