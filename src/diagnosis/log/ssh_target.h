// SPDX-License-Identifier: Apache-2.0
// SshTarget: the host of ssh's last lines without a name ("Permission denied
// (publickey).", "Host key verification failed."), from the lines in which ssh
// said where it connects. If several ran at once, the host is unknown. Not
// thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace muster {

class SshTarget {
 public:
  // Learns from `line`, and returns its host; empty: unknown.
  std::string_view host_of(std::string_view line);

 private:
  void learn(std::string_view name);

  std::string host_;
  bool several_ = false;
};

}  // namespace muster
