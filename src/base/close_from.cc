// SPDX-License-Identifier: Apache-2.0
#include "base/close_from.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

namespace muster {

namespace {

constexpr unsigned kMarkOnly = 4;  // CLOSE_RANGE_CLOEXEC
// Without /proc: a usual hard limit of old systems, and quickly done.
constexpr int kBlindLimit = 65536;

void end(int fd, bool mark_only) {
  if (mark_only) {
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  } else {
    ::close(fd);
  }
}

// -1: "." or "..".
int number(const char* name) {
  int out = 0;
  for (; *name != '\0'; ++name) {
    if (*name < '0' || *name > '9') return -1;
    out = out * 10 + (*name - '0');
  }
  return out;
}

// readdir() would allocate. Closing while reading is fine: the kernel goes on
// from the next number.
bool end_listed(int first, bool mark_only) {
  const int directory =
      ::open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return false;
  alignas(dirent64) char buffer[2048];
  long size = 0;
  while ((size = ::syscall(SYS_getdents64, directory, buffer, sizeof buffer)) >
         0) {
    for (long at = 0; at < size;) {
      const char* entry = buffer + at;
      unsigned short length = 0;
      std::memcpy(&length, entry + offsetof(dirent64, d_reclen), sizeof length);
      const int fd = number(entry + offsetof(dirent64, d_name));
      if (fd >= first && fd != directory) end(fd, mark_only);
      at += length;
    }
  }
  ::close(directory);
  return size == 0;
}

void end_from(int first, bool mark_only) {
  // On any error: a runtime's profile may refuse a call that it does not know
  // with EPERM.
  if (::syscall(SYS_close_range, static_cast<unsigned>(first), ~0U,
                mark_only ? kMarkOnly : 0U) == 0 ||
      end_listed(first, mark_only)) {
    return;
  }
  for (int fd = first; fd < kBlindLimit; ++fd) end(fd, mark_only);
}

}  // namespace

void close_from(int first) { end_from(first, false); }
void close_on_exec_from(int first) { end_from(first, true); }

}  // namespace muster
