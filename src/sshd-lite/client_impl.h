// SPDX-License-Identifier: Apache-2.0
// The inside of SshClient, private to client.cc (lifetime and the running
// stream) and client_handshake.cc (everything up to on_open).
// Stages: kConnect -> (kService, RSA keys only) -> kAuth -> kOpen -> kExec ->
//         kRunning -> kOver; kRefused collects the server's reason for at most
//         a second. step() makes every transition.
// libssh may poll and call back inside any of its calls, so its callbacks only
// record (exit_), and ours run between its calls.
#pragma once

#include <libssh/callbacks.h>
#include <libssh/libssh.h>

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "sshd-lite/client.h"
#include "sshd-lite/send_queue.h"

namespace muster {

class SshClient::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(Loop& loop, UniqueFd fd, SshClientOptions options,
       SshClientEvents events)
      : loop_(loop),
        fd_(std::move(fd)),
        options_(std::move(options)),
        events_(std::move(events)),
        banner_timer_(loop),
        banner_pause_(loop),
        handshake_timer_(loop),
        stage_timer_(loop) {}
  ~Impl() { shutdown(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void start();
  void send(std::string_view bytes);
  void send_eof();
  void send_signal(int number);
  void shutdown();
  [[nodiscard]] size_t queued() const { return queue_.size(); }
  [[nodiscard]] std::string banner() const;

 private:
  enum class Stage {
    kConnect,
    kService,
    kAuth,
    kOpen,
    kExec,
    kRefused,
    kRunning,
    kOver
  };

  bool setup();
  void wake();
  void step();
  bool check_banner();
  void hear_banner();
  void answer_door(std::string_view version_line);
  bool advance();  // one transition; false: wait
  bool connect_step();
  bool verify_host();
  bool service_step();
  bool auth_step();
  bool open_step();
  bool exec_step();
  void collect_refusal();
  void refused(const std::string& why);
  void run_step();
  bool deliver(int is_stderr);
  bool write_queue();
  void finish_if_over();
  void watch_writes();
  void fail_with(Error error);
  static const char* stage_name(Stage stage);
  void enter(Stage stage) { stage_ = stage; }
  [[nodiscard]] bool writes_wait() const {
    return (ssh_get_poll_flags(session_) & SSH_WRITE_PENDING) != 0;
  }
  [[nodiscard]] std::string library_error() const;

  Loop& loop_;
  UniqueFd fd_;
  std::unique_ptr<FdWatch> watch_;
  SshClientOptions options_;
  SshClientEvents events_;
  Timer banner_timer_;
  Timer banner_pause_;
  Timer handshake_timer_;
  Timer stage_timer_;
  ssh_session session_ = nullptr;
  ssh_event event_ = nullptr;
  ssh_channel channel_ = nullptr;
  ssh_channel_callbacks_struct callbacks_{};
  Stage stage_ = Stage::kConnect;
  bool banner_seen_ = false;
  bool may_speak_ = false;
  bool wake_posted_ = false;
  // Of stdout and stderr, data since run_step() looked.
  std::array<bool, 2> arrived_ = {false, false};
  bool writes_watched_ = false;
  bool eof_wanted_ = false;
  bool eof_sent_ = false;
  SendQueue queue_{kSshQueueMark};
  std::optional<int> exit_;  // recorded by libssh's callbacks
  std::string reason_;       // stderr of a refused command
};

}  // namespace muster
