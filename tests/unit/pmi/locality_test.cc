// SPDX-License-Identifier: Apache-2.0
// What bound ranks share, as PMIx clients read it.
#include "pmi/locality.h"

#include "catch.h"

using namespace muster;

namespace {

// Two packages of two cores of two threads (0,4 | 1,5 || 2,6 | 3,7); L3 by
// package, memory by package but numbered the other way round.
CpuPlaces two_packages() {
  CpuPlaces out;
  for (int cpu = 0; cpu < 8; ++cpu) {
    const int core = cpu % 4;
    const int package = core / 2;
    out[cpu] = {package, 1 - package, core, {core, core, package * 2}};
  }
  return out;
}

}  // namespace

TEST_CASE("a bound rank names what it is on, from package to memory") {
  CHECK(locality_text(two_packages(), {1, 5}) ==
        "SK0:L30:L21:L11:CR1:HT1,5:NM1");
  CHECK(locality_text(two_packages(), {1, 2, 3}) ==
        "SK0-1:L30,2:L21-3:L11-3:CR1-3:HT1-3:NM0-1");
  CHECK(locality_text(two_packages(), {}).empty());
}

TEST_CASE("what is not known of a CPU is not said") {
  CpuPlaces places;
  places[3].core = 3;
  CHECK(locality_text(places, {3}) == "CR3:HT3");
  CHECK(locality_text({}, {9}) == "HT9");
}

TEST_CASE("ranks of one package count from 0") {
  CHECK(package_ranks(two_packages(), {{0}, {2}, {1, 5}, {}, {3}, {4}}) ==
        std::vector<int>{0, 0, 1, -1, 1, 2});
  CHECK(package_ranks({}, {{0}}) == std::vector<int>{-1});
}
