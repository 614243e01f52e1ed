// SPDX-License-Identifier: Apache-2.0
// ProbeListener: a TCP port for other pods to prove that they can reach this
// one. Accepts and closes; reads nothing. Loop thread.
#pragma once

#include <memory>
#include <string>

#include "base/accept_watch.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/result.h"

namespace muster {

class ProbeListener {
 public:
  explicit ProbeListener(Loop& loop) : loop_(loop) {}

  // The port, on all addresses of the pod; replaces an earlier one. `range`
  // is "40000-40999", the ports that a NetworkPolicy lets in, or "": any.
  Result<int> open(const std::string& range);
  void close();

 private:
  Loop& loop_;
  UniqueFd socket_;
  std::unique_ptr<AcceptWatch> watch_;
};

}  // namespace muster
