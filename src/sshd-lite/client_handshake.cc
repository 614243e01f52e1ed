// SPDX-License-Identifier: Apache-2.0
// A client's way from a connected socket to a running command; the stages are
// explained in client_impl.h.
#include <libssh/libssh.h>
#include <sys/socket.h>

#include "sshd-lite/client_errors.h"
#include "sshd-lite/client_impl.h"
#include "sshd-lite/client_setup.h"
#include "sshd-lite/door_proof.h"

namespace muster {

namespace {

constexpr Milliseconds kRefusalTimeout{1000};
constexpr Milliseconds kBannerPause{20};
constexpr size_t kMaxReason = 2048;

}  // namespace

const char* SshClient::Impl::stage_name(Stage stage) {
  switch (stage) {
    case Stage::kConnect:
      return "key exchange";
    case Stage::kService:
    case Stage::kAuth:
      return "authentication";
    case Stage::kOpen:
      return "opening the channel";
    default:
      return "starting the agent";
  }
}

// False: it is over, or too early for libssh.
bool SshClient::Impl::check_banner() {
  if (ssh_get_serverbanner(session_) != nullptr) {
    // It came after our last look, and libssh took it. The bytes now there are
    // not a version line.
    hear_banner();
    return true;
  }
  const auto seen = peek_banner(fd_.get());
  if (!seen) {
    fail_with(seen.error());
    return false;
  }
  if (seen->begun && !seen->line) {
    // libssh would take the first part, and the rest would look foreign. Bytes
    // that are only peeked at stay readable: do not poll again at once.
    watch_->stop_reading();
    banner_pause_.start(kBannerPause,
                        [this] { watch_->on_readable([this] { step(); }); });
    return false;
  }
  if (!seen->line) return true;
  hear_banner();
  if (!may_speak_) answer_door(*seen->line);
  may_speak_ = true;
  return true;
}

void SshClient::Impl::hear_banner() {
  banner_seen_ = true;
  banner_timer_.cancel();
  stage_timer_.cancel();
}

// Before libssh sends its version line. The send buffer is empty; if the line
// is lost, the client logs in like any other.
void SshClient::Impl::answer_door(std::string_view version_line) {
  const auto nonce = nonce_of(version_line);
  const std::string& secret = options_.identity->door_secret();
  if (!nonce || secret.empty()) return;
  const std::string line = proof_line(secret, *nonce);
  (void)::send(fd_.get(), line.data(), line.size(),
               MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool SshClient::Impl::advance() {
  switch (stage_) {
    case Stage::kConnect:
      return connect_step();
    case Stage::kService:
      return service_step();
    case Stage::kAuth:
      return auth_step();
    case Stage::kOpen:
      return open_step();
    case Stage::kExec:
      return exec_step();
    case Stage::kRefused:
      collect_refusal();
      return false;
    case Stage::kRunning:
    case Stage::kOver:
      break;
  }
  return false;
}

bool SshClient::Impl::connect_step() {
  const int rc = ssh_connect(session_);
  set_nonblocking(fd_.get());  // libssh has switched it back
  if (rc == SSH_AGAIN) return false;
  if (rc != SSH_OK) {
    fail_with(ssh_error::key_exchange(library_error()));
    return false;
  }
  if (!verify_host()) return false;
  ssh_event_add_session(event_, session_);
  enter(options_.identity->is_rsa() ? Stage::kService : Stage::kAuth);
  return true;
}

// libssh picks an RSA key's kind of signature from the server's list of
// extensions and would use SHA-1 before that has come. The list comes behind
// the key exchange, so a client that has the answer to a later question has it.
bool SshClient::Impl::service_step() {
  const int rc = ssh_service_request(session_, "ssh-userauth");
  if (rc == SSH_AGAIN) return false;
  if (rc != SSH_OK) {
    fail_with(ssh_error::lost(library_error()));
    return false;
  }
  enter(Stage::kAuth);
  return true;
}

bool SshClient::Impl::verify_host() {
  if (options_.expected_host_key == nullptr) return true;
  ssh_key raw = nullptr;
  ssh_get_server_publickey(session_, &raw);
  const SshKey found = SshKey::adopt(raw);
  if (found.same_public(*options_.expected_host_key)) return true;
  fail_with(ssh_error::wrong_host_key(options_.expected_host_key->fingerprint(),
                                      found.fingerprint(), banner()));
  return false;
}

bool SshClient::Impl::auth_step() {
  const int rc =
      ssh_userauth_publickey(session_, nullptr, options_.identity->get());
  if (rc == SSH_AUTH_AGAIN) return false;
  if (rc != SSH_AUTH_SUCCESS) {
    fail_with(
        ssh_error::not_authorized(options_.identity->fingerprint(),
                                  rc == SSH_AUTH_ERROR ? library_error() : ""));
    return false;
  }
  channel_ = ssh_channel_new(session_);
  if (channel_ == nullptr) {
    fail_with(ssh_error::lost(library_error()));
    return false;
  }
  ssh_set_channel_callbacks(channel_, &callbacks_);
  enter(Stage::kOpen);
  return true;
}

bool SshClient::Impl::open_step() {
  const int rc = ssh_channel_open_session(channel_);
  if (rc == SSH_AGAIN) return false;
  if (rc != SSH_OK) {
    refused("no session channel: " + library_error());
    return false;
  }
  enter(Stage::kExec);
  return true;
}

bool SshClient::Impl::exec_step() {
  const int rc = ssh_channel_request_exec(channel_, options_.command.c_str());
  if (rc == SSH_AGAIN) return false;
  if (rc != SSH_OK) {
    if (ssh_is_connected(session_) == 0) {
      refused("the connection broke off: " + library_error());
      return false;
    }
    enter(Stage::kRefused);
    stage_timer_.start(kRefusalTimeout, [this] { refused(reason_); });
    return true;
  }
  handshake_timer_.cancel();
  enter(Stage::kRunning);
  if (const auto callback = std::move(events_.on_open)) callback();
  return stage_ == Stage::kRunning;
}

// Our own server says on stderr why it refused; OpenSSH's says nothing.
void SshClient::Impl::collect_refusal() {
  const bool over = ssh_event_dopoll(event_, 0) == SSH_ERROR;
  char buffer[512];
  int n;
  while ((n = ssh_channel_read_nonblocking(channel_, buffer, sizeof buffer,
                                           1)) > 0) {
    if (reason_.size() < kMaxReason) {
      reason_.append(buffer, static_cast<size_t>(n));
    }
  }
  if (over || ssh_channel_is_closed(channel_) != 0 ||
      ssh_channel_is_eof(channel_) != 0) {
    while (!reason_.empty() && reason_.back() == '\n') reason_.pop_back();
    refused(reason_);
  }
}

void SshClient::Impl::refused(const std::string& why) {
  fail_with(ssh_error::command_refused(options_.command, why));
}

}  // namespace muster
