// SPDX-License-Identifier: Apache-2.0
// Sweep: which of hundreds of recorded cases a test varies. Each case is judged
// as it was recorded, every time; what is tried on top of that (another
// spelling, another order, another head before each line) takes one case in
// three, another third in each test, and all of them where MUSTER_SWEEP=all
// (`scripts/test --long`). Under the sanitizers all of it takes minutes.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <string_view>

namespace muster {

class Sweep {
 public:
  // `start`: which third.
  explicit Sweep(size_t start) : at_(start) {}
  // Whether the next case is one to vary.
  bool takes() { return at_++ % kOneIn == 0 || all(); }

 private:
  static constexpr size_t kOneIn = 3;
  static bool all() {
    const char* const wanted = std::getenv("MUSTER_SWEEP");
    return wanted != nullptr && std::string_view(wanted) == "all";
  }
  size_t at_;
};

}  // namespace muster
