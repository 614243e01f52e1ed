// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/output_credit.h"

#include <map>

#include "catch.h"

namespace muster {
namespace {

constexpr StreamKey kFirst{{1, 1}, 1};
constexpr StreamKey kSecond{{1, 1}, 2};
constexpr StreamKey kThird{{2, 1}, 1};
constexpr uint32_t kMiB = 1 << 20;

struct Bed {
  explicit Bed(uint32_t step, uint32_t extra)
      : credit(step, extra, [this](ProcessKey key, uint8_t flag, uint32_t n) {
          given[{key, flag}] += n;
        }) {
    for (const StreamKey& one : {kFirst, kSecond, kThird}) credit.add(one);
  }
  std::map<StreamKey, uint64_t> given;
  OutputCredit credit;
};

TEST_CASE("credit goes back in steps, all that is owed at once") {
  Bed bed(100, 0);
  bed.credit.owe(kFirst, 60);
  bed.credit.owe(kSecond, 99);
  bed.credit.settle();
  CHECK(bed.given.empty());
  bed.credit.owe(kFirst, 60);
  bed.credit.settle();
  CHECK(bed.given == std::map<StreamKey, uint64_t>{{kFirst, 120}});
  bed.credit.settle();
  CHECK(bed.given[kFirst] == 120);
}

TEST_CASE("extra credit is given once, and not beyond 64 MiB for all") {
  Bed bed(1, 40 * kMiB);
  bed.credit.widen(kFirst);
  bed.credit.widen(kFirst);
  bed.credit.widen(kSecond);
  CHECK(bed.given == std::map<StreamKey, uint64_t>{{kFirst, 40 * kMiB}});
  bed.credit.narrow(kFirst);
  bed.credit.narrow(kFirst);
  bed.credit.widen(kSecond);
  bed.credit.widen(kThird);
  CHECK(bed.given[kSecond] == 40 * kMiB);
  CHECK(bed.given.count(kThird) == 0);
}

TEST_CASE("nothing goes to a stream that is forgotten, and its extra is free") {
  Bed bed(1, 40 * kMiB);
  bed.credit.widen(kFirst);
  bed.credit.owe(kFirst, 7);
  bed.credit.forget(kFirst);
  bed.credit.owe(kFirst, 7);
  bed.credit.settle();
  CHECK(bed.given[kFirst] == 40 * kMiB);
  bed.credit.widen(kFirst);
  CHECK(bed.given[kFirst] == 40 * kMiB);
  bed.credit.widen(kSecond);
  CHECK(bed.given[kSecond] == 40 * kMiB);
}

}  // namespace
}  // namespace muster
