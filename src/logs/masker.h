// SPDX-License-Identifier: Apache-2.0
// Masker: replaces secrets in a line by kMask before it is stored: tokens by
// their providers' shapes, Authorization headers, passwords in URLs, private
// keys (PEM, OpenSSH, PGP, PuTTY), NAME=value of secret-looking names, logins
// of netrc and curl, the values of the environment's own secrets, and matches
// of the user's patterns. One pass over the bytes without copying when there is
// nothing to hide. Refuses: patterns that RE2 cannot compile. Immutable; any
// thread may use it, with one MaskState per stream.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "logs/secret_names.h"

namespace muster {

// Replaces a secret.
inline constexpr std::string_view kMask = "[masked]";

struct MaskOptions {
  // The job's environment; only values of secret-looking names are used, if
  // they have at least 8 characters.
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string> patterns;  // RE2; the first group, else all of it
};

// The state of a stream that its next line needs.
struct MaskState {
  // Inside a private key between BEGIN and END, or in PuTTY's form, which
  // counts the lines of its private part.
  enum class Key : uint8_t { kNone, kBlock, kPutty };
  Key key = Key::kNone;
  int key_lines = 0;      // so far
  int private_lines = 0;  // of PuTTY's, still to come
};

class Masker {
 public:
  static Result<Masker> create(const MaskOptions& options);
  Masker(Masker&&) noexcept;
  Masker& operator=(Masker&&) noexcept;
  ~Masker();

  // false: mask() would leave this line, and the state, as they are. Far
  // cheaper than mask(), and without a copy.
  [[nodiscard]] bool needs_look(std::string_view line,
                                const MaskState& state) const;
  // Changes `line` in place; true if there was something to hide.
  bool mask(std::string& line, MaskState& state) const;
  // Without memory of other lines: for single texts.
  [[nodiscard]] std::string masked(std::string_view text) const;

 private:
  struct Known;
  explicit Masker(std::unique_ptr<Known> known);
  std::unique_ptr<Known> known_;
};

}  // namespace muster
