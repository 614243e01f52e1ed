// SPDX-License-Identifier: Apache-2.0
// Waits until the pod's mesh proxy is ready: before that, it refuses or
// swallows connections of this pod. Asks four times a second, on the loop.
#pragma once

#include <functional>

#include "base/loop.h"
#include "base/mesh.h"
#include "base/result.h"

namespace muster {

class MeshWait {
 public:
  explicit MeshWait(Loop& loop) : timer_(loop) {}
  // `done` is called once: at once for kNone, with an error ("mesh") after
  // `limit`.
  void start(Mesh mesh, Milliseconds limit, std::function<void(Status)> done);

 private:
  void ask();

  Timer timer_;
  Mesh mesh_ = Mesh::kNone;
  Clock::time_point until_;
  std::function<void(Status)> done_;
};

}  // namespace muster
