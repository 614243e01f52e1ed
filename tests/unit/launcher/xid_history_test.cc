// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/xid_history.h"

#include "catch.h"
#include "launcher/report/status.h"

namespace muster {
namespace {

constexpr int64_t kS = 1'000'000'000;

wire::GpuXid told(int xid, int64_t count, int64_t first_ms, int64_t last_ms) {
  return {xid, 3, "0000:1a:00.0", "GPU-5e", false, count, first_ms, last_ms};
}

TEST_CASE("an Xid is news once, and is counted from heartbeat to heartbeat") {
  XidHistory history;
  CHECK(history.add({}, 10 * kS).empty());
  const auto news = history.add({told(31, 2, 3'000, 1'000)}, 20 * kS);
  REQUIRE(news.size() == 1);
  CHECK(news[0].first_ns == 17 * kS);
  CHECK(news[0].last_ns == 19 * kS);
  CHECK(history.add({told(31, 2, 5'000, 3'000)}, 22 * kS).empty());
  CHECK(history.all()[0].last_ns == 19 * kS);
  CHECK(history.add({told(31, 9, 13'000, 500)}, 30 * kS).empty());
  CHECK(history.all()[0].count == 9);
  CHECK(history.all()[0].first_ns == 17 * kS);
  CHECK(history.all()[0].last_ns == 29 * kS + kS / 2);
  // An agent that was connected again.
  CHECK(history.add({told(31, 1, 0, 0)}, 40 * kS).empty());
  CHECK(history.all()[0].count == 10);
  CHECK(history.add({told(31, 1, 0, 0), told(79, 1, 0, 0)}, 41 * kS).size() ==
        1);
}

TEST_CASE("an Xid's line says where, which, and whose fault") {
  const XidEvidence lost{79, 3, "0000:1a:00.0", "GPU-5e", false, 1, 0, 0};
  CHECK(xid_line("w-0", lost) ==
        "w-0: GPU 3 (GPU-5e): Xid 79: the GPU has fallen off the bus (fault: "
        "hardware, leave the node out)");
  const XidEvidence odd{999, 0, "0000:1a:00.0", "", false, 7, 0, 0};
  CHECK(xid_line("w-0", odd) == "w-0: GPU 0 (0000:1a:00.0): Xid 999, 7 times");
}

TEST_CASE("status and metrics have the Xids of each worker") {
  JobStatus status;
  status.workers.emplace_back();
  status.workers[0].host = "w-0";
  status.workers[0].state = "ready";
  status.workers[0].used.xids = {told(43, 2, 9'000, 4'000)};
  const auto back = job_status_from_json(to_json(status));
  REQUIRE(back);
  const std::string text = status_text(*back);
  CHECK(text.find("w-0: GPU 3: Xid 43: ") != std::string::npos);
  CHECK(text.find("2 times, the last 4.0 s ago") != std::string::npos);
  CHECK(metrics_text(*back).find(
            "muster_worker_gpu_xid_total{worker=\"w-0\",gpu=\"GPU-5e\","
            "xid=\"43\"} 2\n") != std::string::npos);
}

}  // namespace
}  // namespace muster
