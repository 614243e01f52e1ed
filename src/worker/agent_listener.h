// SPDX-License-Identifier: Apache-2.0
// ProbeListener: a TCP port for other pods to prove that they can reach this
// one. Accepts and closes; reads nothing. Loop thread.
#pragma once

#include <memory>

#include "base/fd.h"
#include "base/loop.h"
#include "base/result.h"

namespace muster {

class ProbeListener {
 public:
  explicit ProbeListener(Loop& loop) : loop_(loop) {}

  // The port, on all addresses of the pod; replaces an earlier one.
  Result<int> open();
  void close();

 private:
  Loop& loop_;
  UniqueFd socket_;
  std::unique_ptr<FdWatch> watch_;
};

}  // namespace muster
