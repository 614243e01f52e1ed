// SPDX-License-Identifier: Apache-2.0
// <linux/tcp.h> has the counters that <netinet/tcp.h> lacks, and the two
// cannot be included together.
#include "fabric/prove/tcp_progress.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>

namespace muster {

uint64_t tcp_progress(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
      size < offsetof(tcp_info, tcpi_segs_out)) {
    return 0;
  }
  return info.tcpi_bytes_acked + info.tcpi_bytes_received;
}

bool StallWatch::stalled() {
  const uint64_t now = tcp_progress(fd_);
  if (now != seen_) {
    seen_ = now;
    since_ = Clock::now();
  }
  return Clock::now() - since_ >= std::chrono::milliseconds(kStallMs);
}

}  // namespace muster
