// SPDX-License-Identifier: Apache-2.0
// What a login costs the launcher, which makes many from one process: COUNT
// sessions, WIDTH at a time, each from connect to the exit of `true`.
// usage: ssh_logins PORT KEY-DIRECTORY COUNT WIDTH; prints one JSON object.
// tests/interop/bench_ssh.py runs it against a worker.
#include <libssh/libssh.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "sshd-lite/client.h"
#include "sshd-lite/keys.h"
#include "sshd-lite/ssh_dial.h"

namespace {

using muster::Clock;

class Logins {
 public:
  Logins(int port, const muster::SshKey& key, int count)
      : port_(port), key_(key), left_(count) {}

  // False: one of them failed.
  bool run(int width) {
    slots_.resize(static_cast<size_t>(width));
    // On the loop: a stop before it runs would be forgotten.
    loop_.post([this] {
      for (auto& slot : slots_) next(slot);
    });
    loop_.run();
    return good_;
  }

 private:
  using Slot = std::unique_ptr<muster::SshClient>;

  void next(Slot& slot) {
    slot.reset();
    if (left_ == 0 || !good_) {
      if (running_ == 0) loop_.stop();
      return;
    }
    --left_;
    auto socket = muster::dial("127.0.0.1", port_, muster::Milliseconds(5000));
    if (!socket) return stop(socket.error());
    ++running_;
    muster::SshClientOptions options;
    options.identity = &key_;
    options.expected_host_key = &key_;
    options.command = "true";
    muster::SshClientEvents events;
    events.on_failed = [this](const muster::Error& error) { stop(error); };
    events.on_exit = [this, &slot](int) {
      --running_;
      loop_.post([this, &slot] { next(slot); });
    };
    slot = std::make_unique<muster::SshClient>(
        loop_, std::move(*socket), std::move(options), std::move(events));
  }

  void stop(const muster::Error& error) {
    std::fprintf(stderr, "ssh_logins: %s\n", error.text().c_str());
    good_ = false;
    loop_.stop();
  }

  muster::Loop loop_;
  int port_;
  const muster::SshKey& key_;
  int left_;
  int running_ = 0;
  bool good_ = true;
  std::vector<Slot> slots_;
};

double cpu_ms() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto ms = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e3 +
           static_cast<double>(t.tv_usec) / 1e3;
  };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: ssh_logins PORT KEY-DIRECTORY COUNT WIDTH\n");
    return 2;
  }
  ssh_init();
  const auto keys = muster::find_keys(argv[2]);
  if (!keys) {
    std::fprintf(stderr, "ssh_logins: %s\n", keys.error().text().c_str());
    return 1;
  }
  const int count = std::atoi(argv[3]);
  const double cpu = cpu_ms();
  const auto begin = Clock::now();
  Logins logins(std::atoi(argv[1]), keys->private_key, count);
  if (count < 1 || !logins.run(std::max(1, std::atoi(argv[4])))) return 1;
  const std::chrono::duration<double, std::milli> wall = Clock::now() - begin;
  std::printf("{\"logins\": %d, \"wall_ms\": %.2f, \"client_cpu_ms\": %.2f}\n",
              count, wall.count() / count, (cpu_ms() - cpu) / count);
  return 0;
}
