// SPDX-License-Identifier: Apache-2.0
// UniqueFd: the single owner of a file descriptor, and the few calls that make
// descriptors. All of them are close-on-exec.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace muster {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    reset(other.release());
    return *this;
  }
  ~UniqueFd() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

Result<Pipe> make_pipe();
// A connected pair of AF_UNIX sockets of `type` (SOCK_STREAM, SOCK_SEQPACKET).
Result<Pipe> make_socketpair(int type);
void set_nonblocking(int fd, bool on = true);

// Whole file, at most `limit` bytes, else an error; a pipe's within 10 s.
Result<std::string> read_file(const std::string& path, size_t limit = 1 << 20);
// Replaces a regular file, never half; writes devices and pipes (within 10 s).
Status write_file_atomically(const std::string& path, std::string_view text,
                             int mode = 0644);
// Blocks until all is written: on a loop's thread for regular files only.
Status write_all(int fd, std::string_view bytes);

// Sends one message with descriptors over an AF_UNIX socket (SOCK_SEQPACKET).
Status send_with_fds(int socket, std::string_view bytes,
                     std::span<const int> fds);
struct Received {
  std::string bytes;
  std::vector<UniqueFd> fds;
  bool eof = false;
};
// One recvmsg of at most `limit` bytes and 8 descriptors. EAGAIN is reported as
// an Error with code "again".
Result<Received> receive_with_fds(int socket, size_t limit = 64 * 1024);

// Raises the limit of descriptors to the hard one: a process that serves many
// pods needs several for each, and 1024 is a usual soft limit.
void raise_descriptor_limit();

}  // namespace muster
