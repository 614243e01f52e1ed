// SPDX-License-Identifier: Apache-2.0
// Counters before and after: what grew, and what it means.
#include "fabric/collect/counters.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "catch.h"
#include "fabric/prove/job_check_report.h"

using namespace muster;
namespace fs = std::filesystem;

TEST_CASE("counters are read from a directory and those that grew are named") {
  std::string root = fs::temp_directory_path() / "muster-counters-XXXXXX";
  REQUIRE(::mkdtemp(root.data()) != nullptr);
  const auto put = [&](const std::string& name, const std::string& text) {
    fs::create_directories(fs::path(root + name).parent_path());
    std::ofstream(root + name) << text;
  };
  const std::string port = "/sys/class/infiniband/mlx5_0/ports/1/";
  put(port + "hw_counters/packet_seq_err", "5\n");
  put(port + "hw_counters/rp_cnp_handled", "9\n");
  put(port + "hw_counters/local_ack_timeout_err", "garbage\n");
  put(port + "counters/link_downed", "1\n");
  put("/sys/class/net/eth0/statistics/rx_crc_errors", "0\n");
  put("/sys/class/net/eth0/statistics/rx_dropped", "100\n");
  put("/sys/class/net/lo/statistics/rx_errors", "7\n");  // never looked at
  put("/proc/net/snmp",
      "Ip: Forwarding\nIp: 1\n"
      "Tcp: RtoMin OutSegs RetransSegs\nTcp: 200 1000 10\n");
  const Counters before = read_counters(root);
  CHECK(before == Counters{{"mlx5_0/1 packet_seq_err", 5},
                           {"mlx5_0/1 rp_cnp_handled", 9},
                           {"mlx5_0/1 link_downed", 1},
                           {"eth0 rx_crc_errors", 0},
                           {"TCP OutSegs", 1000},
                           {"TCP RetransSegs", 10}});
  CHECK(grown_counters(before, before).empty());
  put(port + "hw_counters/packet_seq_err", "17\n");
  put(port + "counters/link_downed", "0\n");  // was reset
  put("/sys/class/net/eth0/statistics/rx_crc_errors", "3\n");
  const auto grown = grown_counters(before, read_counters(root));
  CHECK(counters_text(grown) ==
        "eth0 rx_crc_errors +3, mlx5_0/1 packet_seq_err +12");
  CHECK(counters_tell_loss(grown));
  fs::remove_all(root);
}

TEST_CASE("TCP that sends one segment in a hundred again is told") {
  const Counters before{{"TCP OutSegs", 0}, {"TCP RetransSegs", 0}};
  CHECK(
      grown_counters(before, {{"TCP OutSegs", 10000}, {"TCP RetransSegs", 99}})
          .empty());
  CHECK(counters_text(grown_counters(
            before, {{"TCP OutSegs", 10000}, {"TCP RetransSegs", 100}})) ==
        "TCP RetransSegs +100");
}

TEST_CASE("loss is a warning, congestion a remark, and neither a failure") {
  JobCheck check;
  check.bench = true;
  check.pods.resize(2);
  check.pods[0].name = "worker-0";
  check.pods[0].grown = {{"mlx5_0/1 np_cnp_sent", 7}};
  check.pods[1].name = "worker-1";
  check.pods[1].grown = {{"mlx5_0/1 np_cnp_sent", 7},
                         {"mlx5_0/1 out_of_sequence", 1}};
  const JobCheckReport report = judge_check(check);
  CHECK(report.exit_class == 0);
  std::string codes;
  for (const Finding& finding : report.findings) {
    if (finding.code.starts_with("counters")) codes += finding.code + " ";
  }
  CHECK(codes == "counters_loss counters_congestion ");
}
