// SPDX-License-Identifier: Apache-2.0
// SshTransport: one attempt to reach the agent in a worker pod: resolve the
// name, connect, ssh with the job key, exec the agent.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/loop.h"
#include "launcher/connect/resolver.h"
#include "launcher/connect/tcp_connector.h"
#include "launcher/connect/transport.h"
#include "sshd-lite/client.h"
#include "sshd-lite/keys.h"

namespace muster {

struct SshTransportOptions {
  std::string host;  // as the hostfile names it
  // Asked at each dial; outlives the transport.
  std::function<int()> port = [] { return 2222; };
  std::string user;
  const JobKeys* keys = nullptr;  // outlives the transport
  bool pin_host_key = true;
  std::string command = "muster-agent agent";
  Milliseconds tcp_timeout{3000};
};

class SshTransport : public Transport {
 public:
  SshTransport(Loop& loop, Resolver& resolver, SshTransportOptions options);
  ~SshTransport() override;

  void start(TransportEvents events) override;
  void send(std::string_view bytes) override;
  [[nodiscard]] size_t queued() const override;
  [[nodiscard]] std::string local_address() const override { return local_; }
  [[nodiscard]] std::string peer_address() const override { return peer_; }

 private:
  void connect(std::vector<Address> addresses);
  void open_ssh(UniqueFd fd);
  void close(Error error);

  Loop& loop_;
  Resolver& resolver_;
  SshTransportOptions options_;
  TransportEvents events_;
  std::string local_;
  std::string peer_;
  std::unique_ptr<TcpConnector> tcp_;
  std::unique_ptr<SshClient> ssh_;
  // Resolver answers may come after we are gone.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster
