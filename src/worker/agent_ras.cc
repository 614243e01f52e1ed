// SPDX-License-Identifier: Apache-2.0
#include "worker/agent_ras.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/fd.h"
#include "base/text.h"

namespace muster {

namespace {

constexpr std::string_view kPort = "28028";
constexpr std::string_view kOff = "off";
constexpr size_t kLongest = 128 << 10;
// Of NCCL's own wait for its other processes; one that is gone costs it twice.
constexpr std::string_view kTimeout = "TIMEOUT 2\n";

class Conversation {
 public:
  Conversation(UniqueFd socket, Clock::time_point end)
      : socket_(std::move(socket)), end_(end) {}

  bool say(std::string_view text) {
    while (!text.empty()) {
      const ssize_t n =
          ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (n > 0) {
        text.remove_prefix(static_cast<size_t>(n));
      } else if (errno != EAGAIN || !ready(POLLOUT)) {
        return false;
      }
    }
    return true;
  }

  // The next line without its end; nullopt: none came.
  std::optional<std::string> line() {
    size_t end = 0;
    while ((end = held_.find('\n')) == std::string::npos) {
      if (held_.size() > kLongest || !more()) return std::nullopt;
    }
    std::string out = held_.substr(0, end);
    held_.erase(0, end + 1);
    return out;
  }

  // What comes until the other side ends it, or time is up.
  std::string rest() {
    while (held_.size() < kLongest && more()) {
    }
    held_.resize(std::min(held_.size(), kLongest));
    return std::move(held_);
  }

 private:
  bool ready(short events) {
    const auto left =
        std::chrono::duration_cast<Milliseconds>(end_ - Clock::now());
    pollfd wait{socket_.get(), events, 0};
    return left.count() > 0 &&
           ::poll(&wait, 1, static_cast<int>(left.count())) == 1;
  }

  bool more() {
    char bytes[8192];
    if (!ready(POLLIN)) return false;
    const ssize_t n = ::recv(socket_.get(), bytes, sizeof bytes, 0);
    if (n > 0) held_.append(bytes, static_cast<size_t>(n));
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
  }

  UniqueFd socket_;
  Clock::time_point end_;
  std::string held_;
};

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

// "host:port", "[v6]:port", or "" for NCCL's default.
Addresses resolve(const std::string& address) {
  const size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  std::string port(colon == std::string::npos ? kPort
                                              : address.substr(colon + 1));
  if (host.empty()) host = "localhost";
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) {
    found = nullptr;
  }
  return {found, [](addrinfo* list) {
            if (list != nullptr) ::freeaddrinfo(list);
          }};
}

UniqueFd connected(const addrinfo& to, Clock::time_point end) {
  UniqueFd fd(
      ::socket(to.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return {};
  if (::connect(fd.get(), to.ai_addr, to.ai_addrlen) == 0) return fd;
  if (errno != EINPROGRESS) return {};
  const auto left =
      std::chrono::duration_cast<Milliseconds>(end - Clock::now());
  pollfd wait{fd.get(), POLLOUT, 0};
  int error = 0;
  socklen_t size = sizeof error;
  if (left.count() <= 0 ||
      ::poll(&wait, 1, static_cast<int>(left.count())) != 1 ||
      ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0 ||
      error != 0) {
    return {};
  }
  return fd;
}

std::string converse(Conversation talk) {
  const auto asked = [&talk](std::string_view line, std::string_view reply) {
    if (!talk.say(line)) return false;
    const auto said = talk.line();
    return said && to_lower(*said).starts_with(reply);
  };
  if (!asked("CLIENT PROTOCOL 2\n", "server protocol") ||
      !asked(kTimeout, "ok") || !talk.say("VERBOSE STATUS\n")) {
    return {};
  }
  return talk.rest();
}

}  // namespace

std::string ras_address_of(std::string_view environ_text) {
  std::string address;
  for (const std::string_view entry : split(environ_text, '\0')) {
    if (entry == "NCCL_RAS_ENABLE=0") return std::string(kOff);
    constexpr std::string_view kName = "NCCL_RAS_ADDR=";
    if (entry.starts_with(kName)) address = entry.substr(kName.size());
  }
  return address;
}

std::string ask_ras(const std::string& address, Milliseconds limit) {
  if (address == kOff) return {};
  const auto end = Clock::now() + limit;
  const Addresses list = resolve(address);
  for (const addrinfo* at = list.get(); at != nullptr; at = at->ai_next) {
    UniqueFd fd = connected(*at, end);
    if (!fd) continue;
    std::string report = converse({std::move(fd), end});
    if (!report.empty()) return report;
  }
  return {};
}

int ras_main() {
  std::string address;
  char bytes[4096];
  ssize_t n = 0;
  while ((n = ::read(STDIN_FILENO, bytes, sizeof bytes)) > 0) {
    address.append(bytes, static_cast<size_t>(n));
  }
  // Less than the agent waits for us, so that a part of a report counts.
  const std::string report = ask_ras(address, kRasLimit - Milliseconds{500});
  return report.empty() || !write_all(STDOUT_FILENO, report) ? 1 : 0;
}

}  // namespace muster
