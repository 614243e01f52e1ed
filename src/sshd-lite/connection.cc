// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/connection.h"

#include <malloc.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/log.h"
#include "base/printable.h"
#include "sshd-lite/connection_impl.h"
#include "sshd-lite/crypto_profile.h"
#include "sshd-lite/door_proof.h"
#include "sshd-lite/listener.h"
#include "sshd-lite/sandbox.h"

namespace muster {

namespace {

constexpr Milliseconds kCommandTimeout{30000};  // authenticated, then nothing
constexpr Milliseconds kFlushTimeout{5000};
constexpr auto kNoDeadline = Clock::time_point::max();
// Clean-up must not delay a session at work.
constexpr int kQuietMilliseconds = 200;
// After each packet libssh waits for a writable socket, which it mostly is:
// asking at once saves a wait.
constexpr int kAskedAtOnce = 8;
// Until the login. A key exchange takes four, three keys and their signatures
// at most eight. libssh checks a signature before it reports it, and answers
// the method "none" by itself: counting packets bounds both.
constexpr uint64_t kMostPackets = 32;

}  // namespace

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
  ssh_set_counters(session_, nullptr, &received_);
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
  const auto deadline = Clock::now() + options_.auth_timeout;
  if (!greeting_->finish(options_.auth_timeout)) return;
  if (!exchange_keys(deadline) || !authenticate()) return;
  run_command();
}

bool Connection::exchange_keys(Clock::time_point deadline) {
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
    if (received_.in_packets > kMostPackets || !step(deadline)) {
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
    const bool talks_on = received_.in_packets > kMostPackets;
    if (!refused && !talks_on && step(deadline) && alive()) continue;
    if (attempts_ > 0 || !fingerprint_.empty()) {
      tell(Denied{printable(user_, 32), fingerprint_});
    }
    // At once: otherwise libssh would answer every further key.
    if (refused || talks_on) {
      ssh_session_set_disconnect_message(
          session_, refused ? "too many keys refused"
                            : "too many messages without a login");
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

// 255 is what ssh itself ends with where a command could not be run.
void Connection::say_refusal() {
  const std::string text = "muster: " + *refusal_ + "\n";
  ssh_channel_write_stderr(channel_, text.data(),
                           static_cast<uint32_t>(text.size()));
  ssh_channel_request_send_exit_status(channel_, 255);
  ssh_channel_send_eof(channel_);
  ssh_channel_close(channel_);
}

// Until the peer has taken everything and hung up: if we closed first, with
// unread bytes, the kernel would reset the connection and lose our last ones.
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
    // No wait below lacks a deadline: a client that stands still sends nothing.
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
  // The messages of one wake-up leave as one packet: each packet wakes the
  // peer. A line of the program wakes it, too, but is mostly the only message.
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
    // Frees the login's memory, and the free parts of pid 1's own: most
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
    if (!authenticated_ && received_.in_packets > kMostPackets) break;
  }
  return !broken();
}

// True: the socket has taken all bytes, and more may have come: the caller
// looks. (During the key exchange the session is not in the event.)
bool Connection::ask_at_once() {
  if (!keys_agreed_ || !writes_wait()) return false;
  for (int i = 0; i < kAskedAtOnce && alive() && writes_wait(); ++i) {
    ssh_event_dopoll(event_, 0);
  }
  return !alive() || !writes_wait();
}

// libssh drops messages that the protocol forbids now, such as channel data
// during a new key exchange (RFC 4253, 7.1), and then hears nothing any more.
// Such a session does not wait; it is broken.
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
