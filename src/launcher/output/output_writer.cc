// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/output_writer.h"

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace muster {

namespace {

// Wakes the thread for this much at once, for less at the end of the loop's
// turn: small frames of many ranks then cost one wake-up.
constexpr size_t kEnoughToWrite = 256 << 10;
constexpr size_t kMostAtOnce = 64 << 10;  // as a pipe takes
// Wakes the loop when this much has left: far less than the credit that lets a
// rank go on.
constexpr size_t kWorthTelling = 4 << 10;
// Keeps buffers for later writes: as many as are under way at full speed, and
// none that one long line made large.
constexpr size_t kMostSpare = 32;
constexpr size_t kLargestSpare = 256 << 10;

}  // namespace

// The thread keeps it alive too: a write that blocks for ever (a reader that
// stopped) is left behind at exit.
struct OutputWriter::Shared {
  explicit Shared(Loop& owner) : loop(&owner) {}
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Item> queue;
  std::vector<Item> written;  // not reported yet
  size_t untold = 0;          // their bytes
  bool telling = false;       // tell() is posted by the thread
  bool writing = false;
  bool stop = false;
  uint64_t dropped = 0;
  size_t waiting = 0;
  Clock::time_point moved = Clock::now();  // last progress, or start of waiting
  std::set<int> broken;                    // the thread's own
  std::optional<LogFiles> files;           // the thread's own
  std::vector<std::string> spare;          // the loop's own
  bool wake_posted = false;                // the loop's own
  Loop* loop;                              // null once the owner is gone
  std::function<void(int, int)> failed;
  std::function<void()> settled;
  std::function<void(std::string)> say;

  void keep(std::string bytes) {
    if (spare.size() == kMostSpare || bytes.capacity() > kLargestSpare) return;
    bytes.clear();
    spare.push_back(std::move(bytes));
  }

  void tell();  // loop thread

  // All on the thread; the first and the last one with the mutex.
  std::vector<Item> take_batch();
  void write_batch(const std::vector<Item>& batch);
  void write_to_file(const Item& item);
  void note_written(std::vector<Item> batch);
  int write_all(int fd, std::vector<iovec> parts, size_t& left);
};

OutputWriter::OutputWriter(Loop& loop, std::function<void(int, int)> failed,
                           std::function<void()> settled)
    : shared_(std::make_shared<Shared>(loop)) {
  shared_->failed = std::move(failed);
  shared_->settled = std::move(settled);
  thread_ = std::thread([shared = shared_] { run(shared); });
}

OutputWriter::~OutputWriter() {
  bool idle = false;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->stop = true;
    shared_->loop = nullptr;
    // Closing a file may take as long as writing it.
    idle = shared_->queue.empty() && !shared_->writing && !shared_->say;
  }
  shared_->changed.notify_all();
  if (idle) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

void OutputWriter::keep_files(LogFiles files,
                              std::function<void(std::string)> say) {
  const std::lock_guard lock(shared_->mutex);
  shared_->files = std::move(files);
  shared_->say = std::move(say);
}

void OutputWriter::write(int fd, std::string bytes,
                         std::function<void()> done) {
  add({fd, {}, std::move(bytes), std::move(done)});
}

void OutputWriter::write_file(std::string name, std::string bytes,
                              std::function<void()> done) {
  add({-1, std::move(name), std::move(bytes), std::move(done)});
}

void OutputWriter::add(Item item) {
  bool enough = false;
  {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->waiting == 0) shared_->moved = Clock::now();
    shared_->waiting += item.bytes.size();
    enough = shared_->waiting >= kEnoughToWrite;
    shared_->queue.push_back(std::move(item));
  }
  // Without the mutex, which the thread wants first.
  if (enough) {
    shared_->changed.notify_all();
  } else if (!std::exchange(shared_->wake_posted, true)) {
    shared_->loop->post([shared = shared_] {
      shared->wake_posted = false;
      shared->changed.notify_all();
      shared->tell();
    });
  }
}

std::string OutputWriter::buffer() {
  if (shared_->spare.empty()) return {};
  std::string out = std::move(shared_->spare.back());
  shared_->spare.pop_back();
  return out;
}

void OutputWriter::give_back(std::string unused) {
  if (unused.capacity() > std::string().capacity()) {
    shared_->keep(std::move(unused));
  }
}

bool OutputWriter::drain(Milliseconds limit) {
  std::unique_lock lock(shared_->mutex);
  shared_->changed.notify_all();  // posted calls do not run meanwhile
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

size_t size_of(const std::vector<iovec>& parts) {
  size_t bytes = 0;
  for (const iovec& part : parts) bytes += part.iov_len;
  return bytes;
}

// The index of the part that comes next once `count` more bytes are out.
size_t advance(std::vector<iovec>& parts, size_t next, size_t count) {
  for (; next < parts.size() && count >= parts[next].iov_len; ++next) {
    count -= parts[next].iov_len;
  }
  if (count > 0) {
    parts[next].iov_base = static_cast<char*>(parts[next].iov_base) + count;
    parts[next].iov_len -= count;
  }
  return next;
}

}  // namespace

// The items for the same descriptor as the front of the queue, so that many
// small frames cost one system call; not so many that a slow reader holds up
// all of their credit for long.
std::vector<OutputWriter::Item> OutputWriter::Shared::take_batch() {
  constexpr size_t kMaxItems = 64;  // below IOV_MAX
  std::vector<Item> batch;
  size_t bytes = 0;
  while (!queue.empty() && batch.size() < kMaxItems && bytes < kMostAtOnce &&
         (batch.empty() ||
          (batch.front().fd >= 0 && batch.front().fd == queue.front().fd))) {
    bytes += queue.front().bytes.size();
    batch.push_back(std::move(queue.front()));
    queue.pop_front();
  }
  return batch;
}

// errno, or 0. Continues after short writes and EINTR; waits after EAGAIN
// (another process made the shared description non-blocking).
int OutputWriter::Shared::write_all(int fd, std::vector<iovec> parts,
                                    size_t& left) {
  left = size_of(parts);
  for (size_t next = 0; left > 0;) {
    const ssize_t n =
        ::writev(fd, &parts[next], static_cast<int>(parts.size() - next));
    if (n < 0 && errno == EAGAIN) ::usleep(2000);
    if (n < 0 && errno != EAGAIN && errno != EINTR) return errno;
    if (n <= 0) continue;
    const auto count = static_cast<size_t>(n);
    next = advance(parts, next, count);
    left -= count;
    const std::lock_guard lock(mutex);
    moved = Clock::now();
    waiting -= count;
  }
  return 0;
}

void OutputWriter::Shared::write_to_file(const Item& item) {
  size_t left = item.bytes.size();
  const int fd = files->descriptor_for(item.file, item.bytes);
  if (fd >= 0 && left > 0) {
    auto* bytes = const_cast<char*>(item.bytes.data());
    const int error = write_all(fd, {{bytes, left}}, left);
    if (error != 0) files->failed(item.file, error);
  }
  const std::lock_guard lock(mutex);
  waiting -= left;
  dropped += left;
  for (std::string& words : files->take_words()) {
    if (loop == nullptr) return;
    loop->post([say = say, words = std::move(words)] { say(words); });
  }
}

void OutputWriter::Shared::write_batch(const std::vector<Item>& batch) {
  const int fd = batch.front().fd;
  if (fd < 0) return write_to_file(batch.front());
  std::vector<iovec> parts;
  for (const Item& item : batch) {
    // writev does not change what it writes.
    auto* bytes = const_cast<char*>(item.bytes.data());
    if (!item.bytes.empty()) parts.push_back({bytes, item.bytes.size()});
  }
  size_t left = size_of(parts);
  int error = EPIPE;
  if (broken.count(fd) == 0) error = write_all(fd, std::move(parts), left);
  const std::lock_guard lock(mutex);
  waiting -= left;
  dropped += left;
  if (error == 0 || !broken.insert(fd).second) return;
  if (loop == nullptr || !failed) return;
  loop->post([failed = failed, fd, error] { failed(fd, error); });
}

void OutputWriter::Shared::note_written(std::vector<Item> batch) {
  for (Item& item : batch) {
    untold += item.bytes.size();
    written.push_back(std::move(item));
  }
}

void OutputWriter::Shared::tell() {
  std::vector<Item> told;
  {
    const std::lock_guard lock(mutex);
    if (stop) return;  // the owner is gone
    told.swap(written);
    untold = 0;
    telling = false;
  }
  if (told.empty()) return;
  for (Item& item : told) {
    keep(std::move(item.bytes));
    if (item.done) item.done();
  }
  if (settled) settled();
}

void OutputWriter::run(std::shared_ptr<Shared> shared) {
  std::unique_lock lock(shared->mutex);
  for (;;) {
    shared->changed.wait(
        lock, [&] { return shared->stop || !shared->queue.empty(); });
    // Without its owner the descriptors may belong to others.
    if (shared->stop || shared->queue.empty()) {
      lock.unlock();
      shared->files.reset();
      return;
    }
    std::vector<Item> batch = shared->take_batch();
    shared->writing = true;
    lock.unlock();
    shared->write_batch(batch);
    lock.lock();
    shared->writing = false;
    shared->moved = Clock::now();
    shared->note_written(std::move(batch));
    if (shared->loop != nullptr && shared->untold >= kWorthTelling &&
        !std::exchange(shared->telling, true)) {
      shared->loop->post([shared] { shared->tell(); });
    }
    shared->changed.notify_all();
  }
}

}  // namespace muster
