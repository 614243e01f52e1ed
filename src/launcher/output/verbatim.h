// SPDX-License-Identifier: Apache-2.0
// Verbatim: the bytes of one stream of one rank, for the plain form without
// labels, which is mpirun's: keeps carriage returns, NULs and text without a
// newline. Replaces only secrets. Text without a newline that may hold a secret
// waits for the rest of its line, up to kMostHeld bytes. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "logs/masker.h"

namespace muster {

class Verbatim {
 public:
  static constexpr size_t kMostHeld = 256 << 10;

  // Appends the part of `bytes` that may be shown now. `masker` may be null.
  void append(std::string& out, std::string_view bytes, const Masker* masker);
  // The stream has ended: appends the text that waits.
  void finish(std::string& out, const Masker* masker);
  // No text waits, and no secret of several lines is open.
  [[nodiscard]] bool at_rest() const {
    return held_.empty() && mask_.key == MaskState::Key::kNone;
  }

 private:
  void append_line(std::string& out, std::string_view line,
                   const Masker* masker);

  MaskState mask_;
  std::string held_;
};

}  // namespace muster
