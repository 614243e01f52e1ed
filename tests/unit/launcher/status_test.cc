// SPDX-License-Identifier: Apache-2.0
#include "launcher/status.h"

#include "catch.h"

namespace muster {
namespace {

JobStatus sample() {
  JobStatus status;
  status.launch_id = "l1";
  status.phase = "run";
  WorkerStatus known;
  known.host = "w-0";
  known.state = "ready";
  known.used.cpu_us = 1'500'000;
  known.used.memory_stall_us = 250'000;
  known.used.network_received = 1000;
  known.used.network_sent = 2000;
  known.used.rdma_received = 3000;
  known.used.rdma_sent = 4000;
  known.used.rdma_errors = 5;
  WorkerStatus unknown;
  unknown.host = "w-1";
  unknown.state = "connecting";
  status.workers = {known, unknown};
  return status;
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST_CASE("what a pod has used, for Prometheus") {
  const std::string text = metrics_text(sample(), 0);
  CHECK(has_line(text, "# TYPE muster_worker_cpu_seconds_total counter"));
  for (const char* line :
       {"muster_worker_cpu_seconds_total{worker=\"w-0\"} 1.5",
        "muster_worker_memory_stall_seconds_total{worker=\"w-0\"} 0.25",
        "muster_worker_network_receive_bytes_total{worker=\"w-0\"} 1000",
        "muster_worker_network_transmit_bytes_total{worker=\"w-0\"} 2000",
        "muster_worker_rdma_receive_bytes_total{worker=\"w-0\"} 3000",
        "muster_worker_rdma_transmit_bytes_total{worker=\"w-0\"} 4000",
        "muster_worker_rdma_errors_total{worker=\"w-0\"} 5"}) {
    INFO(line);
    CHECK(has_line(text, line));
  }
  CHECK(text.find("cpu_seconds_total{worker=\"w-1\"}") == std::string::npos);
}

TEST_CASE("it survives status.json, also what is not known") {
  const auto read = job_status_from_json(to_json(sample()));
  REQUIRE(read);
  REQUIRE(read->workers.size() == 2);
  CHECK(read->workers[0].used.cpu_us == 1'500'000);
  CHECK(read->workers[0].used.rdma_errors == 5);
  CHECK(read->workers[1].used.network_sent == -1);
}

}  // namespace
}  // namespace muster
