// SPDX-License-Identifier: Apache-2.0
// The inside of serve_connection(), private to connection.cc (the stages and
// the waiting) and connection_requests.cc (what the peer may ask for).
// Stages: 0 version lines -> 1 key exchange -> 2 authentication -> 3 waiting
//         for the command -> 4 pumping -> 5 flushing the end. Each has a
//         deadline but 4, which ends with the program or the peer
//         (TCP_USER_TIMEOUT); 0 and 1 share one.
// libssh's callbacks only record facts; the exception is exec, which asks pid 1
// and waits for its answer, without a call into libssh.
#pragma once

#include <libssh/callbacks.h>
#include <libssh/libssh.h>
#include <libssh/server.h>

#include <memory>
#include <optional>
#include <string>

#include "sshd-lite/channel_pump.h"
#include "sshd-lite/connection.h"
#include "sshd-lite/greeting.h"
#include "sshd-lite/link.h"

namespace muster {

class Connection {
 public:
  Connection(UniqueFd socket, UniqueFd link, const ConnectionOptions& options)
      : options_(options), link_(std::move(link)), socket_(socket.get()) {
    setup(std::move(socket));
  }
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void serve();

 private:
  void setup(UniqueFd socket);
  bool offer_algorithms();
  void set_callbacks();
  bool exchange_keys(Clock::time_point deadline);
  bool authenticate();
  void run_command();
  void say_refusal();
  void flush();
  bool step(Clock::time_point deadline);
  bool ask_at_once();
  bool broken();
  void read_link();
  bool tell(const LinkRequest& request);
  [[nodiscard]] bool alive() const { return ssh_is_connected(session_) != 0; }
  [[nodiscard]] bool writes_wait() const {
    return (ssh_get_poll_flags(session_) & SSH_WRITE_PENDING) != 0;
  }

  int on_key(const char* user, ssh_key key, char state);
  ssh_channel on_open();
  int on_exec(const char* command);
  std::optional<std::string> start(const char* command);
  int on_env(const char* name, const char* value);
  void on_signal(const char* name);
  void on_unserved(ssh_message message);

  const ConnectionOptions& options_;
  UniqueFd link_;
  int socket_;  // owned by session_
  std::optional<Greeting> greeting_;
  ssh_bind bind_ = nullptr;
  ssh_session session_ = nullptr;
  ssh_event event_ = nullptr;
  ssh_channel channel_ = nullptr;
  ssh_server_callbacks_struct server_callbacks_{};
  ssh_channel_callbacks_struct channel_callbacks_{};
  ssh_counter_struct received_{};  // the peer's packets, counted by libssh
  bool keys_agreed_ = false;
  int attempts_ = 0;
  bool authenticated_ = false;
  std::string user_;
  std::string fingerprint_;
  Environment env_;
  bool asked_ = false;
  std::optional<std::string> refusal_;
  std::unique_ptr<ChannelPump> pump_;
  bool tidied_ = false;
};

}  // namespace muster
