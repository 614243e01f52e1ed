// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/client.h"

#include <libssh/callbacks.h>
#include <libssh/libssh.h>

#include <algorithm>

#include "sshd-lite/client_errors.h"
#include "sshd-lite/client_impl.h"
#include "sshd-lite/client_setup.h"
#include "sshd-lite/listener.h"
#include "sshd-lite/signal_names.h"

namespace muster {

namespace {

constexpr size_t kWriteChunk = 32 * 1024 - 10;  // one packet of libssh's
constexpr int kReadChunk = 64 * 1024;
constexpr Milliseconds kGreetingWait{1000};
constexpr int kAskedAtOnce = 8;
constexpr int kPollsPerStep = 32;  // then the other sessions of the loop

// Sends the messages of one step as one packet: each packet wakes the peer. The
// step may close the descriptor, which sends as well.
class OnePacket {
 public:
  OnePacket(const UniqueFd& fd, bool speaks) : fd_(fd), speaks_(speaks) {
    if (speaks_) hold_packets(fd_.get(), true);
  }
  ~OnePacket() {
    if (speaks_ && fd_) hold_packets(fd_.get(), false);
  }
  OnePacket(const OnePacket&) = delete;
  OnePacket& operator=(const OnePacket&) = delete;

 private:
  const UniqueFd& fd_;
  bool speaks_;
};

}  // namespace

void SshClient::Impl::start() {
  set_nonblocking(fd_.get());
  if (!setup()) {
    std::weak_ptr<Impl> weak = weak_from_this();
    loop_.post([weak] {
      if (auto self = weak.lock()) {
        self->fail_with(ssh_error::key_exchange(self->library_error()));
      }
    });
    return;
  }
  watch_ = std::make_unique<FdWatch>(loop_, fd_.get());
  watch_->on_readable([this] { step(); });
  banner_timer_.start(options_.banner_timeout, [this] {
    fail_with(ssh_error::no_banner(options_.banner_timeout));
  });
  handshake_timer_.start(options_.handshake_timeout, [this] {
    fail_with(ssh_error::handshake_timeout(options_.handshake_timeout,
                                           stage_name(stage_)));
  });
  may_speak_ = options_.identity->door_secret().empty();
  if (may_speak_) return wake();
  // The server's line comes first: it shows whether ours needs a proof in
  // front. A peer that waits for us, such as a proxy that detects the protocol,
  // waits no longer than this.
  stage_timer_.start(kGreetingWait, [this] {
    may_speak_ = true;
    step();
  });
}

bool SshClient::Impl::setup() {
  session_ = ssh_new();
  event_ = ssh_event_new();
  if (session_ == nullptr || event_ == nullptr) return false;
  set_client_options(session_, fd_.get(), options_.user, options_.rekey_bytes);
  ssh_set_blocking(session_, 0);
  callbacks_.userdata = this;
  callbacks_.channel_exit_status_function = [](ssh_session, ssh_channel,
                                               int status, void* data) {
    static_cast<Impl*>(data)->exit_ = status;
  };
  callbacks_.channel_exit_signal_function =
      [](ssh_session, ssh_channel, const char* signal, int, const char*,
         const char*, void* data) {
        const int number = ssh_signal_number(signal != nullptr ? signal : "");
        static_cast<Impl*>(data)->exit_ = number > 0 ? 128 + number : 255;
      };
  // Reading one stream may take a packet of the other from the socket, which
  // then wakes no poll.
  callbacks_.channel_data_function = [](ssh_session, ssh_channel, void*,
                                        uint32_t, int is_stderr, void* data) {
    static_cast<Impl*>(data)->arrived_[is_stderr != 0 ? 1 : 0] = true;
    return 0;  // nothing is consumed here
  };
  ssh_callbacks_init(&callbacks_);
  return true;
}

void SshClient::Impl::shutdown() {
  stage_ = Stage::kOver;
  banner_timer_.cancel();
  banner_pause_.cancel();
  handshake_timer_.cancel();
  stage_timer_.cancel();
  watch_.reset();
  if (session_ != nullptr) {
    if (event_ != nullptr) ssh_event_remove_session(event_, session_);
    if (channel_ != nullptr) {
      ssh_remove_channel_callbacks(channel_, &callbacks_);
    }
    ssh_disconnect(session_);
    ssh_free(session_);
    session_ = nullptr;
    channel_ = nullptr;
  }
  if (event_ != nullptr) ssh_event_free(std::exchange(event_, nullptr));
  fd_.reset();  // libssh does not close a descriptor it was given
}

std::string SshClient::Impl::library_error() const {
  const char* text = session_ != nullptr ? ssh_get_error(session_) : nullptr;
  return text != nullptr ? text : "out of memory";
}

std::string SshClient::Impl::banner() const {
  const char* text =
      session_ != nullptr ? ssh_get_serverbanner(session_) : nullptr;
  return text != nullptr ? text : "";
}

// Do not touch a member after the callback: it may have destroyed us, except
// for the reference that the loop's handler or the caller holds.
void SshClient::Impl::fail_with(Error error) {
  const auto keep = shared_from_this();
  if (stage_ == Stage::kOver) return;
  const auto callback = std::move(events_.on_failed);
  shutdown();
  if (callback) callback(std::move(error));
}

void SshClient::Impl::wake() {
  if (wake_posted_ || stage_ == Stage::kOver) return;
  wake_posted_ = true;
  std::weak_ptr<Impl> weak = weak_from_this();
  loop_.post([weak] {
    const auto self = weak.lock();
    if (!self) return;
    self->wake_posted_ = false;
    self->step();
  });
}

void SshClient::Impl::step() {
  const auto keep = shared_from_this();
  if (stage_ == Stage::kOver) return;
  const OnePacket held(fd_, stage_ != Stage::kRunning || queue_.size() > 0);
  if (!banner_seen_ && !check_banner()) return;
  if (!may_speak_) return;
  // After each packet libssh waits for a writable socket, which it mostly is:
  // asking at once saves a wait.
  for (int asked = 0; stage_ != Stage::kOver && stage_ != Stage::kRunning;) {
    if (advance()) continue;
    const bool wait = stage_ == Stage::kOver || !writes_wait();
    if (wait || ++asked > kAskedAtOnce) break;
  }
  if (stage_ == Stage::kRunning) run_step();
  if (stage_ != Stage::kOver) watch_writes();
}

void SshClient::Impl::run_step() {
  bool moved = true;
  for (int i = 0; moved && i < kPollsPerStep; ++i) {
    moved = ssh_event_dopoll(event_, 0) == SSH_OK;
    for (const int is_stderr : {0, 1}) {
      if (!std::exchange(arrived_[is_stderr], false)) continue;
      moved = deliver(is_stderr) || moved;
      if (stage_ == Stage::kOver) return;
    }
    moved = write_queue() || moved;
    if (stage_ == Stage::kOver) return;
    moved = arrived_[0] || arrived_[1] || moved;
  }
  if (moved) wake();  // there is more, but other sessions come first
  finish_if_over();
}

bool SshClient::Impl::deliver(int is_stderr) {
  // Not on the stack, each page of which would be touched.
  const auto buffer = std::make_unique_for_overwrite<char[]>(kReadChunk);
  const int n = ssh_channel_read_nonblocking(channel_, buffer.get(), kReadChunk,
                                             is_stderr);
  if (n <= 0) return false;
  if (n == kReadChunk) arrived_[is_stderr] = true;  // and there is more
  const auto& callback = is_stderr != 0 ? events_.on_stderr : events_.on_stdout;
  if (callback) {
    callback(std::string_view(buffer.get(), static_cast<size_t>(n)));
  }
  return true;
}

// Writes what the window takes; libssh's own buffer is unbounded, so nothing is
// added to it while some of it waits for the socket.
bool SshClient::Impl::write_queue() {
  bool moved = false;
  while (queue_.size() > 0 && !writes_wait()) {
    const size_t room =
        std::min<size_t>(ssh_channel_window_size(channel_), kWriteChunk);
    const std::string_view next = queue_.front().substr(0, room);
    if (next.empty()) break;
    const int n = ssh_channel_write(channel_, next.data(),
                                    static_cast<uint32_t>(next.size()));
    if (n <= 0) break;  // 0: new keys are being agreed; < 0: it is over
    queue_.consume(static_cast<size_t>(n));
    moved = true;
  }
  if (eof_wanted_ && !eof_sent_ && queue_.size() == 0) {
    eof_sent_ = true;
    ssh_channel_send_eof(channel_);
  }
  if (queue_.take_drained()) {
    // Copied: the callback may destroy us.
    if (const auto callback = events_.on_drained) callback();
  }
  return moved;
}

void SshClient::Impl::finish_if_over() {
  const bool connected = ssh_is_connected(session_) != 0;
  if (connected && ssh_channel_is_closed(channel_) == 0) return;
  // Received bytes must not be left behind.
  for (const int is_stderr : {0, 1}) {
    while (deliver(is_stderr)) {
      if (stage_ == Stage::kOver) return;
    }
  }
  if (!exit_)
    return fail_with(ssh_error::lost(connected ? "" : library_error()));
  const auto callback = std::move(events_.on_exit);
  const int status = *exit_;
  shutdown();
  if (callback) callback(status);
}

void SshClient::Impl::watch_writes() {
  const bool wanted = writes_wait();
  if (wanted == writes_watched_) return;
  writes_watched_ = wanted;
  if (wanted) {
    watch_->on_writable([this] { step(); });
  } else {
    watch_->stop_writing();
  }
}

void SshClient::Impl::send(std::string_view bytes) {
  if (stage_ == Stage::kOver || bytes.empty() || eof_wanted_) return;
  queue_.append(bytes);
  if (stage_ == Stage::kRunning) wake();
}

void SshClient::Impl::send_eof() {
  eof_wanted_ = true;
  if (stage_ == Stage::kRunning) wake();
}

void SshClient::Impl::send_signal(int number) {
  if (stage_ != Stage::kRunning) return;
  ssh_channel_request_send_signal(channel_, ssh_signal_name(number).c_str());
  wake();
}

SshClient::SshClient(Loop& loop, UniqueFd connected, SshClientOptions options,
                     SshClientEvents events)
    : impl_(std::make_shared<Impl>(loop, std::move(connected),
                                   std::move(options), std::move(events))) {
  impl_->start();
}

SshClient::~SshClient() { impl_->shutdown(); }
void SshClient::send(std::string_view bytes) { impl_->send(bytes); }
size_t SshClient::queued() const { return impl_->queued(); }
void SshClient::send_eof() { impl_->send_eof(); }
void SshClient::send_signal(int number) { impl_->send_signal(number); }

}  // namespace muster
