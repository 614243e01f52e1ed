// SPDX-License-Identifier: Apache-2.0
// OutputWriter: a thread that writes buffers to descriptors in order, so that a
// slow, full or stopped reader never holds up the loop. The loop's thread owns
// it. Its caller bounds it: `done` reports when bytes have left. Refuses
// nothing: after a write error on a descriptor, or a file, it drops and counts
// what follows for that one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/loop.h"
#include "launcher/output/log_files.h"

namespace muster {

class OutputWriter {
 public:
  // `failed` is called on the loop, once per descriptor, with {fd, errno};
  // `settled` after the `done` of all writes that left together.
  OutputWriter(Loop& loop, std::function<void(int, int)> failed,
               std::function<void()> settled = {});
  // write_file() writes to `files`, whose messages appear on the loop.
  void keep_files(LogFiles files, std::function<void(std::string)> say);
  // Abandons queued writes: call drain() first.
  ~OutputWriter();

  // Descriptors are borrowed until drained. `done` (may be empty) runs on the
  // loop, never within write(), when these bytes were written or dropped; for
  // fewer than 4 KiB at the next write(): waking the loop for each line would
  // cost more than the line.
  void write(int fd, std::string bytes, std::function<void()> done);
  // The same to a file of keep_files(), which is opened only then: an open may
  // take as long as a write.
  void write_file(std::string name, std::string bytes,
                  std::function<void()> done);
  // An empty string for the next write(), if possible one that has room from an
  // earlier write: a job's output otherwise takes and returns its memory from
  // the kernel once for each frame. Loop thread.
  [[nodiscard]] std::string buffer();
  // Takes back a buffer() that was not written. Loop thread.
  void give_back(std::string unused);
  // Waits until everything queued is written, at most `limit`; false if not.
  bool drain(Milliseconds limit);
  [[nodiscard]] uint64_t dropped_bytes() const;
  // Bytes given to write() that have not left yet.
  [[nodiscard]] size_t waiting_bytes() const;
  // How long the reader has taken nothing; 0: nothing waits.
  [[nodiscard]] Milliseconds stalled() const;

 private:
  struct Item {
    int fd;
    std::string file;  // fd -1: the name of one of `files`
    std::string bytes;
    std::function<void()> done;
  };
  struct Shared;

  void add(Item item);
  static void run(std::shared_ptr<Shared> shared);

  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace muster
