// SPDX-License-Identifier: Apache-2.0
// SshClient: one SSH session to one worker, running one command, on our loop.
// Takes a connected socket (the caller resolves and connects), pins the host
// key, authenticates with the job key, and becomes a byte stream. Refuses:
// reading ssh_config or known_hosts, any key but the given one, passwords. At
// most 256 KiB should wait in send(); see queued(). Callbacks run on the loop,
// never inside a call of the caller's, and may destroy the client.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/loop.h"
#include "sshd-lite/ssh_key.h"

namespace muster {

struct SshClientOptions {
  std::string user;
  const SshKey* identity = nullptr;           // outlives the client
  const SshKey* expected_host_key = nullptr;  // nullptr: any is taken
  std::string command;
  uint64_t rekey_bytes = 0;           // new keys this often; 0: libssh's way
  Milliseconds banner_timeout{8000};  // from construction
  Milliseconds handshake_timeout{20000};  // from construction to on_open
};

// Error codes of on_failed:
//   ssh_banner   connected, but no SSH banner came in time
//   ssh_foreign  what came is not SSH
//   ssh_closed   closed before a banner came
//   ssh_hostkey  a server with another key than the job's
//   ssh_kex      the key exchange failed or took too long
//   ssh_auth     the job key was not accepted
//   ssh_exec     the server would not run the command (why: its own words)
//   ssh_lost     the session broke after on_open
struct SshClientEvents {
  std::function<void()> on_open;  // the command is running
  std::function<void(std::string_view)> on_stdout;
  std::function<void(std::string_view)> on_stderr;
  std::function<void()> on_drained;      // queued() fell below 256 KiB again
  std::function<void(Error)> on_failed;  // last callback
  // All output was delivered; 128 + N for death by signal N. Last callback.
  std::function<void(int exit_status)> on_exit;
};

constexpr size_t kSshQueueMark = 256 * 1024;

class SshClient {
 public:
  SshClient(Loop& loop, UniqueFd connected, SshClientOptions options,
            SshClientEvents events);
  ~SshClient();  // closes at once, no callbacks
  SshClient(const SshClient&) = delete;
  SshClient& operator=(const SshClient&) = delete;

  // May be called before on_open. Keeps the bytes until the window opens.
  void send(std::string_view bytes);
  [[nodiscard]] size_t queued() const;
  void send_eof();               // after what is queued
  void send_signal(int number);  // to the command; nothing before on_open

  class Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace muster
