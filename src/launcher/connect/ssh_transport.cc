// SPDX-License-Identifier: Apache-2.0
#include "launcher/connect/ssh_transport.h"

#include "launcher/connect/agent_ended.h"

namespace muster {

SshTransport::SshTransport(Loop& loop, Resolver& resolver,
                           SshTransportOptions options)
    : loop_(loop), resolver_(resolver), options_(std::move(options)) {}

SshTransport::~SshTransport() { *alive_ = false; }

void SshTransport::start(TransportEvents events) {
  events_ = std::move(events);
  events_.on_step("resolve");
  resolver_.resolve(options_.host, [this, alive = alive_](
                                       Result<std::vector<Address>> addresses) {
    if (!*alive) return;
    if (addresses) {
      connect(std::move(*addresses));
    } else {
      close(addresses.error());
    }
  });
}

void SshTransport::connect(std::vector<Address> addresses) {
  events_.on_step("tcp");
  tcp_ = std::make_unique<TcpConnector>(loop_, std::move(addresses),
                                        options_.port(), options_.tcp_timeout,
                                        [this](Result<UniqueFd> fd) {
                                          if (fd) {
                                            open_ssh(std::move(*fd));
                                          } else {
                                            close(fd.error());
                                          }
                                        });
}

void SshTransport::open_ssh(UniqueFd fd) {
  events_.on_step("ssh");
  Address address;
  address.length = sizeof address.storage;
  auto* raw = reinterpret_cast<sockaddr*>(&address.storage);
  if (::getsockname(fd.get(), raw, &address.length) == 0) {
    local_ = to_text(address);
  }
  address.length = sizeof address.storage;
  if (::getpeername(fd.get(), raw, &address.length) == 0) {
    peer_ = to_text(address);
  }
  SshClientOptions options;
  options.user = options_.user;
  options.identity = &options_.keys->private_key;
  options.expected_host_key =
      options_.pin_host_key ? &options_.keys->private_key : nullptr;
  options.command = options_.command;
  SshClientEvents events;
  events.on_open = [this] { events_.on_open(); };
  events.on_stdout = [this](std::string_view data) { events_.on_data(data); };
  static_assert(kSshQueueMark == kQueueMark);
  events.on_drained = [this] {
    if (events_.on_drained) events_.on_drained();
  };
  events.on_stderr = [this](std::string_view data) { events_.on_stderr(data); };
  events.on_failed = [this](Error error) { close(std::move(error)); };
  events.on_exit = [this](int status) {
    close(agent_ended(options_.host, status));
  };
  ssh_ = std::make_unique<SshClient>(loop_, std::move(fd), std::move(options),
                                     std::move(events));
}

void SshTransport::send(std::string_view bytes) {
  if (ssh_) ssh_->send(bytes);
}

size_t SshTransport::queued() const { return ssh_ ? ssh_->queued() : 0; }

void SshTransport::close(Error error) {
  if (error.where.empty()) error.where = options_.host;
  const auto closed = std::move(events_.on_closed);
  events_.on_closed = nullptr;
  if (closed) closed(std::move(error));
}

}  // namespace muster
