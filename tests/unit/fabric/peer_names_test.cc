// SPDX-License-Identifier: Apache-2.0
#include "fabric/prove/peer_names.h"

#include "catch.h"

using namespace muster;
using Clock = std::chrono::steady_clock;

TEST_CASE("what resolves to nothing is told by its name", "[peer_names]") {
  // No label may be longer than 63 bytes: refused without a question.
  const std::string impossible(300, 'x');
  CHECK(unresolved_names({"127.0.0.1", impossible, "::1", impossible},
                         Clock::now() + std::chrono::seconds(30)) ==
        std::vector<std::string>{impossible, impossible});
  CHECK(unresolved_names({}, Clock::now()).empty());
}
