// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/log/own_verdict.h"

#include "base/text.h"
#include "catch.h"
#include "diagnosis/log/log_evidence.h"
#include "job/json_fields.h"

using namespace muster;

namespace {

Verdict oom() {
  Verdict verdict;
  verdict.code = "host_oom_kill";
  verdict.exit_class = RuleBook::built_in().find("host_oom_kill")->exit_class;
  verdict.exit_code = 204;
  verdict.retryable = true;
  verdict.confidence = Confidence::kProven;
  verdict.headline =
      "Worker-7 exceeded memory limit (32GB) (rank 56 on pi-worker-7.pi)";
  verdict.cause = "The kernel killed a process of the pod";
  verdict.evidence = {"memory.events of pi-worker-7.pi: oom_kill 0 -> 1"};
  verdict.remedies = {"raise resources.limits.memory", "reduce the batch size"};
  verdict.first_rank = 56;
  verdict.host = "pi-worker-7.pi";
  return verdict;
}

std::string launcher_log(const Verdict& verdict) {
  return "muster: connecting to 8 hosts from /etc/mpi/hostfile\n"
         "[56|pi-worker-7.pi] step 12 loss 1.5\n"
         "muster: error: " +
         verdict_text(verdict);
}

std::optional<Verdict> read(const std::string& text) {
  LogEvidence log(RuleBook::built_in());
  for (const auto line : split(text, '\n')) log.add(line);
  static_cast<void>(log.take());
  return log.own_verdict();
}

// In front of each line.
std::string behind(const std::string& head, const std::string& text) {
  std::string out;
  for (const auto line : split(text, '\n')) {
    if (!line.empty()) out += head + std::string(line) + "\n";
  }
  return out;
}

void check_same(const std::optional<Verdict>& seen, const Verdict& wanted) {
  REQUIRE(seen);
  CHECK(verdict_json(*seen) == verdict_json(wanted));
}

}  // namespace

TEST_CASE("a verdict of the launcher's is read back from its log") {
  const std::string log = launcher_log(oom());
  check_same(read(log), oom());
  check_same(read(behind("2026-11-22T10:00:00.123456789Z ", log)), oom());
  check_same(read(behind("[pod/pi-launcher-x7k/launcher] ", log)), oom());
  check_same(read(log + "\n$ echo done\n"), oom());
}

TEST_CASE("it is read from a record, too") {
  JsonWriter record;
  record.field("timestamp", std::string("2026-11-22T10:00:00.123456789Z"));
  record.field("level", std::string("error"));
  record.field("role", std::string("launcher"));
  record.field("host", std::string("pi-launcher"));
  record.field("message", verdict_text(oom()));
  check_same(read(record.text() + "\n"), oom());
}

TEST_CASE("what else was seen has its codes") {
  const auto title = [](std::string_view code) {
    return RuleBook::built_in().find(code)->title;
  };
  Verdict verdict = oom();
  verdict.also = {{"host_oom_kill", "the same on 2 more"},
                  {"gpu_oom", title("gpu_oom") + ": rank 3 on w-1 and 4 more"},
                  {"segfault", title("segfault")},
                  {"unknown", "rank 3 on w-1 had written before: it is late"}};
  check_same(read(launcher_log(verdict)), verdict);
}

TEST_CASE("the attempt that came last counts") {
  Verdict second = oom();
  second.code = "gpu_oom";
  second.exit_class = "rank_failed";
  second.exit_code = 1;
  second.retryable = false;
  check_same(read(launcher_log(oom()) + launcher_log(second)), second);
  CHECK_FALSE(read(launcher_log(oom()) +
                   "muster: connecting to 8 hosts from /etc/mpi/hostfile\n"
                   "muster: 64 ranks on 8 workers ended well after 3 s\n"));
}

TEST_CASE("what is no verdict of the launcher's is none") {
  CHECK_FALSE(read(behind("[0|pi-worker-0.pi] ", launcher_log(oom()))));
  CHECK_FALSE(read("it failed\n  code: nosuch (proven), exit code 1\n"));
  CHECK_FALSE(read("it failed\n  code: gpu_oom (surely), exit code 1\n"));
  CHECK_FALSE(read("  code: gpu_oom (likely), exit code 1\n"));
}

TEST_CASE("of several ranks the one that the first line names counts") {
  Verdict verdict = oom();
  verdict.headline = "The job was stopped by hand (SIGTERM)";
  verdict.evidence = {"the launcher got SIGTERM",
                      "rank 3 on w-1 was killed by signal 15"};
  verdict.first_rank = 3;
  verdict.host = "w-1";
  check_same(read(launcher_log(verdict)), verdict);
}
