// SPDX-License-Identifier: Apache-2.0
// SpawnedChild: a process that Python's multiprocessing spawned reads from its
// parent what to do. Where that breaks off, the parent ended first: no file is
// damaged, whatever the exception says. Of one writer's lines, in their order.
// Pure.
#pragma once

#include <string_view>

namespace muster {

class SpawnedChild {
 public:
  // Whether `line` tells that the parent is gone.
  bool lost_parent(std::string_view line);

 private:
  int left_ = 0;  // lines in which the exception may stand
};

}  // namespace muster
