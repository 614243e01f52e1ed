// SPDX-License-Identifier: Apache-2.0
#include "worker/agent_listener.h"

#include "base/listen.h"
#include "base/text.h"

namespace muster {

namespace {

struct Ports {
  int first = 0;
  int last = 0;
};

Result<Ports> parse_ports(const std::string& range) {
  if (range.empty()) return Ports{};
  const auto parts = split(range, '-');
  const auto first = parse_integer(parts[0]);
  const auto last = parts.size() == 2 ? parse_integer(parts[1]) : std::nullopt;
  if (!first || !last || *first < 1 || *last > 65535 || *first > *last) {
    return fail(Error{"usage",
                      "MUSTER_PORT_RANGE is no range of ports",
                      range,
                      {},
                      "write it as 40000-40999"});
  }
  return Ports{static_cast<int>(*first), static_cast<int>(*last)};
}

}  // namespace

Result<int> ProbeListener::open(const std::string& range) {
  close();
  const auto ports = parse_ports(range);
  if (!ports) return fail(ports.error());
  for (int port = ports->last; port >= ports->first && !socket_; --port) {
    socket_ = listen_on_any(port);
  }
  if (!socket_) return fail_errno("resources", "cannot open a listening port");
  watch_ = std::make_unique<AcceptWatch>(
      loop_, socket_.get(), [](const UniqueFd&) { /* that was all */ });
  return port_of(socket_.get());
}

void ProbeListener::close() {
  watch_.reset();
  socket_.reset();
}

}  // namespace muster
