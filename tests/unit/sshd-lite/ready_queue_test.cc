// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/ready_queue.h"

#include "catch.h"

using namespace muster;

TEST_CASE("next is the newest of the address with the fewest") {
  const Clock::time_point now{};
  ReadyQueue queue(8);
  for (const char* peer :
       {"10.0.0.9:1", "10.0.0.1:1", "10.0.0.9:2", "10.0.0.1:2", "10.0.0.9:3"}) {
    queue.push({{}, peer, {}}, now);
  }
  CHECK(queue.pop()->peer == "10.0.0.1:2");
  CHECK(queue.pop()->peer == "10.0.0.1:1");
  CHECK(queue.pop()->peer == "10.0.0.9:3");
}

TEST_CASE("a full queue loses its oldest, and the old are dropped") {
  const Clock::time_point now{};
  ReadyQueue queue(2);
  queue.push({{}, "a:1", {}}, now);
  queue.push({{}, "b:1", {}}, now + Milliseconds(10));
  queue.push({{}, "c:1", {}}, now + Milliseconds(20));
  queue.drop_before(now + Milliseconds(15));
  CHECK(queue.pop()->peer == "c:1");
  CHECK_FALSE(queue.pop());
}
