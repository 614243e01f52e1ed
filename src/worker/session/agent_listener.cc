// SPDX-License-Identifier: Apache-2.0
#include "worker/session/agent_listener.h"

#include "base/listen.h"
#include "job/port_range.h"

namespace muster {

namespace {

Result<PortRange> parse_ports(const std::string& range) {
  if (range.empty()) return PortRange{};
  auto ports = parse_port_range(range);
  if (!ports) {
    Error error = ports.error();
    error.where = "MUSTER_PORT_RANGE";
    return fail(std::move(error));
  }
  return ports;
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
