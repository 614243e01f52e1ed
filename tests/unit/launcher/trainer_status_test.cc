// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/trainer_status.h"

#include "catch.h"

namespace muster {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kStart = 1769862896 * kSecond;  // 2026-01-31T12:34:56Z

TEST_CASE("the words of a rank") {
  const auto epoch = parse_progress("epoch 45/100");
  REQUIRE(epoch);
  CHECK(epoch->unit == "epoch");
  CHECK(epoch->at == 45);
  CHECK(epoch->total == 100);
  CHECK(parse_progress("step 1200")->total == 0);
  for (const char* none : {"", "epoch", "epoch x", "epoch 1/2/3", "a b c"}) {
    CHECK_FALSE(parse_progress(none));
  }
}

TEST_CASE("percentage and time left, at the pace so far") {
  TrainerStatus status;
  CHECK_FALSE(status.changed());
  status.note({"epoch", 10, 100}, kStart);
  CHECK(status.changed());
  CHECK(status.json(kStart) ==
        R"({"trainerStatus":{"progressPercentage":10,"metrics":[)"
        R"({"name":"epoch","value":"10"},)"
        R"({"name":"total_epoch","value":"100"}],)"
        R"("lastUpdatedTime":"2026-01-31T12:34:56Z"}})");
  CHECK_FALSE(status.changed());
  status.note({"epoch", 10, 100}, kStart + kSecond);
  CHECK_FALSE(status.changed());
  status.note({"epoch", 20, 100}, kStart + 60 * kSecond);
  // 6 s an epoch, 80 to go, and 20 s of that have gone.
  const std::string text = status.json(kStart + 80 * kSecond);
  CHECK(text.find(R"("estimatedRemainingSeconds":460,)") != std::string::npos);
}

TEST_CASE("a step without an end has no percentage; 100 is for a good end") {
  TrainerStatus status;
  status.note({"step", 7, 0}, kStart);
  CHECK(status.json(kStart).find("Percentage") == std::string::npos);
  status.note({"step", 50, 50}, kStart);
  CHECK(status.json(kStart).find(R"("progressPercentage":99)") !=
        std::string::npos);
  status.complete();
  const std::string text = status.json(kStart);
  CHECK(text.find(R"("progressPercentage":100)") != std::string::npos);
  CHECK(text.find(R"("estimatedRemainingSeconds":0)") != std::string::npos);
}

TEST_CASE("a new phase of a job has a pace of its own") {
  TrainerStatus status;
  status.note({"epoch", 1, 10}, kStart);
  status.note({"epoch", 5, 10}, kStart + kSecond);
  status.note({"step", 1, 10}, kStart + 2 * kSecond);
  CHECK(status.json(kStart).find("Remaining") == std::string::npos);
  status.note({"step", 3, 10}, kStart + 22 * kSecond);
  CHECK(status.json(kStart + 22 * kSecond)
            .find(R"("estimatedRemainingSeconds":70)") != std::string::npos);
}

}  // namespace
}  // namespace muster
