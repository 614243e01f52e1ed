// SPDX-License-Identifier: Apache-2.0
#include "worker/pmix/agent_pmi1.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/random.h"

namespace muster {

namespace {
constexpr size_t kMostUnsent = 1 << 20;
// All ranks of the pod may come at once, and some strangers with them.
constexpr size_t kStrangers = 64;
constexpr size_t kMostGuests = 4096;
}  // namespace

AgentPmi1::AgentPmi1(Loop& loop, const World& world, ModexClient& modex,
                     PmiEvents events)
    : loop_(loop),
      world_(world),
      modex_(modex),
      events_(std::move(events)),
      server_(world,
              {[this](int rank, std::string_view line) { write(rank, line); },
               [this](std::string contribution) {
                 barrier(std::move(contribution));
               },
               events_.connected,
               [this](int rank) {
                 const auto link = links_.find(rank);
                 if (link != links_.end()) link->second.in_use = false;
                 events_.finalized(rank);
               },
               events_.aborted,
               [this](int rank, wire::NamesRequest request) {
                 modex_.names(request, [this, rank](wire::NamesReply reply) {
                   server_.names_reply(rank, reply);
                 });
               },
               events_.complain}) {
  listen();
}

// Nearly all programs use PMI_FD: they run without a port as well.
void AgentPmi1::listen() {
  auto listener = listen_on_loopback();
  if (!listener) return;
  listener_ = std::move(*listener);
  listener_watch_ = std::make_unique<AcceptWatch>(
      loop_, listener_.socket.get(),
      [this](UniqueFd socket) { accept_guest(std::move(socket)); });
}

std::string AgentPmi1::port() const {
  return listener_.port > 0 ? "127.0.0.1:" + std::to_string(listener_.port)
                            : "";
}

int AgentPmi1::id_for(int rank) {
  return ids_.give(rank, static_cast<uint32_t>(random_bits()));
}

void AgentPmi1::accept_guest(UniqueFd socket) {
  const size_t expected = world_.own_ranks().size() + kStrangers;
  if (guests_.size() >= std::min(expected, kMostGuests)) guests_.pop_front();
  send_at_once(socket.get());
  const auto guest = guests_.insert(guests_.end(), Guest{});
  guest->socket = std::move(socket);
  guest->watch = std::make_unique<FdWatch>(loop_, guest->socket.get());
  guest->watch->on_readable([this, guest] { hear(guest); });
}

void AgentPmi1::hear(Guests::iterator guest) {
  std::array<char, kLongestPmi1Knock> bytes;
  const ssize_t n = ::read(guest->socket.get(), bytes.data(), bytes.size());
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n > 0) guest->said.append(bytes.data(), static_cast<size_t>(n));
  const size_t end = guest->said.find('\n');
  if (n > 0 && end == std::string::npos &&
      guest->said.size() < kLongestPmi1Knock) {
    return;
  }
  const std::string said = std::move(guest->said);
  UniqueFd socket = std::move(guest->socket);
  guests_.erase(guest);
  if (end == std::string::npos) return;
  if (const auto rank = ids_.rank_of(std::string_view(said).substr(0, end))) {
    adopt(*rank, std::move(socket), std::string_view(said).substr(end + 1));
  }
}

void AgentPmi1::adopt(int rank, UniqueFd socket, std::string_view more) {
  Link& link = links_[rank];
  if (link.in_use) {
    return events_.complain(
        rank, "a second program of it came by PMI_PORT; muster refused it");
  }
  link.watch.reset();
  link.unsent.clear();
  link.socket = std::move(socket);
  watch(rank, link);
  write(rank, pmi1_welcome(world_, rank));
  if (!server_.receive(rank, more)) drop(rank);
}

void AgentPmi1::watch(int rank, Link& link) {
  link.in_use = false;
  link.watch = std::make_unique<FdWatch>(loop_, link.socket.get());
  link.watch->on_readable([this, rank] {
    if (!read_some(rank)) drop(rank);
  });
}

Result<UniqueFd> AgentPmi1::connect(int rank) {
  auto pair = make_socketpair(SOCK_STREAM);
  if (!pair) return tl::unexpected(pair.error());
  set_nonblocking(pair->read.get());
  Link& link = links_[rank];
  link.watch.reset();
  link.unsent.clear();
  link.socket = std::move(pair->read);
  watch(rank, link);
  return std::move(pair->write);
}

void AgentPmi1::rank_ended(int rank) {
  // Its last messages may still be in the socket: finalize, or abort.
  constexpr int kMostReads = 64;
  for (int i = 0; i < kMostReads && links_.count(rank) > 0; ++i) {
    if (!read_some(rank)) break;
  }
  drop(rank);
}

bool AgentPmi1::read_some(int rank) {
  const auto link = links_.find(rank);
  if (link == links_.end()) return false;
  std::array<char, 16 * 1024> bytes;
  const ssize_t n =
      ::read(link->second.socket.get(), bytes.data(), bytes.size());
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  if (n == 0) return false;
  link->second.in_use = true;
  if (server_.receive(rank, {bytes.data(), static_cast<size_t>(n)})) {
    return true;
  }
  events_.complain(rank,
                   "it sent something to its PMI server that is not PMI-1");
  return false;
}

void AgentPmi1::write(int rank, std::string_view line) {
  const auto link = links_.find(rank);
  if (link == links_.end()) return;
  std::string& unsent = link->second.unsent;
  const bool idle = unsent.empty();
  unsent.append(line);
  if (unsent.size() > kMostUnsent) {
    events_.complain(rank, "it does not read the answers of its PMI server");
    return drop(rank);
  }
  if (idle) flush(rank);
}

void AgentPmi1::flush(int rank) {
  const auto found = links_.find(rank);
  if (found == links_.end()) return;
  Link& link = found->second;
  while (!link.unsent.empty()) {
    const ssize_t n = ::send(link.socket.get(), link.unsent.data(),
                             link.unsent.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      link.watch->on_writable([this, rank] { flush(rank); });
      return;
    }
    if (n < 0) {
      // The reader notices the end; bytes that it still sent are worth reading.
      link.unsent.clear();
      break;
    }
    link.unsent.erase(0, static_cast<size_t>(n));
  }
  link.watch->stop_writing();
}

void AgentPmi1::drop(int rank) {
  const auto link = links_.find(rank);
  if (link == links_.end()) return;
  link->second.watch.reset();
  links_.erase(link);
}

void AgentPmi1::barrier(std::string contribution) {
  modex_.fence("pmi1:*", contribution, [this](Result<std::string> all) {
    // Without an answer the ranks stay in the barrier: the job is ending.
    if (all) server_.release(*all);
  });
}

}  // namespace muster
