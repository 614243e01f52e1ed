// SPDX-License-Identifier: Apache-2.0
// report.json as docs/report-schema.md has it, the summary, and where both go.
#include "launcher/report/report_writer.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "base/fd.h"
#include "base/log.h"
#include "captured_stdio.h"
#include "catch.h"
#include "launcher/report/report_checklist.h"

namespace muster {
namespace {

using Json = nlohmann::json;

LaunchReport sample() {
  LaunchReport report;
  report.launch_id = "00c0ffee";
  report.bootstrap = "pmix";
  report.started_ns = 1'700'000'000'000'000'000;
  // The clock was set back meanwhile.
  report.ended_ns = report.started_ns - 3'600'000'000'000;
  report.took = Milliseconds{12'300};
  report.phases = {{"connect", Milliseconds{300}},
                   {"agree", Milliseconds{0}},
                   {"run", Milliseconds{12'000}}};
  report.workers = {
      {"w-0", "ready", "", "ready", 120, "0.1.0"},
      {"w-1", "not_ready", "its name is not in DNS", "resolve", -1, ""}};
  report.first_rank_ms = 40;
  RankEvidence rank;
  rank.rank = 0;
  rank.host = "w-0";
  rank.outcome = RankOutcome::kExited;
  rank.wait_status = 3 << 8;
  rank.exit_ns = report.ended_ns;
  rank.max_rss_kib = 1024;
  report.evidence.ranks.push_back(rank);
  rank = {};
  rank.rank = 1;
  rank.outcome = RankOutcome::kRefused;
  rank.refusal =
      Error{"exe_not_found", "cannot be started", "no ./app", "w-1", ""};
  report.evidence.ranks.push_back(rank);
  report.evidence.findings = {{Severity::kWarning, "skew", "t", "e", "r"}};
  report.evidence.collectives = {{"rank 3 calls another", {3}, false}};
  report.verdict = diagnose(report.evidence);
  report.verdict.exit_code = 3;
  report.lines = 17;
  return report;
}

TEST_CASE("report.json") {
  const Json json = Json::parse(to_json(sample()), nullptr, false);
  REQUIRE(json.is_object());
  CHECK(json["report"] == 1);
  CHECK(json["launch_id"] == "00c0ffee");
  CHECK(json["exit_code"] == 3);
  CHECK(json["bootstrap"] == "pmix");
  CHECK(json["started"] == "2023-11-14T22:13:20.000000000Z");
  CHECK(json["phases"].size() == 3);
  CHECK(json["phases"][2] == Json{{"name", "run"}, {"ms", 12'000}});
  CHECK(json["first_rank_ms"] == 40);
  CHECK_FALSE(json.contains("all_ranks_ms"));
  CHECK(json["workers"][0]["connect_ms"] == 120);
  CHECK_FALSE(json["workers"][0].contains("reason"));
  CHECK(json["workers"][1]["reason"] == "its name is not in DNS");
  CHECK(json["ranks"][0]["exit"] == "exited with code 3");
  CHECK(json["ranks"][0]["exit_code"] == 3);
  CHECK(json["ranks"][1]["state"] == "refused");
  CHECK_FALSE(json["ranks"][1].contains("exit_code"));
  CHECK(json["ranks"][1]["reason"].get<std::string>().find("no ./app") !=
        std::string::npos);
  CHECK(json["findings"][0]["code"] == "skew");
  CHECK(json["collectives"] ==
        Json::array({{{"text", "rank 3 calls another"}, {"ranks", {3}}}}));
  CHECK(json["lines"] == 17);
  // A program that is not there outweighs how its neighbour ended.
  CHECK(json["verdict"]["exit_code"] == 3);
}

TEST_CASE("bytes that are not UTF-8 do not spoil the report") {
  LaunchReport report = sample();
  report.workers[0].name = "w\xff";
  report.evidence.ranks[0].host = std::string("\x80\0", 2);
  report.verdict.headline = "\xc3";
  const Json json = Json::parse(to_json(report), nullptr, false);
  CHECK(json.is_object());
}

TEST_CASE("an empty report has empty lists, not missing ones") {
  const Json json = Json::parse(to_json(LaunchReport{}), nullptr, false);
  REQUIRE(json.is_object());
  for (const char* name :
       {"phases", "workers", "ranks", "findings", "collectives"}) {
    INFO(name);
    CHECK(json[name] == Json::array());
  }
}

TEST_CASE("the summary counts, and leaves out what took no time") {
  LaunchReport report = sample();
  CHECK(summary_line(report) ==
        "2 ranks on 2 workers ended after 12.3 s (connect 300 ms, run 12.0 s)");
  LaunchReport early = report;
  early.evidence.ranks.clear();
  CHECK(summary_line(early) ==
        "ended after 12.3 s (connect 300 ms, run 12.0 s), before any rank was "
        "started");
  report.verdict.exit_code = 0;
  report.workers.pop_back();
  report.evidence.ranks.pop_back();
  CHECK(summary_line(report).find("1 rank on 1 worker ended well") == 0);
  report.forgotten_ranks = 999;
  CHECK(summary_line(report).find("1000 ranks on 1 worker ended well") == 0);
  CHECK(to_json(report).find("\"forgotten_ranks\": 999") != std::string::npos);
}

TEST_CASE("a straggler is named, of ranks that run together") {
  LaunchReport report;
  for (int rank = 0; rank < 4; ++rank) {
    RankEvidence one;
    one.rank = rank;
    one.host = "w-0";
    one.outcome = RankOutcome::kExited;
    one.exit_ns = (rank == 3 ? 60 : 1) * int64_t{1'000'000'000};
    report.evidence.ranks.push_back(std::move(one));
  }
  const auto lines = success_lines(report, 8);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0] == "straggler: rank 3 on w-0 ended 59.0 s after most others");
  report.evidence.job.backend = "once";
  CHECK(success_lines(report, 8).empty());
}

TEST_CASE("published where it belongs, but for a bad path") {
  const TemporaryDirectory directory;
  LaunchOptions options;
  options.report_json = directory.at("report.json");
  options.termination_log = directory.at("termination");
  const auto publish = [&options](const LaunchReport& report) {
    const test::CapturedStdio captured;
    announce(report, options);
    return store_reports(report, options).warnings;
  };
  CHECK(publish(sample()).empty());
  CHECK(read_file(options.report_json).value_or("").find("00c0ffee") !=
        std::string::npos);
  // Only a kubelet makes the file.
  struct stat info {};
  CHECK(::stat(options.termination_log.c_str(), &info) != 0);
  directory.write("termination", std::string(9'000, 'x'));
  CHECK(publish(sample()).empty());
  const std::string message = read_file(options.termination_log).value_or("");
  CHECK(!message.empty());
  CHECK(message.size() <= 3'584);
  options.report_json = "/none/report.json";
  CHECK(publish(sample()) ==
        std::vector<std::string>{
            "/none/report.json: cannot write: No such file or directory"});
}

TEST_CASE("a JSON log has the verdict, from whatever level it is written") {
  const LaunchOptions options;
  std::string told;
  log::redirect([&told](const std::string& line) { told += line; });
  LaunchReport report = sample();
  report.verdict = {};
  report.verdict.code = "no_failure";
  log::configure({log::Level::kError, true, "launcher", ""});
  announce(report, options);
  log::configure({});
  log::redirect({});
  CHECK(Json::parse(told)["verdict"]["code"] == "no_failure");
}

// A pipe that is full, and whose reader takes nothing for now: as a server does
// that is gone.
class FullPipe {
 public:
  explicit FullPipe(const std::string& path) {
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    fd_.reset(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
    REQUIRE(fd_);
    const std::string block(4096, '.');
    while (::write(fd_.get(), block.data(), block.size()) > 0) {
    }
  }
  // Everything up to `part`; false: it has not come within 10 s.
  bool take_until(std::string_view part) {
    std::string taken;
    const auto end = Clock::now() + std::chrono::seconds(10);
    while (taken.find(part) == std::string::npos && Clock::now() < end) {
      char bytes[4096];
      const ssize_t n = ::read(fd_.get(), bytes, sizeof bytes);
      if (n > 0) taken.append(bytes, static_cast<size_t>(n));
      if (n < 0) ::usleep(1000);
    }
    return taken.find(part) != std::string::npos;
  }

 private:
  UniqueFd fd_;
};

TEST_CASE("a report that cannot be written is waited for, not for ever") {
  const TemporaryDirectory directory;
  LaunchOptions options;
  options.report_json = directory.at("report.json");
  FullPipe pipe(options.report_json);
  test::CapturedStdio captured;
  {
    Loop loop;
    ReportWriter writer(loop, sample(), options);
    writer.finish(Milliseconds{20});
  }
  CHECK(captured.err().find("not written after 20 ms") != std::string::npos);
  CHECK(pipe.take_until("00c0ffee"));
}

// At first no thread can be had.
class NoThreads {
 public:
  NoThreads() {
    ::pthread_getattr_default_np(&usual_);
    pthread_attr_t large = usual_;
    ::pthread_attr_setstacksize(&large, size_t{1} << 46);
    REQUIRE(::pthread_setattr_default_np(&large) == 0);
  }
  ~NoThreads() { ::pthread_setattr_default_np(&usual_); }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  pthread_attr_t usual_{};
};

TEST_CASE("reports without a thread hold up nobody") {
  const TemporaryDirectory directory;
  LaunchOptions options;
  options.report_json = directory.at("report.json");
  test::CapturedStdio captured;
  SECTION("nobody at all") {
    const NoThreads none;
    const FullPipe pipe(options.report_json);
    Loop loop;
    ReportWriter writer(loop, sample(), options);
    writer.finish(Milliseconds{20'000});
    const std::string said = captured.err();
    CHECK(said.find("reports are not written: no thread") != std::string::npos);
  }
  SECTION("the ranks are gone, and there is room for one") {
    Loop loop;
    std::optional<ReportWriter> writer;
    {
      const NoThreads none;
      writer.emplace(loop, sample(), options);
    }
    writer->finish(Milliseconds{20'000});
    CHECK(captured.err().empty());
    CHECK(read_file(options.report_json).value_or("").find("00c0ffee") !=
          std::string::npos);
  }
}

TEST_CASE("a signal ends the wait for a report that cannot be written") {
  const TemporaryDirectory directory;
  LaunchOptions options;
  options.report_json = directory.at("report.json");
  FullPipe pipe(options.report_json);
  sigset_t term;
  sigset_t before;
  ::sigemptyset(&term);
  ::sigaddset(&term, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &term, &before);
  test::CapturedStdio captured;
  const auto began = Clock::now();
  {
    Loop loop;
    ReportWriter writer(loop, sample(), options);
    ::kill(::getpid(), SIGTERM);
    writer.finish(Milliseconds{20'000}, {SIGTERM});
  }
  const auto took = Clock::now() - began;
  CHECK(captured.err().find("reports are not written: SIGTERM came") !=
        std::string::npos);
  CHECK(took < std::chrono::seconds(10));
  int signal = 0;
  CHECK(::sigwait(&term, &signal) == 0);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  CHECK(pipe.take_until("00c0ffee"));  // lets the thread go
}

TEST_CASE("what became of the reports is said once") {
  LaunchOptions options;
  options.report_json = "/none/report.json";
  test::CapturedStdio captured;
  {
    Loop loop;
    ReportWriter writer(loop, sample(), options);
    writer.finish(Milliseconds{10'000});
    writer.finish(Milliseconds{10'000});
    loop.post([&loop] { loop.stop(); });
    loop.run();
  }
  const std::string said = captured.err();
  const size_t first = said.find("cannot write");
  CHECK(first != std::string::npos);
  CHECK(said.find("cannot write", first + 1) == std::string::npos);
}

}  // namespace
}  // namespace muster
