// SPDX-License-Identifier: Apache-2.0
// BroadcastHost: the host of a kernel message on a terminal. syslogd writes
// urgent ones to all terminals: "Message from syslogd@node-3 at Oct  1 13:12:41
// ...", and below it " kernel:[991022.1] NVRM: Xid …". Not thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace muster {

class BroadcastHost {
 public:
  // The host that wrote the next line; empty: none.
  std::string_view host_of(std::string_view line);

 private:
  std::string host_;
};

}  // namespace muster
