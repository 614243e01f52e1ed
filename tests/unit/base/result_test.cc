// SPDX-License-Identifier: Apache-2.0
// An Error reads as one sentence whatever parts it has.
#include "base/result.h"

#include <cerrno>

#include "catch.h"

namespace muster {
namespace {

TEST_CASE("the parts of an error") {
  CHECK(Error{"c", "what", "why", "where", "hint"}.text() ==
        "where: what: why; hint");
  CHECK(Error{"c", "what", "", "", ""}.text() == "what");
  CHECK(Error{"c", "what", "", "where", ""}.text() == "where: what");
  CHECK(Error{"c", "what", "why", "", ""}.text() == "what: why");
  CHECK(Error{"c", "what", "", "", "hint"}.text() == "what; hint");
  CHECK(Error{"c", "what", "", "", "A sentence"}.text() == "what. A sentence");
}

TEST_CASE("errno as the reason") {
  const Status status = fail_errno(ENOENT, "c", "what", "f");
  CHECK(status.error().text() == "f: what: No such file or directory");
  errno = EACCES;
  const Status current = fail_errno("c", "what");
  CHECK(current.error().why == "Permission denied");
}

}  // namespace
}  // namespace muster
