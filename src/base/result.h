// SPDX-License-Identifier: Apache-2.0
// The one way a field failure travels: Result<T> is a value or an Error that
// already reads as one sentence for a person. The code that sees the failure
// composes it. Refuses: exceptions across the loop; error text assembled by
// callers.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace muster {

struct Error {
  std::string code;  // stable word, e.g. "dns_unresolved"; see docs/failures.md
  std::string what;  // what could not be done, one clause
  std::string why;   // exact cause: errno text, library message
  std::string where;  // host, rank, file:line; empty if it is this process
  std::string hint;   // what the user should do; empty if unknown

  // "WHERE: WHAT: WHY. HINT" without the empty parts.
  [[nodiscard]] std::string text() const;
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

inline tl::unexpected<Error> fail(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

// An Error whose `why` is the text of `saved_errno` (default: current errno).
tl::unexpected<Error> fail_errno(std::string code, std::string what,
                                 std::string where = {});
tl::unexpected<Error> fail_errno(int saved_errno, std::string code,
                                 std::string what, std::string where = {});

}  // namespace muster
