// SPDX-License-Identifier: Apache-2.0
// SshTarget: the host of ssh's last words that name none ("Permission denied
// (publickey).", "Host key verification failed."), from the lines in which ssh
// said where it connects. Where several ran at once, the host is unknown.
// Not thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace muster {

class SshTarget {
 public:
  // Learns from `line`, and tells whom it is about; empty: not known.
  std::string_view host_of(std::string_view line);

 private:
  void learn(std::string_view name);

  std::string host_;
  bool several_ = false;
};

}  // namespace muster
