// SPDX-License-Identifier: Apache-2.0
#include "launcher/output_writer.h"

#include <unistd.h>

#include <cerrno>
#include <set>

namespace muster {

// Kept alive by the thread too: a write that blocks for ever (a reader that
// stopped) is left behind at exit.
struct OutputWriter::Shared {
  explicit Shared(Loop& owner) : loop(&owner) {}
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Item> queue;
  bool writing = false;
  bool stop = false;
  uint64_t dropped = 0;
  size_t waiting = 0;
  Clock::time_point moved = Clock::now();  // last progress, or start of waiting
  std::set<int> broken;
  Loop* loop;  // null once the owner is gone
  std::function<void(int, int)> failed;
};

OutputWriter::OutputWriter(Loop& loop, std::function<void(int, int)> failed)
    : shared_(std::make_shared<Shared>(loop)) {
  shared_->failed = std::move(failed);
  thread_ = std::thread([shared = shared_] { run(shared); });
}

OutputWriter::~OutputWriter() {
  bool idle = false;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->stop = true;
    shared_->loop = nullptr;
    idle = shared_->queue.empty() && !shared_->writing;
  }
  shared_->changed.notify_all();
  if (idle) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

void OutputWriter::write(int fd, std::string bytes,
                         std::function<void()> done) {
  {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->waiting == 0) shared_->moved = Clock::now();
    shared_->waiting += bytes.size();
    shared_->queue.push_back({fd, std::move(bytes), std::move(done)});
  }
  shared_->changed.notify_all();
}

bool OutputWriter::drain(Milliseconds limit) {
  std::unique_lock lock(shared_->mutex);
  return shared_->changed.wait_for(lock, limit, [this] {
    return shared_->queue.empty() && !shared_->writing;
  });
}

size_t OutputWriter::waiting_bytes() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->waiting;
}

Milliseconds OutputWriter::stalled() const {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->waiting == 0) return Milliseconds{0};
  return std::chrono::duration_cast<Milliseconds>(Clock::now() -
                                                  shared_->moved);
}

uint64_t OutputWriter::dropped_bytes() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->dropped;
}

namespace {

// errno, or 0. Short writes and EINTR are continued; EAGAIN (somebody made the
// shared description non-blocking) is waited out.
int write_fully(int fd, const std::string& bytes, size_t& written) {
  written = 0;
  while (written < bytes.size()) {
    const ssize_t n =
        ::write(fd, bytes.data() + written, bytes.size() - written);
    if (n >= 0) {
      written += static_cast<size_t>(n);
    } else if (errno == EAGAIN) {
      ::usleep(2000);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace

void OutputWriter::run(std::shared_ptr<Shared> shared) {
  std::unique_lock lock(shared->mutex);
  for (;;) {
    shared->changed.wait(
        lock, [&] { return shared->stop || !shared->queue.empty(); });
    // Once the owner is gone the descriptors may be anybody's.
    if (shared->stop || shared->queue.empty()) return;
    Item item = std::move(shared->queue.front());
    shared->queue.pop_front();
    shared->writing = true;
    const bool broken = shared->broken.count(item.fd) != 0;
    lock.unlock();
    size_t written = 0;
    const int error =
        broken ? EPIPE : write_fully(item.fd, item.bytes, written);
    lock.lock();
    shared->writing = false;
    shared->waiting -= item.bytes.size();
    shared->moved = Clock::now();
    if (error != 0) shared->dropped += item.bytes.size() - written;
    if (error != 0 && !broken) {
      shared->broken.insert(item.fd);
      if (shared->loop != nullptr && shared->failed) {
        shared->loop->post([failed = shared->failed, fd = item.fd, error] {
          failed(fd, error);
        });
      }
    }
    if (shared->loop != nullptr && item.done) {
      shared->loop->post(std::move(item.done));
    }
    shared->changed.notify_all();
  }
}

}  // namespace muster
