// SPDX-License-Identifier: Apache-2.0
#include "job/termination_message.h"

#include <fcntl.h>

#include "base/fd.h"

namespace muster {

namespace {

constexpr size_t kKubeletLimit = 4096;

}  // namespace

void write_termination_message(const std::string& path, std::string_view text) {
  // A FIFO without a reader would block us.
  const UniqueFd fd(
      ::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC | O_NONBLOCK));
  if (fd) static_cast<void>(write_all(fd.get(), text.substr(0, kKubeletLimit)));
}

}  // namespace muster
