// SPDX-License-Identifier: Apache-2.0
#include "worker/facts/agent_reach.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "worker/facts/facts_probe.h"

namespace muster {

namespace {

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

// Null unless `host` is an address.
Addresses parse_address(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const std::string service = std::to_string(port);
  if (::getaddrinfo(host.c_str(), service.c_str(), &hints, &list) != 0) {
    list = nullptr;
  }
  return {list, [](addrinfo* all) {
            if (all != nullptr) ::freeaddrinfo(all);
          }};
}

}  // namespace

bool AgentReach::can_answer(const wire::ProbeRequest& request) {
  return request.names.empty() &&
         std::all_of(request.targets.begin(), request.targets.end(),
                     [](const wire::ProbeTarget& target) {
                       return parse_address(target.host, target.port) !=
                              nullptr;
                     });
}

AgentReach::AgentReach(Loop& loop, const wire::ProbeRequest& request, Done done)
    : loop_(loop),
      reply_(failed_probe(request)),
      done_(std::move(done)),
      timer_(loop) {
  attempts_.resize(request.targets.size());
  for (size_t i = 0; i < attempts_.size(); ++i) {
    attempts_[i].subject = reply_.results[i].subject;
    attempts_[i].address = request.targets[i].host;
    begin(i, request.targets[i].port);
  }
  timer_.start(Milliseconds(open_ == 0 ? 0 : request.timeout_ms),
               [this] { finish(); });
}

void AgentReach::begin(size_t index, int port) {
  Attempt& attempt = attempts_[index];
  const auto address = parse_address(attempt.address, port);
  int error = EINVAL;
  if (address) {
    attempt.socket.reset(::socket(
        address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    error = errno;
    if (attempt.socket) {
      error = ::connect(attempt.socket.get(), address->ai_addr,
                        address->ai_addrlen) == 0
                  ? 0
                  : errno;
    }
  }
  if (error != EINPROGRESS) {
    reply_.results[index] =
        connect_result(attempt.subject, attempt.address, error);
    return;
  }
  ++open_;
  attempt.watch = std::make_unique<FdWatch>(loop_, attempt.socket.get());
  attempt.watch->on_writable([this, index] {
    int result = 0;
    socklen_t size = sizeof result;
    ::getsockopt(attempts_[index].socket.get(), SOL_SOCKET, SO_ERROR, &result,
                 &size);
    settle(index, result);
  });
}

void AgentReach::settle(size_t index, int error) {
  Attempt& attempt = attempts_[index];
  attempt.watch.reset();
  attempt.socket.reset();
  reply_.results[index] =
      connect_result(attempt.subject, attempt.address, error);
  if (--open_ == 0) finish();
}

void AgentReach::finish() {
  timer_.cancel();
  for (Attempt& attempt : attempts_) attempt.watch.reset();
  if (const Done done = std::exchange(done_, nullptr)) done(std::move(reply_));
}

}  // namespace muster
