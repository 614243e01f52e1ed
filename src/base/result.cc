// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <cerrno>
#include <cstring>

namespace muster {

std::string Error::text() const {
  std::string out;
  if (!where.empty()) out += where + ": ";
  out += what;
  if (!why.empty()) out += ": " + why;
  if (!hint.empty()) {
    // A hint may begin with a command, which stays as typed.
    const bool sentence = hint.front() >= 'A' && hint.front() <= 'Z';
    out += (sentence ? ". " : "; ") + hint;
  }
  return out;
}

tl::unexpected<Error> fail_errno(std::string code, std::string what,
                                 std::string where) {
  return fail_errno(errno, std::move(code), std::move(what), std::move(where));
}

tl::unexpected<Error> fail_errno(int saved_errno, std::string code,
                                 std::string what, std::string where) {
  return fail(Error{std::move(code),
                    std::move(what),
                    strerror(saved_errno),
                    std::move(where),
                    {}});
}

}  // namespace muster
