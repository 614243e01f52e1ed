// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/nccl_spread.h"

#include "catch.h"

namespace muster {
namespace {

using std::chrono::seconds;

PodNccl pod(int number, const std::string& version,
            const std::string& planned = "2.28.9") {
  return {"worker-" + std::to_string(number), number, version,
          "/lib" + version + "/libnccl.so.2", planned};
}

TEST_CASE("a pod that loads another NCCL than the others is named once") {
  NcclSpread spread;
  const NcclSpread::Time start;
  CHECK(spread.add(pod(0, "2.28.9"), 4, start).empty());
  CHECK(spread.add(pod(0, "2.28.9"), 4, start + seconds(2)).empty());
  CHECK(spread.add(pod(1, "2.28.9"), 4, start).empty());
  CHECK(spread.add(pod(2, "2.28.9"), 4, start).empty());
  const auto told = spread.add(pod(3, "2.27.5", "2.27.5"), 4, start);
  REQUIRE(told.size() == 1);
  CHECK(told[0].code == "nccl_spread");
  CHECK(told[0].text ==
        "worker-3 loads NCCL 2.27.5 (/lib2.27.5/libnccl.so.2), the others "
        "2.28.9");
  CHECK(spread.add(pod(3, "2.27.5", "2.27.5"), 4, start).empty());
  CHECK(spread.finish().empty());
}

TEST_CASE("pods that never tell do not keep the others' difference back") {
  NcclSpread spread;
  const NcclSpread::Time start;
  CHECK(spread.add(pod(0, "2.28.9"), 9, start).empty());
  CHECK(spread.add(pod(1, "2.27.5", ""), 9, start + seconds(3)).empty());
  const auto told = spread.add(pod(1, "2.27.5", ""), 9, start + seconds(11));
  REQUIRE(told.size() == 1);
  CHECK(told[0].text.find("worker-") != std::string::npos);
  // … nor an end before that.
  NcclSpread ended;
  CHECK(ended.add(pod(0, "2.28.9"), 9, start).empty());
  CHECK(ended.add(pod(1, "2.27.5", ""), 9, start).empty());
  CHECK(ended.finish().size() == 1);
}

TEST_CASE("another NCCL than the settings are of is told at once, and once") {
  NcclSpread spread;
  const NcclSpread::Time start;
  const auto told = spread.add(pod(0, "2.27.3"), 2, start);
  REQUIRE(told.size() == 1);
  CHECK(told[0].code == "nccl_loaded");
  CHECK(told[0].text ==
        "rank 0 on worker-0 loaded NCCL 2.27.3 (/lib2.27.3/libnccl.so.2), and "
        "the settings of the network are of 2.28.9, which was found for the "
        "command");
  CHECK(spread.add(pod(1, "2.27.3"), 2, start).empty());
  CHECK(spread.finish().empty());
  NcclSpread unknown;
  CHECK(unknown.add(pod(0, "2.27.3", ""), 1, start).empty());
  CHECK(unknown.add(pod(1, "", ""), 1, start).empty());
}

}  // namespace
}  // namespace muster
