// SPDX-License-Identifier: Apache-2.0
#include "base/cpu_mask.h"

#include <unistd.h>

#include <thread>

#include "catch.h"

using namespace muster;

TEST_CASE("a mask has a bit for each CPU, also above 1023") {
  CHECK(cpu_mask({}).empty());
  CHECK(cpu_mask({1, 0}) == CpuMask{3});
  CHECK(cpu_mask({63, 64}) == CpuMask{1UL << 63U, 1});
  const CpuMask high = cpu_mask({1500, 2});
  REQUIRE(high.size() == 24);
  CHECK(high[0] == 4);
  CHECK(high[23] == 1UL << 28U);
}

TEST_CASE("a thread is bound to those of a mask that are there") {
  int error = -1;
  int where = -1;
  int nowhere = 0;
  std::thread([&] {
    nowhere = bind_to(cpu_mask({9000}));
    const int here = ::sched_getcpu();
    error = bind_to(cpu_mask({here, 9000}));
    where = ::sched_getcpu() - here;
  }).join();
  CHECK(nowhere == EINVAL);
  CHECK(error == 0);
  CHECK(where == 0);
}
