// SPDX-License-Identifier: Apache-2.0
// How soon a worker is dialled again, by what the last attempts ended with.
#include "launcher/connect/retry_delay.h"

#include "catch.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

TEST_CASE("a missing name and a port that refuses are tried again quickly") {
  for (const char* code : {"dns_unresolved", "tcp_refused"}) {
    INFO(code);
    RetryDelay delay(2);
    Clock::time_point now;
    CHECK(delay.after(code, now, 0.5) == 20ms);
    CHECK(delay.after(code, now + 4s, 0.5) == 20ms);
    CHECK(delay.after(code, now + 20s, 0.5) == 100ms);
    CHECK(delay.after(code, now + 1h, 0.5) == 500ms);
  }
}

TEST_CASE("a port that refuses after a long wait for the name is new") {
  RetryDelay delay(2);
  const Clock::time_point now;
  delay.after("dns_unresolved", now, 0);
  CHECK(delay.after("dns_unresolved", now + 60s, 0) == 300ms);
  CHECK(delay.after("tcp_refused", now + 61s, 0) == 20ms);
  CHECK(delay.in_a_row() == 1);
}

TEST_CASE("many ports that refuse are tried more rarely, names are not") {
  const Clock::time_point now;
  CHECK(RetryDelay(30).after("tcp_refused", now, 0) == 30ms);
  CHECK(RetryDelay(1000).after("tcp_refused", now, 0) == 100ms);
  CHECK(RetryDelay(1000).after("dns_unresolved", now, 0) == 20ms);
}

TEST_CASE("all else is tried more rarely each time") {
  RetryDelay delay(2);
  const Clock::time_point now;
  CHECK(delay.after("ssh_closed", now, 0.5) == 100ms);
  CHECK(delay.after("ssh_closed", now, 0.5) == 200ms);
  CHECK(delay.after("ssh_closed", now, 0.5) == 400ms);
  for (int i = 0; i < 1000; ++i) delay.after("ssh_closed", now, 0.5);
  CHECK(delay.after("ssh_closed", now, 0) == 375ms);
  CHECK(delay.after("ssh_closed", now, 1) == 625ms);
  CHECK(delay.in_a_row() == 1005);
  CHECK(delay.after("ssh_auth", now, 0.5) == 100ms);
}

}  // namespace
}  // namespace muster
