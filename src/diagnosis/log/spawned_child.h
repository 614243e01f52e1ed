// SPDX-License-Identifier: Apache-2.0
// SpawnedChild: a process that Python's multiprocessing spawned reads its
// orders from its parent. If that breaks off, the parent ended first: no file
// is damaged, whatever the exception says. For one writer's lines, in their
// order. Pure.
#pragma once

#include <string_view>

namespace muster {

class SpawnedChild {
 public:
  // Whether `line` shows that the parent has ended.
  bool lost_parent(std::string_view line);

 private:
  int left_ = 0;  // lines in which the exception may stand
};

}  // namespace muster
