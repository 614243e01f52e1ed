// SPDX-License-Identifier: Apache-2.0
// `muster fabric peer`: takes orders on stdin, one at a time, on the main
// thread; a second thread accepts other pods' tests and gives each a thread.
// Refuses, by hanging up: more than kMostTests at a time, a test for which no
// thread can be had (the pod's pids limit).
// Ends with stdin. Owns its listening socket; the threads end with it.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <iostream>
#include <memory>
#include <system_error>
#include <thread>

#include "base/fd.h"
#include "fabric/collect/collect.h"
#include "fabric/facts/facts_json.h"
#include "fabric/prove/peer_names.h"
#include "fabric/prove/peer_protocol.h"

namespace muster {

namespace {

constexpr int kServeMs = 60'000;
// Of the 15 s that the launcher waits for a look
// (launcher/commands/check_run.cc).
constexpr std::chrono::milliseconds kProbesMs{6000};
constexpr std::chrono::milliseconds kLookMs{8500};
constexpr int kMostTests = 256;  // two of each of 128 pods
constexpr useconds_t kNoDescriptorUs = 100'000;

struct Peer {
  int listener = -1;
  int port = 0;
  std::shared_ptr<const RailList> rails;  // facts once, before any thread
  Counters counters;                      // when it began
};

using Served = std::shared_ptr<std::atomic<int>>;

void serve(UniqueFd fd, const Served& served,
           const std::shared_ptr<const RailList>& rails) {
  const auto test = [fd = std::make_shared<UniqueFd>(std::move(fd)), served,
                     rails] {
    set_nonblocking(fd->get());
    // The driver reports any error here.
    static_cast<void>(serve_connection(fd->get(), kServeMs, *rails));
    --*served;
  };
  ++*served;
  try {
    std::thread(test).detach();
  } catch (const std::system_error&) {
    --*served;
  }
}

// Never joined: the process ends with its stdin.
void accept_forever(int listener,
                    const std::shared_ptr<const RailList>& rails) {
  const auto served = std::make_shared<std::atomic<int>>(0);
  for (;;) {
    UniqueFd fd(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    if (fd && *served < kMostTests) {
      serve(std::move(fd), served, rails);
    } else if (!fd && (errno == EMFILE || errno == ENFILE)) {
      ::usleep(kNoDescriptorUs);  // tests that end give theirs back
    } else if (!fd && errno != EINTR && errno != ECONNABORTED) {
      return;
    }
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
    peer.rails = std::make_shared<const RailList>(own_rails());
    peer.counters = read_counters("");
    try {
      std::thread(accept_forever, peer.listener, peer.rails).detach();
    } catch (const std::system_error&) {
      return failed({"resources",
                     "cannot serve the tests of other pods",
                     "the pod's process limit (pids) is reached",
                     {},
                     "raise it, or end other processes of the pod"});
    }
  }
  PeerAnswer out;
  out.port = peer.port;
  return out;
}

PeerAnswer look(const PeerOrder& order, const Peer& peer) {
  const auto begin = std::chrono::steady_clock::now();
  PeerAnswer out;
  out.grown = grown_counters(peer.counters, read_counters(""));
  out.facts = write_facts({collect_fabric_and_gdr(kProbesMs)});
  out.unresolved = unresolved_names(order.names, begin + kLookMs);
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
  if (peer.rails) request.rails = *peer.rails;
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
  if (order->order == "look") return look(*order, peer);
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
