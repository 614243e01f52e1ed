// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/program_words.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "base/fd.h"

namespace muster {

namespace {

constexpr size_t kLargest = 256 << 20;
constexpr size_t kPiece = 1 << 20;
constexpr std::string_view kElf = "\177ELF";

// Names in .dynstr stand between two zeros. Zeros are frequent, so that the
// name itself is looked for.
bool has_name(std::string_view bytes, std::string_view name) {
  for (size_t at = bytes.find(name); at != std::string_view::npos;
       at = bytes.find(name, at + 1)) {
    const size_t end = at + name.size();
    if (at > 0 && bytes[at - 1] == '\0' && end < bytes.size() &&
        bytes[end] == '\0') {
      return true;
    }
  }
  return false;
}

}  // namespace

bool program_names(const std::string& program, const Environment& env,
                   const std::string& cwd,
                   const std::vector<std::string>& functions) {
  const std::string* search = find_env(env, "PATH");
  const auto path =
      find_program(program, search != nullptr ? *search : "", cwd);
  if (!path) return false;
  const UniqueFd file(::open(path->c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return false;
  size_t longest = 0;  // with its zeros
  for (const std::string& name : functions) {
    longest = std::max(longest, name.size() + 2);
  }
  std::string bytes;  // a piece, behind what a name may have begun in
  for (size_t total = 0; total < kLargest;) {
    const size_t kept = bytes.size();
    bytes.resize(kept + kPiece);
    const ssize_t n = ::read(file.get(), bytes.data() + kept, kPiece);
    if (n <= 0) return false;
    bytes.resize(kept + static_cast<size_t>(n));
    if (total == 0 && !bytes.starts_with(kElf)) return false;
    total += static_cast<size_t>(n);
    for (const std::string& name : functions) {
      if (has_name(bytes, name)) return true;
    }
    bytes.erase(0, bytes.size() - std::min(bytes.size(), longest));
  }
  return false;
}

}  // namespace muster
