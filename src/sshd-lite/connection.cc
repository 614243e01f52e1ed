// SPDX-License-Identifier: Apache-2.0
// Stages: 0 version lines -> 1 key exchange -> 2 authentication -> 3 waiting
//         for the command -> 4 pumping -> 5 flushing the end. Each has a
//         deadline but 4, which ends with the program or the peer
//         (TCP_USER_TIMEOUT).
// libssh's callbacks only record facts; the exception is exec, which asks pid 1
// and waits for its answer, without a call into libssh.
#include "sshd-lite/connection.h"

#include <libssh/callbacks.h>
#include <libssh/libssh.h>
#include <libssh/server.h>
#include <malloc.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>

#include "base/log.h"
#include "base/printable.h"
#include "sshd-lite/channel_pump.h"
#include "sshd-lite/crypto_profile.h"
#include "sshd-lite/door_proof.h"
#include "sshd-lite/exec_policy.h"
#include "sshd-lite/greeting.h"
#include "sshd-lite/link.h"
#include "sshd-lite/listener.h"
#include "sshd-lite/sandbox.h"
#include "sshd-lite/signal_names.h"

namespace muster {

namespace {

constexpr Milliseconds kCommandTimeout{30000};  // authenticated, then nothing
constexpr Milliseconds kStartTimeout{20000};    // pid 1's answer to a command
constexpr Milliseconds kFlushTimeout{5000};
constexpr auto kNoDeadline = Clock::time_point::max();
// A session at work is not held up by tidying.
constexpr int kQuietMilliseconds = 200;
constexpr int kMaxEnvironment = 16;
// After each packet libssh wants to hear that the socket takes more, which it
// mostly does: asked at once, that is not a wait of its own.
constexpr int kAskedAtOnce = 8;

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
  bool exchange_keys();
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
  int on_env(const char* name, const char* value);
  void on_signal(const char* name);

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

template <class T>
Connection& self(T* userdata) {
  return *static_cast<Connection*>(userdata);
}

bool Connection::offer_algorithms() {
  const CryptoProfile profile = crypto_profile(options_.fips);
  const std::pair<enum ssh_bind_options_e, const char*> lists[] = {
      {SSH_BIND_OPTIONS_KEY_EXCHANGE, profile.key_exchanges},
      {SSH_BIND_OPTIONS_CIPHERS_C_S, profile.ciphers},
      {SSH_BIND_OPTIONS_CIPHERS_S_C, profile.ciphers},
      {SSH_BIND_OPTIONS_HMAC_C_S, profile.macs},
      {SSH_BIND_OPTIONS_HMAC_S_C, profile.macs},
  };
  return std::all_of(std::begin(lists), std::end(lists), [this](auto& list) {
    return ssh_bind_options_set(bind_, list.first, list.second) == SSH_OK;
  });
}

void Connection::setup(UniqueFd socket) {
  bind_ = ssh_bind_new();
  session_ = ssh_new();
  if (bind_ == nullptr || session_ == nullptr) return;
  const bool process_config = false;
  ssh_bind_options_set(bind_, SSH_BIND_OPTIONS_PROCESS_CONFIG, &process_config);
  const std::string software = server_software(options_.nonce);
  ssh_bind_options_set(bind_, SSH_BIND_OPTIONS_BANNER, software.c_str());
  if (!offer_algorithms()) {
    log::warn("ssh: cannot serve {}: {}", options_.peer, ssh_get_error(bind_));
    return;
  }
  // The bind object takes ownership of the key it is given.
  ssh_key host_key = ssh_key_dup(options_.keys->private_key.get());
  ssh_bind_options_set(bind_, SSH_BIND_OPTIONS_IMPORT_KEY, host_key);
  if (ssh_bind_accept_fd(bind_, session_, socket.get()) != SSH_OK) {
    log::warn("ssh: cannot serve {}: {}", options_.peer, ssh_get_error(bind_));
    return;
  }
  socket.release();  // ssh_free() closes it
  ssh_set_blocking(session_, 0);
  ssh_options_set(session_, SSH_OPTIONS_COMPRESSION, "no");
  ssh_set_auth_methods(session_, SSH_AUTH_METHOD_PUBLICKEY);
  set_callbacks();
  greeting_.emplace(session_, socket_);
  if (!greeting_->begin(server_version_line(options_.nonce))) {
    log::warn("ssh: cannot serve {}: its greeting failed", options_.peer);
    return;
  }
  event_ = ssh_event_new();
}

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
  // What no callback takes (forwarding, foreign channels) libssh would keep in
  // a queue for us; 1 makes it say no at once.
  ssh_set_message_callback(
      session_, [](ssh_session, ssh_message, void*) { return 1; }, nullptr);

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

Connection::~Connection() {
  if (event_ != nullptr) {
    ssh_event_remove_session(event_, session_);
    ssh_event_free(event_);
  }
  if (session_ != nullptr) {
    ssh_disconnect(session_);
    ssh_free(session_);
  }
  if (bind_ != nullptr) ssh_bind_free(bind_);
}

void Connection::serve() {
  if (event_ == nullptr) return;
  if (!greeting_->finish(options_.auth_timeout)) return;
  if (!exchange_keys() || !authenticate()) return;
  run_command();
}

bool Connection::exchange_keys() {
  const auto deadline = Clock::now() + options_.auth_timeout;
  for (int asked = 0;;) {
    const int rc = ssh_handle_key_exchange(session_);
    if (rc == SSH_OK) break;
    if (rc != SSH_AGAIN) {
      log::debug("ssh: no key exchange with {}: {}", options_.peer,
                 printable(ssh_get_error(session_), 200));
      return false;
    }
    if (writes_wait() && ++asked <= kAskedAtOnce) continue;
    asked = 0;
    if (!step(deadline)) {
      log::debug("ssh: {} did not finish the key exchange in time",
                 options_.peer);
      return false;
    }
  }
  keys_agreed_ = true;
  if (!options_.proven) tell(KeysAgreed{});
  return ssh_event_add_session(event_, session_) == SSH_OK;
}

bool Connection::authenticate() {
  const auto deadline = Clock::now() + options_.auth_timeout;
  while (!authenticated_) {
    const bool refused = attempts_ >= options_.max_attempts;
    if (!refused && step(deadline) && alive()) continue;
    if (attempts_ == 0) {
      log::debug("ssh: {} left without offering a key", options_.peer);
    } else {
      tell(Denied{printable(user_, 32), fingerprint_});
    }
    // At once: who is let talk on would have every further key answered.
    if (refused) {
      ssh_session_set_disconnect_message(session_, "too many keys refused");
    }
    return false;
  }
  log::debug("ssh: {} logged in as \"{}\" with {}", options_.peer,
             printable(user_, 32), fingerprint_);
  return true;
}

void Connection::run_command() {
  const auto deadline = Clock::now() + kCommandTimeout;
  while (alive() && !pump_ && !refusal_) {
    if (!step(deadline)) return;
  }
  if (refusal_) {
    say_refusal();
    return flush();
  }
  while (alive() && !pump_->finished()) {
    if (channel_ == nullptr || ssh_channel_is_closed(channel_) != 0) return;
    if (!step(kNoDeadline)) return;
  }
  flush();
}

// OpenSSH's client shows stderr of a refused command; so does ours.
void Connection::say_refusal() {
  const std::string text = "muster: " + *refusal_ + "\n";
  ssh_channel_write_stderr(channel_, text.data(),
                           static_cast<uint32_t>(text.size()));
  ssh_channel_request_send_exit_status(channel_, 126);
  ssh_channel_send_eof(channel_);
  ssh_channel_close(channel_);
}

// Until the peer has taken everything and hung up: closing first, with bytes of
// its unread, would make the kernel reset the connection and lose our last
// ones.
void Connection::flush() {
  const auto deadline = Clock::now() + kFlushTimeout;
  while (alive() && step(deadline)) {
  }
}

// Waits for any descriptor, then lets everything move. False: the deadline has
// passed or the session is over.
bool Connection::step(Clock::time_point deadline) {
  if (pump_) {
    while (alive() && pump_->pump()) {
      if (writes_wait()) ssh_event_dopoll(event_, 0);
    }
    // What follows is not waited for without a deadline: a client that stands
    // still says nothing more.
    if (pump_->finished() && (!alive() || deadline == kNoDeadline)) {
      return alive();
    }
  }
  int left = -1;  // as long as it takes
  if (deadline != kNoDeadline) {
    left = static_cast<int>(
        std::chrono::duration_cast<Milliseconds>(deadline - Clock::now())
            .count());
    if (left <= 0) return false;
  }
  if (!pump_ && ask_at_once()) return !broken();
  std::vector<pollfd> fds{{socket_, POLLIN, 0}, {link_.get(), POLLIN, 0}};
  if (writes_wait()) fds[0].events |= POLLOUT;
  if (pump_ && !pump_->finished()) pump_->add_to_poll(fds);
  // What one wake-up made us say leaves as one packet: each wakes the peer. A
  // line of the program does, but is mostly all that there is to say.
  if (pump_) {
    pump_->let_go();
  } else {
    hold_packets(socket_, false);
  }
  const bool tidy = pump_ && !tidied_ && left < 0;
  const int n =
      ::poll(fds.data(), fds.size(), tidy ? kQuietMilliseconds : left);
  if (pump_) {
    pump_->take_polled(fds);
  } else {
    hold_packets(socket_, true);
  }
  if (n < 0 && errno != EINTR) return false;
  if (n == 0 && tidy) {
    // What the login has used, and what is free of pid 1's own memory: most
    // sessions only wait from now on.
    tidied_ = true;
    ::malloc_trim(0);
    return true;
  }
  if (n == 0) return false;
  if (fds[1].revents != 0) read_link();
  if (!link_) return false;
  // During the key exchange the session is not in the event yet.
  for (int i = 0; i < 64 && fds[0].revents != 0; ++i) {
    if (ssh_event_dopoll(event_, 0) != SSH_OK) break;
  }
  return !broken();
}

// True: the socket has taken what there was, and something may have come: the
// caller looks. (During the key exchange the session is not in the event.)
bool Connection::ask_at_once() {
  if (!keys_agreed_ || !writes_wait()) return false;
  for (int i = 0; i < kAskedAtOnce && alive() && writes_wait(); ++i) {
    ssh_event_dopoll(event_, 0);
  }
  return !alive() || !writes_wait();
}

// What the protocol forbids now, such as channel data while keys are exchanged
// anew (RFC 4253, 7.1), libssh drops, and then hears nothing any more. Nobody
// may take that for a session that waits.
bool Connection::broken() {
  if (!authenticated_ || !alive() ||
      (ssh_get_status(session_) & SSH_CLOSED_ERROR) == 0) {
    return false;
  }
  const std::string why = printable(ssh_get_error(session_), 200);
  log::warn("ssh: {} broke the protocol, its connection is closed: {}",
            options_.peer, why);
  tell(Broken{why});
  return true;
}

bool Connection::tell(const LinkRequest& request) {
  return send_with_fds(link_.get(), encode(request), {}).has_value();
}

void Connection::read_link() {
  auto message = receive_with_fds(link_.get(), 64);
  if (!message || message->eof) {
    if (!message && message.error().code == "again") return;
    link_.reset();  // pid 1 is gone
    return;
  }
  const auto reply = decode_reply(message->bytes);
  if (!reply) return;
  if (const auto* ended = std::get_if<ProgramEnded>(&*reply); ended && pump_) {
    pump_->ended(ended->wait_status);
  }
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
  // Told now: the client's command may be in the same packet as its signature.
  tell(Authenticated{printable(user_, 32), fingerprint_});
  return SSH_AUTH_SUCCESS;
}

ssh_channel Connection::on_open() {
  if (!authenticated_ || channel_ != nullptr) return nullptr;
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
  const std::string request =
      encode(LinkRequest(ExecRequest{std::string(command), env_}));
  if (request.size() > kMaxLinkMessage) {
    refusal_ = "the command is too long";
    return 1;
  }
  if (!send_with_fds(link_.get(), request, {})) {
    refusal_ = "the worker's supervisor is gone";
    return 1;
  }
  pollfd wait{link_.get(), POLLIN, 0};
  if (::poll(&wait, 1, static_cast<int>(kStartTimeout.count())) <= 0) {
    refusal_ = "the worker's supervisor did not answer in 20 s";
    return 1;
  }
  auto message = receive_with_fds(link_.get(), kMaxLinkMessage);
  const auto reply = message ? decode_reply(message->bytes) : std::nullopt;
  if (reply && std::holds_alternative<ProgramStarted>(*reply) &&
      message->fds.size() == 3) {
    pump_ = std::make_unique<ChannelPump>(
        session_, channel_,
        ProgramPipes{std::move(message->fds[0]), std::move(message->fds[1]),
                     std::move(message->fds[2])});
    return 0;
  }
  const auto* refused = reply ? std::get_if<ProgramRefused>(&*reply) : nullptr;
  refusal_ = refused ? refused->reason : "the worker's supervisor is gone";
  return 1;
}

void Connection::on_signal(const char* name) {
  const int number = ssh_signal_number(name);
  if (!pump_ || number == 0) return;
  tell(SignalProgram{number});
}

}  // namespace

void serve_connection(UniqueFd socket, UniqueFd link,
                      const ConnectionOptions& options) {
  Connection connection(std::move(socket), std::move(link), options);
  if (options.sandbox) {
    if (const auto entered = enter_sandbox(); !entered) {
      log::error("ssh: {} turned away: {}", options.peer,
                 entered.error().text());
      return;
    }
  }
  connection.serve();
}

}  // namespace muster
