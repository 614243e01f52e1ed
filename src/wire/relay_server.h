// SPDX-License-Identifier: Apache-2.0
// RelayServer: the launcher's end of `muster ssh`. Accepts relays on a Unix
// socket, turns each into an id and events, and writes back what the command
// on the other host prints.
//
// Bounded: the launcher passes output on only as the agent sends it, the agent
// sends only what it has credit for, and on_written says how much credit may be
// given back. stdin flows only as far as stdin_credit() allowed.
// Refuses: peers of another uid, anything but a request first, more stdin than
// credit. Owns the socket file. Loop thread; callbacks must not destroy it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/accept_watch.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/result.h"
#include "wire/relay_protocol.h"

namespace muster::wire {

class RelayServer {
 public:
  struct Callbacks {
    std::function<void(uint32_t id, const RelayRequest& request)> on_request;
    std::function<void(uint32_t id, std::string_view bytes)> on_stdin;
    std::function<void(uint32_t id)> on_stdin_eof;
    // The relay was killed, or left, before its command had ended.
    std::function<void(uint32_t id)> on_hangup;
    // `bytes` of output of `stream` (kStdout, kStderr) went out.
    std::function<void(uint32_t id, uint8_t stream, uint32_t bytes)> on_written;
  };

  RelayServer(Loop& loop, Callbacks callbacks);
  ~RelayServer();
  RelayServer(const RelayServer&) = delete;
  RelayServer& operator=(const RelayServer&) = delete;

  // Replaces an old socket at `path`; only this uid may connect.
  Status listen(const std::string& path);

  // Ignores unknown ids: a relay may have left meanwhile.
  void output(uint32_t id, uint8_t stream, std::string_view bytes);
  void stdin_credit(uint32_t id, uint32_t bytes);
  void exited(uint32_t id, int wait_status);
  void failed(uint32_t id, const std::string& text);

 private:
  class Connection;

  void accept_relay(UniqueFd socket);
  void remove(uint32_t id);

  Loop& loop_;
  Callbacks callbacks_;
  std::string path_;
  UniqueFd listener_;
  std::unique_ptr<AcceptWatch> watch_;
  uint32_t next_id_ = 1;
  std::map<uint32_t, std::unique_ptr<Connection>> connections_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::wire
