// SPDX-License-Identifier: Apache-2.0
// Pods that fit, pods that differ, pods that must break.
#include "job/skew.h"

#include "catch.h"

namespace muster {
namespace {

NodeFacts pod(const std::string& name) {
  NodeFacts facts;
  facts.hostname = name;
  facts.mpi = {"openmpi", "4.1.4", "/usr/bin/mpirun"};
  facts.nccl_version = "2.22.3";
  facts.cuda_runtime = "12.4";
  facts.cuda_driver = "550.54";
  facts.muster_version = "0.1.0";
  return facts;
}

std::string codes(const SkewReport& report) {
  std::string out;
  for (const Finding& finding : report.findings) {
    out += (finding.severity == Severity::kError ? "E:" : "W:") + finding.code +
           " ";
  }
  return out;
}

template <class Change>
std::string codes_after(Change change, bool allow = false) {
  std::vector<NodeFacts> pods = {pod("w-0"), pod("w-1"), pod("w-2")};
  change(pods);
  return codes(compare_pods(pods, allow));
}

TEST_CASE("what differs, and how bad it is") {
  CHECK(codes_after([](auto&) {}).empty());
  CHECK(codes_after([](auto& p) { p[1].mpi.version = "4.1.5"; }) ==
        "W:mpi_version_skew ");
  CHECK(codes_after([](auto& p) { p[1].mpi.version = "4.0.4"; }) ==
        "E:openmpi_skew ");
  CHECK(codes_after([](auto& p) { p[1].mpi.version = "4.0.4"; }, true) ==
        "W:openmpi_skew ");
  CHECK(codes_after([](auto& p) {
          p[2].mpi = {"mpich", "4.0.2", ""};
        }) == "E:mpi_family_skew ");
  CHECK(codes_after([](auto& p) {
          for (auto& f : p) f.mpi = {"mpich", "4.0.2", ""};
          p[0].mpi.version = "4.1.0";
        }) == "W:mpi_version_skew ");
  CHECK(codes_after([](auto& p) { p[0].nccl_version = "2.21.5"; }) ==
        "E:nccl_skew ");
  CHECK(codes_after([](auto& p) { p[0].nccl_version = "2.22.4"; }) ==
        "W:nccl_patch_skew ");
  CHECK(codes_after([](auto& p) { p[0].cuda_runtime = "12.1"; }) ==
        "W:cuda_skew ");
  CHECK(codes_after([](auto& p) { p[0].cuda_driver = "535.10"; }) ==
        "W:driver_skew ");
  CHECK(codes_after([](auto& p) {
          p[0].image_id = "a";
          p[1].image_id = "b";
        }) == "W:image_skew ");
  CHECK(codes_after([](auto& p) { p[0].muster_version = "0.2.0"; }) ==
        "W:muster_skew ");
  // Unknown is not different.
  CHECK(codes_after([](auto& p) {
          p[0] = NodeFacts();
          p[0].hostname = "launcher";
        }).empty());
}

TEST_CASE("a runtime that the driver does not know") {
  const auto old_driver = [](auto& p) {
    for (auto& f : p) f.cuda_driver = "470.82";
  };
  CHECK(codes_after(old_driver) == "E:cuda_driver_too_old ");
  CHECK(codes_after(old_driver, true) == "W:cuda_driver_too_old ");
  CHECK(codes_after([](auto& p) {
          for (auto& f : p) {
            f.cuda_driver = "470.82";
            f.environment["LD_LIBRARY_PATH"] = "/usr/local/cuda/compat/lib";
          }
        }) == "W:cuda_driver_too_old ");
  // A newer minor version of the same major one is promised to run.
  CHECK(codes_after([](auto& p) {
          for (auto& f : p) f.cuda_driver = "525.60";
        }).empty());
  CHECK(cuda_major_of_driver("580.65.06") == 13);
  CHECK(cuda_major_of_driver("570.1") == 12);
  CHECK(cuda_major_of_driver("525.60.13") == 12);
  CHECK(cuda_major_of_driver("520.1") == 11);
  CHECK(cuda_major_of_driver("450.80.02") == 11);
  CHECK(cuda_major_of_driver("418.1") == 10);
  CHECK(cuda_major_of_driver("") == 0);
  CHECK(cuda_major_of_driver("garbage.x.y") == 0);
}

TEST_CASE("the sentence and the table") {
  std::vector<NodeFacts> pods = {pod("w-0"), pod("w-1"), pod("w-2"),
                                 pod("w-3")};
  pods[3].mpi.version = "5.0.7";
  const SkewReport report = compare_pods(pods);
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].text ==
        "Open MPI's major.minor version differs between pods: 4.1 on w-0 and 2 "
        "others, 5.0 on w-3");
  CHECK(report.findings[0].remedy ==
        "run one image in all pods, or pass --allow-skew to try all the same");
  CHECK(report.table ==
        "PODS              MUSTER  MPI            NCCL    CUDA  DRIVER  IMAGE\n"
        "w-0 and 2 others  0.1.0   openmpi 4.1.4  2.22.3  12.4  550.54  -\n"
        "w-3               0.1.0   openmpi 5.0.7  2.22.3  12.4  550.54  -\n");
  CHECK(compare_pods({}).findings.empty());
}

TEST_CASE("programs of one line that load different NCCLs") {
  const ProgramNccl train{"python3 train.py", "2.28.9", "/a/libnccl.so.2"};
  const ProgramNccl serve{"python3 serve.py", "2.27.5", "/b/libnccl.so.2"};
  const ProgramNccl data{"./data", "", ""};
  CHECK_FALSE(nccls_differ({}));
  CHECK_FALSE(nccls_differ({train, data, train}));
  const auto differ = nccls_differ({train, serve, data});
  REQUIRE(differ);
  CHECK(differ->text ==
        "the programs load different NCCLs: 2.27.5 (python3 serve.py), 2.28.9 "
        "(python3 train.py)");
  CHECK(differ->evidence == "settings and checks are of 2.28.9");
  CHECK(codes_after([&](auto& pods) {
          for (NodeFacts& pod : pods) pod.programs = {train, serve};
        }) == "W:nccl_of_programs ");
}

}  // namespace
}  // namespace muster
