// SPDX-License-Identifier: Apache-2.0
#include "base/loop.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <asio/error.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <cerrno>
#include <system_error>

namespace muster {

namespace {
constexpr Milliseconds kPollPause{20};
}  // namespace

struct Loop::Impl {
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{
      context.get_executor()};
};

Loop::Loop() : impl_(std::make_unique<Impl>()) {}
Loop::~Loop() = default;

void Loop::run() {
  impl_->context.restart();
  impl_->context.run();
}

void Loop::stop() { impl_->context.stop(); }

void Loop::post(std::function<void()> task) {
  asio::post(impl_->context, std::move(task));
}

// Shared with the pending handler, which finds `fire` empty after a cancel:
// Asio may have queued the handler before the cancel.
struct Timer::Impl {
  explicit Impl(Loop& loop) : timer(loop.impl().context) {}
  asio::steady_timer timer;
  std::function<void()> fire;
  uint64_t generation = 0;
};

Timer::Timer(Loop& loop) : impl_(std::make_shared<Impl>(loop)) {}
Timer::~Timer() { cancel(); }

void Timer::start(Milliseconds delay, std::function<void()> fire) {
  // The clock counts nanoseconds in 64 bits: a "never" must not become "now".
  constexpr Milliseconds kLongest = std::chrono::hours(24 * 365 * 100);
  impl_->fire = std::move(fire);
  const uint64_t generation = ++impl_->generation;
  impl_->timer.expires_after(std::min(delay, kLongest));
  impl_->timer.async_wait([impl = impl_, generation](const auto& error) {
    if (error || generation != impl->generation || !impl->fire) return;
    const auto task = std::move(impl->fire);
    impl->fire = nullptr;
    task();
  });
}

void Timer::cancel() {
  ++impl_->generation;
  impl_->fire = nullptr;
  impl_->timer.cancel();
}

bool Timer::pending() const { return static_cast<bool>(impl_->fire); }

struct FdWatch::Impl : std::enable_shared_from_this<FdWatch::Impl> {
  Impl(Loop& owner, int descriptor)
      : loop(owner), fd(descriptor), stream(owner.impl().context) {
    asio::error_code error;
    stream.assign(fd, error);
    polled = static_cast<bool>(error);
  }

  // A direction waits while its task is there, and again after each call of it.
  // `armed`: a wait is outstanding; never two.
  struct Direction {
    std::function<void()> task;
    bool armed = false;
  };

  void arm(bool write) {
    Direction& direction = write ? writing : reading;
    if (direction.armed || closed) return;
    direction.armed = true;
    auto handler = [self = shared_from_this(), write](const auto& error) {
      self->woken(write, error);
    };
    if (always_ready) {
      asio::post(loop.impl().context,
                 [handler] { handler(asio::error_code{}); });
    } else if (polled) {
      look_later(handler);
    } else {
      wait(write ? asio::posix::stream_descriptor::wait_write
                 : asio::posix::stream_descriptor::wait_read,
           handler);
    }
  }

  void woken(bool write, const asio::error_code& error) {
    Direction& direction = write ? writing : reading;
    direction.armed = false;
    if (error == asio::error::operation_not_supported) {
      always_ready = true;
    } else if (error) {
      return;
    } else if (direction.task && ready(write)) {
      const auto task = direction.task;  // it may replace itself or destroy us
      task();
    }
    if (direction.task) arm(write);
  }

  template <class Handler>
  void look_later(const Handler& handler) {
    auto timer =
        std::make_shared<asio::steady_timer>(loop.impl().context, kPollPause);
    timer->async_wait([timer, handler](const auto& error) { handler(error); });
  }

  // Asio makes a descriptor non-blocking at the first wait. That would affect
  // every process that shares it, as the shell shares our stdin, and outlast
  // us.
  template <class Handler>
  void wait(asio::posix::stream_descriptor::wait_type what,
            const Handler& handler) {
    const int flags = waited ? -1 : ::fcntl(fd, F_GETFL);
    waited = true;
    stream.async_wait(what, handler);
    if (flags < 0 || (flags & O_NONBLOCK) != 0) return;
    ::fcntl(fd, F_SETFL, flags);
    blocking = true;
  }

  // For a descriptor that blocks: a process that shares it may have been
  // faster.
  [[nodiscard]] bool ready(bool write) {
    if (!blocking && !polled) return true;
    const short wanted = write ? POLLOUT : POLLIN;
    pollfd now{fd, wanted, 0};
    return ::poll(&now, 1, 0) == 1;
  }

  Loop& loop;
  int fd;
  asio::posix::stream_descriptor stream;
  Direction reading;
  Direction writing;
  bool always_ready = false;  // epoll refuses such a file
  bool polled = false;        // … has no room (fs.epoll.max_user_watches)
  bool waited = false;
  bool blocking = false;
  bool closed = false;
};

FdWatch::FdWatch(Loop& loop, int fd)
    : impl_(std::make_shared<Impl>(loop, fd)) {}

FdWatch::~FdWatch() {
  impl_->closed = true;
  impl_->reading.task = nullptr;
  impl_->writing.task = nullptr;
  impl_->stream.release();
}

void FdWatch::on_readable(std::function<void()> ready) {
  impl_->reading.task = std::move(ready);
  impl_->arm(false);
}

void FdWatch::on_writable(std::function<void()> ready) {
  impl_->writing.task = std::move(ready);
  impl_->arm(true);
}

void FdWatch::stop_reading() { impl_->reading.task = nullptr; }
void FdWatch::stop_writing() { impl_->writing.task = nullptr; }

SignalWatch::SignalWatch(Loop& loop, const std::vector<int>& signals,
                         std::function<void(const signalfd_siginfo&)> handler) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  fd_ = ::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  if (fd_ < 0) {
    throw std::system_error(errno, std::system_category(), "signals");
  }
  watch_ = std::make_unique<FdWatch>(loop, fd_);
  watch_->on_readable([fd = fd_, handler = std::move(handler)] {
    signalfd_siginfo info;
    while (::read(fd, &info, sizeof info) == sizeof info) handler(info);
  });
}

SignalWatch::~SignalWatch() {
  watch_.reset();
  ::close(fd_);
}

}  // namespace muster
