// SPDX-License-Identifier: Apache-2.0
// The event loop of a process: Asio's io_context behind a readiness interface
// (libssh, pipes and signalfd all wait for a ready descriptor). One thread runs
// a Loop; only post() may be called from another thread. Callbacks may destroy
// the object that called them. Only loop.cc includes Asio: it costs 3 s per
// translation unit.
#pragma once

#include <sys/signalfd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

namespace muster {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

class Loop {
 public:
  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void run();   // returns after stop()
  void stop();  // from any callback; run() returns when it ends
  void post(std::function<void()> task);

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// Fires once per start(); start() again replaces; destruction cancels.
class Timer {
 public:
  explicit Timer(Loop& loop);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  void start(Milliseconds delay, std::function<void()> fire);
  void cancel();
  [[nodiscard]] bool pending() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// Level-triggered readiness of a descriptor that the caller closes after us; it
// stays blocking if it was. Files and /dev/null count as always ready.
class FdWatch {
 public:
  FdWatch(Loop& loop, int fd);
  ~FdWatch();
  FdWatch(const FdWatch&) = delete;
  FdWatch& operator=(const FdWatch&) = delete;
  void on_readable(std::function<void()> ready);  // until stop_reading()
  void on_writable(std::function<void()> ready);  // until stop_writing()
  void stop_reading();
  void stop_writing();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// Blocks `signals` in this process and delivers them to `handler` on the loop,
// with the sender's pid (0 = from outside the pid namespace). Throws if no
// descriptor is left: a process creates it at its start, and cannot work
// without it.
class SignalWatch {
 public:
  SignalWatch(Loop& loop, const std::vector<int>& signals,
              std::function<void(const signalfd_siginfo&)> handler);
  ~SignalWatch();

 private:
  int fd_;
  std::unique_ptr<FdWatch> watch_;
};

}  // namespace muster
