// SPDX-License-Identifier: Apache-2.0
// Masker: replaces secrets in a line by kMask before anybody stores it:
// tokens by their providers' shapes, Authorization headers, passwords in URLs,
// private keys, NAME=value of secret-looking names, the values of the
// environment's own secrets, and what the user's patterns match.
// One pass over the bytes without copying when there is nothing to hide.
// Refuses: patterns that RE2 cannot compile. Immutable; any thread may use it,
// with one MaskState per stream.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace muster {

// What stands in a secret's place.
inline constexpr std::string_view kMask = "[masked]";

struct MaskOptions {
  // The job's environment; only values of secret-looking names are used, if
  // they have at least 8 characters.
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string> patterns;  // RE2; the first group, else all of it
};

// What one stream's next line needs to know of the ones before.
struct MaskState {
  bool in_private_key = false;
  int key_lines = 0;
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

// "AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "db-password"; not "MAX_TOKENS".
bool is_secret_name(std::string_view name);

}  // namespace muster
