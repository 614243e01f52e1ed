// SPDX-License-Identifier: Apache-2.0
#include "worker/facts/facts_probe.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>

#include "base/fd.h"

namespace muster {

namespace {

using Deadline = std::chrono::steady_clock::time_point;
using wire::ProbeResult;

constexpr size_t kMaxThreads = 16;

struct Question {
  std::string subject;
  std::string host;
  int port = 0;  // 0: only resolve
};

// Shared with threads that may outlive run_probe(): hence shared_ptr.
struct Work {
  std::vector<Question> questions;
  Deadline deadline;
  std::mutex mutex;
  std::condition_variable changed;
  size_t next = 0;
  size_t answered = 0;
  std::vector<ProbeResult> results;
};

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

std::string numeric(const addrinfo& address) {
  char text[NI_MAXHOST] = {};
  ::getnameinfo(address.ai_addr, address.ai_addrlen, text, sizeof text, nullptr,
                0, NI_NUMERICHOST);
  return text;
}

ProbeResult connect_to(const std::string& subject, const addrinfo& address,
                       Deadline deadline) {
  UniqueFd socket(::socket(address.ai_family,
                           SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return {subject, "error", strerror(errno)};
  int error = 0;
  if (::connect(socket.get(), address.ai_addr, address.ai_addrlen) != 0) {
    error = errno;
  }
  if (error == EINPROGRESS) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd ready{socket.get(), POLLOUT, 0};
    const int wait = static_cast<int>(std::max<int64_t>(left.count(), 0));
    if (::poll(&ready, 1, wait) != 1) {
      return {subject, "timeout", "no answer from " + numeric(address)};
    }
    socklen_t size = sizeof error;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  }
  return connect_result(subject, numeric(address), error);
}

ProbeResult answer(const Question& question, Deadline deadline) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const std::string port = std::to_string(question.port);
  const int rc =
      ::getaddrinfo(question.host.c_str(),
                    question.port > 0 ? port.c_str() : nullptr, &hints, &list);
  if (rc != 0) {
    return {question.subject, "dns_unresolved",
            rc == EAI_SYSTEM ? strerror(errno) : gai_strerror(rc)};
  }
  const Addresses owner(list, ::freeaddrinfo);
  if (question.port == 0) {
    std::string all;
    for (const addrinfo* at = list; at != nullptr; at = at->ai_next) {
      all += (all.empty() ? "" : " ") + numeric(*at);
    }
    return {question.subject, "ok", all};
  }
  ProbeResult result;
  for (const addrinfo* at = list; at != nullptr; at = at->ai_next) {
    result = connect_to(question.subject, *at, deadline);
    if (result.outcome == "ok") break;
  }
  return result;
}

void work_through(const std::shared_ptr<Work>& work) {
  std::unique_lock lock(work->mutex);
  while (work->next < work->questions.size()) {
    const size_t mine = work->next++;
    lock.unlock();
    ProbeResult result = answer(work->questions[mine], work->deadline);
    lock.lock();
    work->results[mine] = std::move(result);
    ++work->answered;
    work->changed.notify_one();
  }
}

std::vector<Question> questions_of(const wire::ProbeRequest& request) {
  std::vector<Question> out;
  for (const std::string& name : request.names) out.push_back({name, name, 0});
  for (const wire::ProbeTarget& target : request.targets) {
    out.push_back({target.host + ":" + std::to_string(target.port), target.host,
                   target.port});
  }
  return out;
}

}  // namespace

ProbeResult connect_result(const std::string& subject,
                           const std::string& address, int error) {
  if (error == 0) return {subject, "ok", address};
  const bool unreachable = error == EHOSTUNREACH || error == ENETUNREACH;
  const char* outcome = error == ECONNREFUSED ? "refused"
                        : error == ETIMEDOUT  ? "timeout"
                        : unreachable         ? "unreachable"
                                              : "error";
  return {subject, outcome, address + ": " + strerror(error)};
}

wire::ProbeReply failed_probe(const wire::ProbeRequest& request) {
  wire::ProbeReply reply;
  for (const Question& question : questions_of(request)) {
    reply.results.push_back(
        {question.subject, "timeout",
         "no answer within " + std::to_string(request.timeout_ms) + " ms"});
  }
  return reply;
}

wire::ProbeReply run_probe(const wire::ProbeRequest& request) {
  wire::ProbeReply reply = failed_probe(request);
  const auto work = std::make_shared<Work>();
  work->questions = questions_of(request);
  work->deadline = std::chrono::steady_clock::now() +
                   std::chrono::milliseconds(request.timeout_ms);
  work->results = reply.results;
  const size_t threads = std::min(kMaxThreads, work->questions.size());
  for (size_t i = 0; i < threads; ++i) {
    std::thread([work] { work_through(work); }).detach();
  }
  std::unique_lock lock(work->mutex);
  // A connect that ends with the deadline still gets its word in.
  work->changed.wait_until(
      lock, work->deadline + std::chrono::milliseconds(100),
      [&work] { return work->answered == work->questions.size(); });
  reply.results = work->results;
  return reply;
}

}  // namespace muster
