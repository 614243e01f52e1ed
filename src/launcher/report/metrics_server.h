// SPDX-License-Identifier: Apache-2.0
// MetricsServer: answers GET /metrics for Prometheus on one port. HTTP/1.0, one
// answer per connection, on the launcher's loop. Refuses: requests above 4 KiB,
// more than 16 connections at once, peers that take longer than 5 s; 404 for
// any path but /metrics.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/accept_watch.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/result.h"

namespace muster {

class MetricsServer {
 public:
  MetricsServer(Loop& loop, std::function<std::string()> text);
  ~MetricsServer();

  // On all addresses. Error code "port_in_use" or errno's.
  Status listen(int port);
  [[nodiscard]] int port() const { return port_; }

 private:
  struct Peer;
  void accept_peer(UniqueFd fd);
  void read_request(int fd);
  void write_answer(int fd);

  Loop& loop_;
  std::function<std::string()> text_;
  UniqueFd listener_;
  std::unique_ptr<AcceptWatch> watch_;
  int port_ = 0;
  std::map<int, std::unique_ptr<Peer>> peers_;
};

}  // namespace muster
