// SPDX-License-Identifier: Apache-2.0
// The requests that the peer of a connection may make: a login by key, one
// channel, a few variables, one command, signals. The server refuses every
// other request, and reports it to pid 1 once the peer has logged in.
#include <poll.h>

#include <algorithm>

#include "base/log.h"
#include "base/printable.h"
#include "sshd-lite/connection_impl.h"
#include "sshd-lite/exec_policy.h"
#include "sshd-lite/signal_names.h"

namespace muster {

namespace {

constexpr Milliseconds kStartTimeout{20000};  // pid 1's answer to a command
constexpr int kMaxEnvironment = 16;

template <class T>
Connection& self(T* userdata) {
  return *static_cast<Connection*>(userdata);
}

// "": a reason not worth reporting, such as the size of a window.
std::string name_of(ssh_message message) {
  const int kind = ssh_message_subtype(message);
  switch (ssh_message_type(message)) {
    case SSH_REQUEST_CHANNEL_OPEN:
      return "a forwarded connection";
    case SSH_REQUEST_GLOBAL:
      return kind == SSH_GLOBAL_REQUEST_TCPIP_FORWARD ? "a listening port" : "";
    case SSH_REQUEST_CHANNEL:
      break;
    default:
      return {};
  }
  switch (kind) {
    case SSH_CHANNEL_REQUEST_PTY:
      return "a terminal";
    case SSH_CHANNEL_REQUEST_SHELL:
      return "a shell";
    case SSH_CHANNEL_REQUEST_X11:
      return "X11";
    case SSH_CHANNEL_REQUEST_SUBSYSTEM:
      return "the subsystem " +
             printable(ssh_message_channel_request_subsystem(message), 64);
    default:
      return {};
  }
}

}  // namespace

void Connection::set_callbacks() {
  server_callbacks_.userdata = this;
  server_callbacks_.auth_pubkey_function =
      [](ssh_session, const char* user, ssh_key key, char state, void* data) {
        return self(data).on_key(user, key, state);
      };
  server_callbacks_.channel_open_request_session_function =
      [](ssh_session, void* data) { return self(data).on_open(); };
  ssh_callbacks_init(&server_callbacks_);
  ssh_set_server_callbacks(session_, &server_callbacks_);
  // libssh would keep a request without a callback (forwarding, foreign
  // channels) in a queue for us; 1 makes it refuse at once.
  ssh_set_message_callback(
      session_,
      [](ssh_session, ssh_message message, void* data) {
        self(data).on_unserved(message);
        return 1;
      },
      this);

  channel_callbacks_.userdata = this;
  channel_callbacks_.channel_exec_request_function =
      [](ssh_session, ssh_channel, const char* command, void* data) {
        return self(data).on_exec(command);
      };
  channel_callbacks_.channel_env_request_function =
      [](ssh_session, ssh_channel, const char* name, const char* value,
         void* data) { return self(data).on_env(name, value); };
  channel_callbacks_.channel_data_function = [](ssh_session, ssh_channel, void*,
                                                uint32_t, int, void* data) {
    if (self(data).pump_) self(data).pump_->stdin_arrived();
    return 0;  // nothing is consumed here
  };
  channel_callbacks_.channel_signal_function =
      [](ssh_session, ssh_channel, const char* name, void* data) {
        self(data).on_signal(name);
      };
  ssh_callbacks_init(&channel_callbacks_);
}

int Connection::on_key(const char* user, ssh_key key, char state) {
  if (authenticated_ || attempts_ >= options_.max_attempts) {
    return SSH_AUTH_DENIED;
  }
  const auto& authorized = options_.keys->authorized;
  // A library that is not itself in FIPS mode would take it.
  const bool approved =
      !options_.fips || ssh_key_type(key) != SSH_KEYTYPE_ED25519;
  const auto match =
      std::find_if(authorized.begin(), authorized.end(), [key](const auto& k) {
        return ssh_key_cmp(key, k.get(), SSH_KEY_CMP_PUBLIC) == 0;
      });
  const bool known = approved && match != authorized.end();
  fingerprint_ = known ? match->fingerprint()
                       : SshKey::adopt(ssh_key_dup(key)).fingerprint();
  user_ = user != nullptr ? user : "";
  if (known && state == SSH_PUBLICKEY_STATE_NONE) return SSH_AUTH_SUCCESS;
  if (!known || state != SSH_PUBLICKEY_STATE_VALID) {
    ++attempts_;
    return SSH_AUTH_DENIED;
  }
  authenticated_ = true;
  // Reported now: the client's command may be in the same packet as its
  // signature.
  tell(Authenticated{printable(user_, 32), fingerprint_});
  return SSH_AUTH_SUCCESS;
}

ssh_channel Connection::on_open() {
  if (!authenticated_) return nullptr;
  if (channel_ != nullptr) {
    tell(Unserved{"a second channel"});
    return nullptr;
  }
  channel_ = ssh_channel_new(session_);
  if (channel_ != nullptr) {
    ssh_set_channel_callbacks(channel_, &channel_callbacks_);
  }
  return channel_;
}

int Connection::on_env(const char* name, const char* value) {
  if (env_.size() >= kMaxEnvironment || !env_allowed(name, value)) {
    log::debug("ssh: {}: variable {} not taken", options_.peer,
               printable(name, 64));
    return 1;
  }
  set_env(env_, name, value);
  return 0;
}

int Connection::on_exec(const char* command) {
  if (!authenticated_ || asked_) return 1;
  asked_ = true;
  refusal_ = start(command);
  if (!refusal_) return 0;
  // A client whose request fails ignores everything that follows: so the
  // request succeeds, and ends with the reason. Our own launcher waits for the
  // reason, and must not take it for an agent's.
  const bool of_launcher =
      std::string_view(command).find("muster-agent") != std::string_view::npos;
  return of_launcher ? 1 : 0;
}

// nullopt: it runs, else why not.
std::optional<std::string> Connection::start(const char* command) {
  const std::string request =
      encode(LinkRequest(ExecRequest{std::string(command), env_}));
  if (request.size() > kMaxLinkMessage) return "the command is too long";
  if (!send_with_fds(link_.get(), request, {})) {
    return "the worker's supervisor is gone";
  }
  pollfd wait{link_.get(), POLLIN, 0};
  if (::poll(&wait, 1, static_cast<int>(kStartTimeout.count())) <= 0) {
    return "the worker's supervisor did not answer in 20 s";
  }
  auto message = receive_with_fds(link_.get(), kMaxLinkMessage);
  const auto reply = message ? decode_reply(message->bytes) : std::nullopt;
  if (reply && std::holds_alternative<ProgramStarted>(*reply) &&
      message->fds.size() == 3) {
    pump_ = std::make_unique<ChannelPump>(
        session_, channel_,
        ProgramPipes{std::move(message->fds[0]), std::move(message->fds[1]),
                     std::move(message->fds[2])});
    return std::nullopt;
  }
  const auto* refused = reply ? std::get_if<ProgramRefused>(&*reply) : nullptr;
  return refused ? refused->reason : "the worker's supervisor is gone";
}

void Connection::on_signal(const char* name) {
  const int number = ssh_signal_number(name);
  if (!pump_ || number == 0) return;
  tell(SignalProgram{number});
}

void Connection::on_unserved(ssh_message message) {
  if (!authenticated_) return;
  if (const std::string what = name_of(message); !what.empty()) {
    tell(Unserved{what});
  }
}

}  // namespace muster
