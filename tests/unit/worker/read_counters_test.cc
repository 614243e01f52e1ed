// SPDX-License-Identifier: Apache-2.0
// Files as kernels write them: cgroup v2 with PSI of 6.1, v1 of 5.4, mlx5 and
// EFA ports.
#include "worker/facts/read_counters.h"

#include <unistd.h>

#include "../base/temporary_directory.h"
#include "catch.h"
#include "worker/facts/agent_health.h"
#include "worker/facts/grown_errors.h"

namespace muster {
namespace {

void write_v2(TemporaryDirectory& tree) {
  tree.write("/proc/self/cgroup", "0::/\n");
  tree.write("/proc/self/mountinfo",
             "1 0 0:26 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n");
  tree.write("/sys/fs/cgroup/cgroup.procs", "1\n");
}

TEST_CASE("CPU time and memory pressure of cgroup v2") {
  TemporaryDirectory tree;
  write_v2(tree);
  tree.write("/sys/fs/cgroup/cpu.stat",
             "usage_usec 81234567\nuser_usec 80000000\nsystem_usec 1234567\n"
             "nr_periods 12\nnr_throttled 3\nthrottled_usec 40000\n");
  tree.write("/sys/fs/cgroup/memory.pressure",
             "some avg10=12.50 avg60=3.10 avg300=0.70 total=5123456\n"
             "full avg10=9.00 avg60=2.00 avg300=0.50 total=4012345\n");
  tree.write("/sys/fs/cgroup/io.pressure",
             "some avg10=0.00 avg60=0.00 avg300=0.00 total=99\n"
             "full avg10=0.00 avg60=0.00 avg300=0.00 total=77\n");
  const auto used = read_pod_counters(tree.path(), find_cgroup(tree.path()));
  CHECK(used.cpu_us == 81234567);
  CHECK(used.memory_stall_us == 4012345);
  CHECK(used.cpu_periods == 12);
  CHECK(used.cpu_throttled == 3);
  CHECK(used.cpu_stall_us == -1);
  CHECK(used.io_stall_us == 77);
  CHECK(used.network_received == -1);
  CHECK(used.rdma_sent == -1);
}

TEST_CASE("a kernel without PSI, and broken files") {
  TemporaryDirectory tree;
  write_v2(tree);
  tree.write("/sys/fs/cgroup/cpu.stat", "usage_usec\nnonsense 1 2\n");
  tree.write("/sys/fs/cgroup/memory.pressure", "full total\nfull\n\n");
  const auto used = read_pod_counters(tree.path(), find_cgroup(tree.path()));
  CHECK(used.cpu_us == -1);
  CHECK(used.memory_stall_us == -1);
}

TEST_CASE("CPU time of cgroup v1") {
  TemporaryDirectory tree;
  tree.write("/proc/self/cgroup", "5:cpu,cpuacct:/\n4:memory:/\n");
  tree.write("/proc/self/mountinfo",
             "1 0 0:26 / /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup "
             "rw,cpu,cpuacct\n");
  tree.write("/sys/fs/cgroup/cpu,cpuacct/cpuacct.usage", "7654321000\n");
  tree.write("/sys/fs/cgroup/cpu,cpuacct/cpu.stat",
             "nr_periods 50\nnr_throttled 40\nthrottled_time 123456789\n");
  const auto used = read_pod_counters(tree.path(), find_cgroup(tree.path()));
  CHECK(used.cpu_us == 7654321);
  CHECK(used.cpu_throttled == 40);
  CHECK(used.memory_stall_us == -1);
}

TEST_CASE("bytes of the interfaces, loopback left out") {
  TemporaryDirectory tree;
  tree.write(
      "/proc/self/net/dev",
      "Inter-|   Receive                          |  Transmit\n"
      " face |bytes    packets errs drop fifo frame compressed multicast|"
      "bytes    packets errs drop fifo colls carrier compressed\n"
      "    lo: 9999999     100    0    0    0     0          0         0 "
      "9999999     100    0    0    0     0       0          0\n"
      "  eth0: 1000      10    0    0    0     0          0         0 "
      "2000      20    0    0    0     0       0          0\n"
      "net1:30 1 0 0 0 0 0 0 40 1 0 0 0 0 0 0\n");
  const auto used = read_pod_counters(tree.path(), {});
  CHECK(used.network_received == 1030);
  CHECK(used.network_sent == 2040);
}

TEST_CASE("ports that count words, and EFA's, which count bytes") {
  TemporaryDirectory tree;
  const std::string mlx = "/sys/class/infiniband/mlx5_0/ports/1/";
  tree.write(mlx + "counters/port_rcv_data", "1000\n");
  tree.write(mlx + "counters/port_xmit_data", "2000\n");
  tree.write(mlx + "counters/symbol_error", "1\n");
  tree.write(mlx + "counters/link_downed", "2\n");
  tree.write(mlx + "hw_counters/local_ack_timeout_err", "30\n");
  const std::string efa = "/sys/class/infiniband/rdmap0s6/ports/1/";
  tree.write(efa + "hw_counters/rx_bytes", "7\n");
  tree.write(efa + "hw_counters/tx_bytes", "9\n");
  tree.write(efa + "hw_counters/rx_drops", "4\n");
  const auto used = read_pod_counters(tree.path(), {});
  CHECK(used.rdma_received == 4007);
  CHECK(used.rdma_sent == 8009);
  CHECK(used.rdma_errors == 37);
}

TEST_CASE("a heartbeat carries both, and an older peer reads its part") {
  wire::HealthSample health;
  health.memory_bytes = 5;
  wire::PodCounters used;
  used.cpu_us = 7;
  used.nccl_version = "2.28.9";
  used.nccl_path = "/venv/libnccl.so.2";
  used.nccl_rank = 4;
  used.ranks = {{3, 1'000, 2'000}, {4, -1, -1}};
  used.ranks_at_ms = 77;
  used.gpu_list = {{"GPU-1", 40, 10, 80}};
  const std::string text = wire::heartbeat_payload(health, used);
  const auto old_part = wire::from_json<wire::HealthSample>(text);
  REQUIRE(old_part);
  CHECK(old_part->memory_bytes == 5);
  const auto new_part = wire::pod_counters_from_json(text);
  REQUIRE(new_part);
  CHECK(new_part->cpu_us == 7);
  CHECK(new_part->rdma_errors == -1);
  CHECK(new_part->nccl_version == "2.28.9");
  CHECK(new_part->nccl_path == "/venv/libnccl.so.2");
  CHECK(new_part->nccl_rank == 4);
  REQUIRE(new_part->ranks.size() == 2);
  CHECK(new_part->ranks[0].id == 3);
  CHECK(new_part->ranks[0].cpu_us == 1'000);
  CHECK(new_part->ranks[0].memory_bytes == 2'000);
  CHECK(new_part->ranks[1].cpu_us == -1);
  CHECK(new_part->ranks_at_ms == 77);
  REQUIRE(new_part->gpu_list.size() == 1);
  CHECK(new_part->gpu_list[0].id == "GPU-1");
  CHECK(new_part->gpu_list[0].memory_total == 80);
  const auto of_old = wire::pod_counters_from_json(wire::to_json(health));
  REQUIRE(of_old);
  CHECK(of_old->cpu_us == -1);
  CHECK(of_old->nccl_version.empty());
  CHECK(of_old->ranks.empty());
  CHECK(of_old->ranks_at_ms == -1);
}

// As proc(5) has it, with times in ticks and memory in pages.
std::string stat_line(int pid, int parent, int ticks, int pages) {
  std::string line = std::to_string(pid) + " (a) b) S " +
                     std::to_string(parent) + " 1 1 1 1 1 1 1 1 1";
  for (int i = 0; i < 4; ++i) line += " " + std::to_string(ticks);
  return line + " 1 1 1 1 9 9 " + std::to_string(pages) + " 9\n";
}

TEST_CASE("a rank has used what the processes below it have") {
  TemporaryDirectory tree;
  tree.write("/proc/10/stat", stat_line(10, 1, 1, 1));      // the agent
  tree.write("/proc/20/stat", stat_line(20, 10, 10, 100));  // a rank
  tree.write("/proc/21/stat", stat_line(21, 20, 5, 50));
  tree.write("/proc/22/stat", stat_line(22, 21, 1, 1));
  tree.write("/proc/30/stat", stat_line(30, 10, 7, 3));  // another
  tree.write("/proc/31/stat", stat_line(31, 10, 9, 9));  // nobody's
  const int64_t tick_us = 1'000'000 / ::sysconf(_SC_CLK_TCK);
  const int64_t page = ::sysconf(_SC_PAGESIZE);
  HealthSampler health(tree.path());
  wire::PodCounters out;
  health.tell_ranks({}, out);
  CHECK(out.ranks.empty());
  health.tell_ranks({{1, 20}, {2, 30}, {3, 40}}, out);
  REQUIRE(out.ranks.size() == 2);
  CHECK(out.ranks_at_ms > 0);
  CHECK(out.ranks[0].id == 1);
  CHECK(out.ranks[0].cpu_us == 4 * 16 * tick_us);
  CHECK(out.ranks[0].memory_bytes == 151 * page);
  CHECK(out.ranks[1].id == 2);
  CHECK(out.ranks[1].cpu_us == 4 * 7 * tick_us);
}

TEST_CASE("a circle of parents is no rank's") {
  TemporaryDirectory tree;
  tree.write("/proc/20/stat", stat_line(20, 21, 1, 1));
  tree.write("/proc/21/stat", stat_line(21, 20, 1, 1));
  tree.write("/proc/30/stat", stat_line(30, 1, 2, 1));
  HealthSampler health(tree.path());
  wire::PodCounters out;
  health.tell_ranks({{1, 30}}, out);
  REQUIRE(out.ranks.size() == 1);
  CHECK(out.ranks[0].memory_bytes == ::sysconf(_SC_PAGESIZE));
}

TEST_CASE("rates of the active RDMA ports are added up") {
  TemporaryDirectory tree;
  const auto port = [&tree](const char* hca, const char* state,
                            const char* rate) {
    const std::string path =
        std::string("/sys/class/infiniband/") + hca + "/ports/1/";
    tree.write(path + "state", state);
    tree.write(path + "rate", rate);
  };
  port("mlx5_0", "4: ACTIVE\n", "400 Gb/sec (4X NDR)\n");
  port("mlx5_1", "4: ACTIVE\n", "2.5 Gb/sec (1X SDR)\n");
  port("mlx5_2", "1: DOWN\n", "10 Gb/sec (4X SDR)\n");
  port("mlx5_3", "4: ACTIVE\n", "garbage\n");
  const auto used = read_pod_counters(tree.path(), find_cgroup(tree.path()));
  CHECK(used.rdma_port_gbps == Approx(402.5));
}

TEST_CASE("counters of loss that grew are named, at most every five seconds") {
  TemporaryDirectory tree;
  const std::string port = "/sys/class/infiniband/mlx5_0/ports/1/";
  tree.write(port + "hw_counters/packet_seq_err", "5\n");
  tree.write(port + "hw_counters/rp_cnp_handled", "5\n");
  GrownErrors errors(tree.path());
  const GrownErrors::Time start{};
  CHECK(errors.at(start).empty());
  tree.write(port + "hw_counters/packet_seq_err", "17\n");
  tree.write(port + "hw_counters/rp_cnp_handled", "99\n");  // congestion
  CHECK(errors.at(start + std::chrono::seconds(4)).empty());
  const std::vector<std::string> wanted = {"mlx5_0/1 packet_seq_err +12"};
  CHECK(errors.at(start + std::chrono::seconds(5)) == wanted);
  CHECK(errors.at(start + std::chrono::seconds(6)) == wanted);
}

}  // namespace
}  // namespace muster
