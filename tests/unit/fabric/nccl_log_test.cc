// SPDX-License-Identifier: Apache-2.0
// NCCL's own words about its network against the plan.
#include "fabric/nccl_log.h"

#include "catch.h"

using namespace muster;

TEST_CASE("a silent fallback to TCP is a warning, once") {
  NcclLogWatch watch("RoCE");
  CHECK_FALSE(watch.line(0, "w-0",
                         "w-0:71:71 [0] NCCL INFO Bootstrap : Using "
                         "eth0:10.0.0.1<0>"));
  CHECK_FALSE(watch.line(0, "w-0",
                         "w-0:71:80 [0] NCCL INFO NET/IB : Using "
                         "[0]mlx5_0:1/RoCE [RO]; OOB eth0"));
  CHECK_FALSE(watch.line(0, "w-0", "w-0:71:80 [0] NCCL INFO Using network IB"));
  CHECK_FALSE(watch.finding());
  CHECK(watch.line(1, "w-1",
                   "w-1:71:80 [0] NCCL INFO NET/Socket : Using "
                   "[0]eth0:10.0.0.2<0>"));
  CHECK_FALSE(
      watch.line(1, "w-1", "w-1:71:80 [0] NCCL INFO Using network Socket"));
  CHECK_FALSE(
      watch.line(2, "w-2", "w-2:71:80 [0] NCCL INFO Using network Socket"));
  const auto finding = watch.finding();
  REQUIRE(finding);
  CHECK(finding->code == "nccl_fell_back");
  CHECK(finding->text ==
        "NCCL fell back to TCP although RoCE was planned: 2 of 3 ranks that "
        "named their network, on w-1, w-2");
  CHECK(finding->evidence.find("NET/Socket") != std::string::npos);
}

TEST_CASE(
    "RDMA where TCP was planned is told, a plugin where RDMA was is not") {
  NcclLogWatch tcp("TCP");
  CHECK_FALSE(tcp.line(0, "a", "a:1:1 [0] NCCL INFO Using network Socket"));
  CHECK(tcp.line(1, "b", "b:1:1 [0] NCCL INFO Using network IBext_v8"));
  CHECK(tcp.finding()->code == "nccl_not_as_planned");
  NcclLogWatch efa("EFA");
  CHECK_FALSE(
      efa.line(0, "a", "a:1:1 [0] NCCL INFO Using network AWS Libfabric"));
  CHECK_FALSE(efa.finding());
}

TEST_CASE("other lines and unknown plans say nothing") {
  NcclLogWatch unknown("unknown");
  CHECK_FALSE(unknown.line(0, "a", "a NCCL INFO Using network Socket"));
  NcclLogWatch watch("InfiniBand");
  CHECK_FALSE(watch.line(0, "a", "Using network Socket"));
  CHECK_FALSE(watch.line(
      0, "a", std::string(500, 'x') + "NCCL INFO Using network Socket"));
  CHECK_FALSE(watch.line(-1, "a", "a NCCL INFO Using network Socket"));
  CHECK_FALSE(watch.finding());
}
