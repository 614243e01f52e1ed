// SPDX-License-Identifier: Apache-2.0
// The error of a process, or a node, that has no file descriptor left: the same
// for every call, and waiting does not cure it. Any thread.
#pragma once

#include <sys/resource.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/result.h"

namespace muster {

inline constexpr const char* kNoDescriptors = "no_descriptors";

inline bool is_no_descriptors(int saved_errno) {
  return saved_errno == EMFILE || saved_errno == ENFILE;
}

inline Error no_descriptors(int saved_errno, const std::string& what) {
  rlimit limit{};
  const bool own =
      saved_errno == EMFILE && ::getrlimit(RLIMIT_NOFILE, &limit) == 0;
  return Error{
      kNoDescriptors,
      "no file descriptor is left here" +
          (own ? " (limit of open files: " + std::to_string(limit.rlim_cur) +
                     ")"
               : std::string(" (the node's limit, fs.file-max, is reached)")),
      what + ": " + std::strerror(saved_errno),
      {},
      own ? "raise the limit of open files (ulimit -n)"
          : "look for what holds the node's files"};
}

// For a call that makes a descriptor, with the present errno.
inline tl::unexpected<Error> fail_descriptor(const std::string& what) {
  if (is_no_descriptors(errno)) return fail(no_descriptors(errno, what));
  return fail_errno("resources", what);
}

}  // namespace muster
