// SPDX-License-Identifier: Apache-2.0
#include "worker/hang/agent_ras.h"

#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/fd.h"
#include "base/read_to_end.h"
#include "base/text.h"
#include "fabric/prove/pair_socket.h"

namespace muster {

namespace {

constexpr std::string_view kPort = "28028";
constexpr std::string_view kOff = "off";
constexpr size_t kLongest = 128 << 10;
// Of NCCL's own wait for its other processes; one that is gone costs it twice.
constexpr std::string_view kTimeout = "TIMEOUT 2\n";

class Conversation {
 public:
  Conversation(UniqueFd socket, Deadline end)
      : socket_(std::move(socket)), end_(end) {}

  bool say(std::string_view text) {
    return send_exactly(socket_.get(), text.data(), text.size(), end_)
        .has_value();
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

  // All bytes until the other side ends, or time is up.
  std::string rest() {
    while (held_.size() < kLongest && more()) {
    }
    held_.resize(std::min(held_.size(), kLongest));
    return std::move(held_);
  }

 private:
  bool more() {
    char bytes[8192];
    const auto n = receive_some(socket_.get(), bytes, sizeof bytes, end_);
    if (n) held_.append(bytes, *n);
    return n.has_value();
  }

  UniqueFd socket_;
  Deadline end_;
  std::string held_;
};

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

// "host:port", "[v6]:port", or "" for NCCL's default, which is its own
// localhost: of either family.
std::string ask_ras(const std::string& address, Milliseconds limit) {
  if (address == kOff) return {};
  const Deadline end = Clock::now() + limit;
  const size_t colon = address.rfind(':');
  const std::string port(colon == std::string::npos
                             ? kPort
                             : std::string_view(address).substr(colon + 1));
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  std::vector<std::string> hosts = {host};
  if (host.empty() || host == "localhost") hosts = {"127.0.0.1", "::1"};
  for (const std::string& one : hosts) {
    auto fd = connect_tcp(one, port, end);
    if (!fd) continue;
    std::string report = converse({std::move(*fd), end});
    if (!report.empty()) return report;
  }
  return {};
}

int ras_main() {
  constexpr size_t kLongestAddress = 4096;
  const std::string address = read_to_end(STDIN_FILENO, kLongestAddress);
  // Less than the agent waits for us, so that a part of a report counts.
  const std::string report = ask_ras(address, kRasLimit - Milliseconds{500});
  return report.empty() || !write_all(STDOUT_FILENO, report) ? 1 : 0;
}

}  // namespace muster
