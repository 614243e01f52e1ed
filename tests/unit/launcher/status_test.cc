// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/status.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "../base/temporary_directory.h"
#include "base/fd.h"
#include "base/text.h"
#include "captured_stdio.h"
#include "catch.h"
#include "launcher/commands/status_main.h"
#include "launcher/model/phase_clock.h"

namespace muster {
namespace {

JobStatus sample() {
  JobStatus status;
  status.launch_id = "l1";
  status.phase = "run";
  WorkerStatus known;
  known.host = "w-0";
  known.state = "ready";
  known.restarts = 2;
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
  const std::string text = metrics_text(sample());
  CHECK(has_line(text, "# TYPE muster_worker_cpu_seconds_total counter"));
  for (const char* line :
       {"muster_worker_restarts_total{worker=\"w-0\"} 2",
        "muster_worker_restarts_total{worker=\"w-1\"} 0",
        "muster_worker_cpu_seconds_total{worker=\"w-0\"} 1.5",
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

TEST_CASE("a command of several lines is shown on one") {
  JobStatus status = sample();
  status.command = "python -c \nimport os\nphase = 1";
  CHECK(status_text(status).starts_with(
      "job     python -c  import os phase = 1  (launch l1)\n"));
  status.command = std::string(5000, 'x');
  CHECK(status_text(status).size() < 1000);
  status.command = "x" + join(std::vector<std::string>(200, "é"), "");
  CHECK(status_text(status).find("é…") != std::string::npos);
}

TEST_CASE("it survives status.json, also what is not known") {
  const auto read = job_status_from_json(to_json(sample()));
  REQUIRE(read);
  REQUIRE(read->workers.size() == 2);
  CHECK(read->workers[0].used.cpu_us == 1'500'000);
  CHECK(read->workers[0].used.rdma_errors == 5);
  CHECK(read->workers[1].used.network_sent == -1);
}

TEST_CASE("ranks that are only counted are among those that have ended") {
  JobStatus status = sample();
  status.ranks = {{0, "w-0", "exited", 7, ""}, {1, "w-0", "running", 8, ""}};
  status.forgotten_ranks = 1'000'000;
  const auto read = job_status_from_json(to_json(status));
  REQUIRE(read);
  CHECK(has_line(status_text(*read), "ranks   1000001 exited 1 running"));
  CHECK(
      has_line(metrics_text(*read), "muster_ranks{state=\"exited\"} 1000001"));
}

// What a launcher has written, for whom the clock has been set by an hour.
std::string written(int64_t at_ms) {
  return R"({"status":1,"launch_id":"l1","phase":"run","command":"t.py",)"
         R"("started_ns":9000000000000000000,"job_ms":3725000,)"
         R"("phase_started_ns":9000000000000000000,"phase_ms":600000,)"
         R"("written_ns":9000000000000000000,"written_at_ms":)" +
         std::to_string(at_ms) + "}";
}

TEST_CASE("a young launch is written down more often") {
  CHECK(status_interval_ms(0) == 250);
  CHECK(status_interval_ms(1'200) == 300);
  CHECK(status_interval_ms(6'000) == 1'500);
  CHECK(status_interval_ms(3'600'000) == 2'000);
}

TEST_CASE("a clock that is set changes no age and hides no launch") {
  const TemporaryDirectory directory;
  REQUIRE(::setenv("TMPDIR", directory.at("").c_str(), 1) == 0);
  REQUIRE(::mkdir(directory.at("muster-run-l1").c_str(), 0700) == 0);
  const std::string file = directory.at("muster-run-l1/status.json");
  REQUIRE(write_file_atomically(file, written(steady_ms() - 1'000)));
  test::CapturedStdio captured;
  const int code = status_main({});
  const std::string said = captured.out();
  CHECK(code == 0);
  INFO(said);
  CHECK(said.find("phase   run since 10 min ") != std::string::npos);
  CHECK(said.find("job since 62 min ") != std::string::npos);
}

TEST_CASE("a launcher's last status is not taken for a launch that runs") {
  const auto read = job_status_from_json(written(100'000));
  REQUIRE(read);
  CHECK(aged(*read, 114'999));
  CHECK_FALSE(aged(*read, 115'000));
  CHECK_FALSE(aged(*read, 99'999));  // of before the machine was started
  JobStatus unknown = *read;
  unknown.written_at_ms = -1;
  CHECK_FALSE(aged(unknown, 0));
}

}  // namespace
}  // namespace muster
