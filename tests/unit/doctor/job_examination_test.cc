// SPDX-License-Identifier: Apache-2.0
// Several pods compared: what they share is said once, what differs is found.
#include "doctor/job_examination.h"

#include <algorithm>

#include "catch.h"
#include "doctor/path_marks.h"

using namespace muster;

namespace {

PodAnswer pod(const std::string& host) {
  PodAnswer answer;
  answer.host = host;
  answer.answered = true;
  answer.report.hostname = host;
  answer.report.role = host == "launcher" ? "launcher" : "worker";
  answer.report.node = "node of " + host;
  NodeFacts facts;
  facts.hostname = host;
  facts.mpi = {"openmpi", "4.1.4", "/usr/bin/mpirun"};
  answer.report.facts = to_json(facts);
  return answer;
}

std::vector<PodAnswer> good_job() {
  return {pod("launcher"), pod("w0"), pod("w1")};
}

const SharedFinding* find(const std::vector<SharedFinding>& all,
                          const std::string& code) {
  const auto at = std::find_if(all.begin(), all.end(), [&](const auto& one) {
    return one.what.finding.code == code;
  });
  return at == all.end() ? nullptr : &*at;
}

}  // namespace

TEST_CASE("pods that agree have no findings") {
  CHECK(examine_job(good_job()).empty());
}

TEST_CASE("one finding of two pods is said once with both names") {
  auto answers = good_job();
  const DoctorFinding small{
      {Severity::kWarning, "shm_small", "/dev/shm is only 64 MiB", "", ""}, ""};
  answers[1].report.findings = {small};
  answers[2].report.findings = {small};
  const auto all = examine_job(answers);
  REQUIRE(all.size() == 1);
  CHECK(all[0].hosts == std::vector<std::string>{"w0", "w1"});
}

TEST_CASE("a pod that does not answer is an error, a mesh has its own name") {
  auto answers = good_job();
  answers[1] = {"w0", false, "Connection refused", {}};
  answers[2] = {"w1", false, "no SSH banner: nothing was said for 10s", {}};
  const auto all = examine_job(answers);
  REQUIRE(find(all, "worker_unreachable"));
  CHECK(find(all, "worker_unreachable")->hosts[0] == "w0");
  REQUIRE(find(all, "banner_swallowed"));
  CHECK(find(all, "banner_swallowed")->what.yaml.find("istio") !=
        std::string::npos);
  CHECK(all[0].what.finding.severity == Severity::kError);
}

TEST_CASE("another MPI in one pod") {
  auto answers = good_job();
  NodeFacts facts;
  facts.mpi = {"mpich", "4.2", "/usr/bin/mpirun"};
  answers[2].report.facts = to_json(facts);
  CHECK_FALSE(examine_job(answers).empty());
}

TEST_CASE("libraries that differ between pods are named with the pods") {
  auto answers = good_job();
  for (auto& answer : answers) {
    answer.report.programs = {
        {"app", "/app", {}, {"libmpi.so.40 libmpi.so.40.30.4 of 10 bytes"}}};
  }
  CHECK(find(examine_job(answers), "library_skew") == nullptr);
  answers[2].report.programs[0].libraries = {
      "libmpi.so.40 libmpi.so.40.30.4 of 11 bytes"};
  const auto all = examine_job(answers);
  const auto* skew = find(all, "library_skew");
  REQUIRE(skew);
  CHECK(skew->what.finding.text.find("libmpi.so.40") != std::string::npos);
  CHECK(skew->what.finding.evidence.find("11 bytes in w1") !=
        std::string::npos);
}

TEST_CASE("a directory that not all pods share") {
  auto answers = good_job();
  for (auto& answer : answers) {
    PathState path;
    path.path = "/data";
    path.exists = true;
    path.marks = {"launcher", "w0", "w1"};
    answer.report.paths = {path};
  }
  CHECK(find(examine_job(answers), "path_not_shared") == nullptr);
  answers[2].report.paths[0].marks = {"w1"};
  const auto all = examine_job(answers);
  REQUIRE(find(all, "path_not_shared"));
  CHECK(find(all, "path_not_shared")->hosts == std::vector<std::string>{"w1"});
}

TEST_CASE("a launcher on the node of a worker") {
  auto answers = good_job();
  answers[2].report.node = answers[0].report.node;
  const auto all = examine_job(answers);
  REQUIRE(find(all, "launcher_beside_worker"));
  CHECK(find(all, "launcher_beside_worker")->hosts ==
        std::vector<std::string>{"w1"});
}

TEST_CASE("a report survives the way through JSON") {
  DoctorReport report = pod("w0").report;
  report.findings = {
      {{Severity::kError, "code", "text", "seen", "do"}, "a: b"}};
  PathState path;
  path.path = "/data";
  path.marks = {"w0"};
  report.paths = {path};
  const auto back = doctor_report_from_json(to_json(report));
  REQUIRE(back);
  CHECK(back->hostname == "w0");
  CHECK(back->findings[0].finding.severity == Severity::kError);
  CHECK(back->findings[0].yaml == "a: b");
  CHECK(back->paths[0].marks == path.marks);
  CHECK_FALSE(doctor_report_from_json("{}"));
  CHECK_FALSE(doctor_report_from_json("muster: refused"));
}

TEST_CASE("marks have a step and one plain word") {
  MarkRequest request;
  CHECK(parse_mark("leave:12", request));
  CHECK(request.step == MarkStep::kLeave);
  CHECK(parse_mark("list:12", request));
  CHECK(parse_mark("remove:12", request));
  for (const char* bad : {"", "leave", "leave:", "eat:12", "list:../x"}) {
    CHECK_FALSE(parse_mark(bad, request));
  }
}
