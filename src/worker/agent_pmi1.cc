// SPDX-License-Identifier: Apache-2.0
#include "worker/agent_pmi1.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace muster {

namespace {
constexpr size_t kMostUnsent = 1 << 20;
}

AgentPmi1::AgentPmi1(Loop& loop, const World& world, ModexClient& modex,
                     PmiEvents events)
    : loop_(loop),
      modex_(modex),
      events_(std::move(events)),
      server_(world,
              {[this](int rank, std::string_view line) { write(rank, line); },
               [this](std::string contribution) {
                 barrier(std::move(contribution));
               },
               events_.connected, events_.finalized, events_.aborted,
               [this](int rank, wire::NamesRequest request) {
                 modex_.names(request, [this, rank](wire::NamesReply reply) {
                   server_.names_reply(rank, reply);
                 });
               },
               events_.complain}) {}

Result<UniqueFd> AgentPmi1::connect(int rank) {
  auto pair = make_socketpair(SOCK_STREAM);
  if (!pair) return tl::unexpected(pair.error());
  set_nonblocking(pair->read.get());
  Link& link = links_[rank];
  link.watch.reset();
  link.unsent.clear();
  link.socket = std::move(pair->read);
  link.watch = std::make_unique<FdWatch>(loop_, link.socket.get());
  link.watch->on_readable([this, rank] {
    if (!read_some(rank)) drop(rank);
  });
  return std::move(pair->write);
}

void AgentPmi1::rank_ended(int rank) {
  // Its last words may still be in the socket: finalize, or abort.
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
  if (server_.receive(rank, {bytes.data(), static_cast<size_t>(n)})) {
    return true;
  }
  events_.complain(rank, "it sent something on PMI_FD that is not PMI-1");
  return false;
}

void AgentPmi1::write(int rank, std::string_view line) {
  const auto link = links_.find(rank);
  if (link == links_.end()) return;
  const bool idle = link->second.unsent.empty();
  link->second.unsent.append(line);
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
    if (n < 0 && errno == EAGAIN && link.unsent.size() <= kMostUnsent) {
      link.watch->on_writable([this, rank] { flush(rank); });
      return;
    }
    if (n < 0) {
      // The reader notices the end; what it still sent is worth reading.
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
