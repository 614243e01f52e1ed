// SPDX-License-Identifier: Apache-2.0
// From an agent's output frames to what a person reads on stdout.
#include "launcher/output/rank_output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tuple>

#include "base/text.h"
#include "captured_stdio.h"
#include "catch.h"
#include "run_loop.h"

namespace muster {
namespace {

using namespace std::chrono_literals;
using test::CapturedStdio;
using test::run_for;
using test::run_until;

constexpr ProcessKey kRank0{1, 1};
constexpr ProcessKey kRank1{2, 1};
constexpr ProcessKey kTool{0, 1};

wire::Frame output(uint8_t flags, std::string_view bytes,
                   int64_t time_ns = 1'000) {
  wire::Frame frame;
  frame.type = wire::FrameType::kOutput;
  frame.flags = flags;
  frame.payload = wire::output_payload(time_ns, bytes);
  return frame;
}

// Two ranks and mpirun, with stdout in a file or in a descriptor of the test.
struct Bed {
  explicit Bed(OutputOptions options, int out = -1)
      : captured(out),
        ranks(loop, std::move(options),
              [this](ProcessKey key, uint8_t stream, uint32_t bytes) {
                credits[{key, stream}] += bytes;
              }) {
    ranks.add_process(kRank0, 0, "", "w-0");
    ranks.add_process(kRank1, 1, "", "w-1");
    ranks.add_process(kTool, -1, "mpirun", "l");
  }
  void out(ProcessKey key, std::string_view bytes, uint8_t flags = 0) {
    ranks.frame(key, output(wire::kStdout | flags, bytes));
  }
  void err(ProcessKey key, std::string_view bytes, uint8_t flags = 0) {
    ranks.frame(key, output(wire::kStderr | flags, bytes));
  }
  std::string text() {
    ranks.drain(5s);
    run_for(loop, 10ms);
    return captured.out();
  }

  Loop loop;
  std::map<std::pair<ProcessKey, uint8_t>, uint64_t> credits;
  CapturedStdio captured;
  RankOutput ranks;
};

// Every byte of credit comes back, and nothing besides.
OutputOptions with(LogFormat format) {
  OutputOptions options;
  options.format = format;
  options.credit_step = 1;
  options.extra_credit = 0;
  return options;
}

TEST_CASE("lines are tagged with their rank, or with who else wrote them") {
  Bed bed(with(LogFormat::kText));
  bed.out(kRank0, "a\nb\n");
  bed.err(kRank1, "c\n");
  bed.out(kTool, "d\n");
  const std::string text = bed.text();
  CHECK(text == "[0|w-0] a\n[0|w-0] b\n[1|w-1] c\n[mpirun] d\n");
  CHECK(bed.ranks.lines() == 4);
}

TEST_CASE("a tag has the pod's name, a record the host's") {
  for (const LogFormat format : {LogFormat::kText, LogFormat::kJson}) {
    Bed bed(with(format));
    bed.ranks.add_process({3, 9}, 5, "", "pi-worker-3.pi.ml.svc");
    bed.ranks.frame({3, 9}, output(wire::kStdout, "a\n"));
    const std::string text = bed.text();
    INFO(text);
    CHECK(text.find(format == LogFormat::kText
                        ? "[5|pi-worker-3] a\n"
                        : "\"host\":\"pi-worker-3.pi.ml.svc\"") != text.npos);
  }
}

TEST_CASE("a warning of mpirun's start that means nothing is not shown") {
  constexpr std::string_view kNoise =
      "[l:00404] plm:rsh: Warning: setpgid(410,410) failed in parent with "
      "errno=Permission denied(13)\n";
  Bed bed(with(LogFormat::kText));
  bed.err(kTool, kNoise);
  bed.err(kTool, "kept\n");
  bed.err(kRank0, kNoise);
  const std::string text = bed.text();
  CHECK(text == "[mpirun] kept\n[0|w-0] " + std::string(kNoise));
}

TEST_CASE("a line in pieces is one line, never merged with another's") {
  Bed bed(with(LogFormat::kText));
  bed.out(kRank0, "hel");
  bed.out(kRank1, "other\n");
  bed.err(kRank0, "error\n");
  bed.out(kRank0, "lo\nnext");
  bed.out(kRank0, "", wire::kEnd);
  const std::string text = bed.text();
  CHECK(text == "[1|w-1] other\n[0|w-0] error\n[0|w-0] hello\n[0|w-0] next\n");
}

TEST_CASE("plain bytes without labels stay as they are") {
  std::string bytes;
  for (int i = 0; i < 300'000; ++i) {
    bytes += static_cast<char>((i * 7919U) >> 3);
  }
  bytes += "10 %\r20 %\rdone\r\n$ ";
  Bed bed(with(LogFormat::kPlain));
  for (size_t at = 0; at < bytes.size(); at += 10'000) {
    bed.out(kRank0, std::string_view(bytes).substr(at, 10'000));
  }
  bed.out(kRank0, "", wire::kEnd);
  CHECK(bed.text() == bytes);
}

TEST_CASE("plain text without a newline is shown at once, secrets are not") {
  auto masker = Masker::create({{{"API_TOKEN", "hunter2hunter2"}}, {}});
  REQUIRE(masker);
  Bed bed(with(LogFormat::kPlain));
  bed.ranks.set_masker(std::move(*masker));
  bed.out(kRank0, "Name? ");
  run_for(bed.loop, 20ms);
  const std::string prompt = bed.captured.out_so_far();
  bed.out(kRank0, "x\nkey hunter2hunter2");
  bed.out(kRank0, " and\rmore\n-----BEGIN RSA PRIVATE KEY-----\nAAAA");
  bed.out(kRank0, "BBBB\n-----END RSA PRIVATE KEY-----\nend");
  bed.out(kRank0, "", wire::kEnd);
  const std::string text = bed.text();
  CHECK(prompt == "Name? ");
  CHECK(text.starts_with("Name? x\nkey [masked] and\rmore\n"));
  CHECK(text.find("AAAA") == std::string::npos);
  CHECK(text.find("BBBB") == std::string::npos);
  CHECK(text.ends_with("\nend"));
}

TEST_CASE("a terminal shows text without a newline in its last line") {
  OutputOptions options = with(LogFormat::kText);
  options.status_line = true;
  Bed bed(options);
  bed.out(kRank0, "Password: ");
  run_for(bed.loop, 20ms);
  const std::string prompt = bed.captured.out_so_far();
  bed.out(kRank0, "thanks\n");
  const std::string text = bed.text();
  CHECK(prompt.find("[0|w-0] Password: ") != std::string::npos);
  CHECK(text.find("[0|w-0] Password: thanks\n") != std::string::npos);
}

TEST_CASE("plain keeps stderr apart, as mpirun does") {
  Bed bed(with(LogFormat::kPlain));
  bed.out(kRank0, "out\n");
  bed.err(kRank0, "err\n");
  const std::string text = bed.text();
  CHECK(text == "out\n");
  CHECK(bed.captured.err() == "err\n");
}

TEST_CASE("who does not read stdout keeps nothing from stderr") {
  auto pipe = make_pipe();
  REQUIRE(pipe);
  size_t before = 0;
  size_t after = 0;
  std::string said;
  {
    Bed bed(with(LogFormat::kPlain), pipe->write.get());
    bed.out(kRank0, std::string(200'000, 'x') + "\n");
    run_for(bed.loop, 50ms);
    before = bed.ranks.waiting_bytes();
    bed.err(kRank0, "rank's\n");
    bed.ranks.own_line("muster: the verdict\n");
    bed.ranks.drain(200ms);
    after = bed.ranks.waiting_bytes();
    set_nonblocking(pipe->read.get());
    run_until(bed.loop, [&] {
      char buffer[65536];
      while (::read(pipe->read.get(), buffer, sizeof buffer) > 0) {
      }
      return bed.ranks.waiting_bytes() == 0;
    });
    said = bed.captured.err();
  }
  CHECK(before > 0);
  CHECK(after == before);
  CHECK(said == "rank's\nmuster: the verdict\n");
}

TEST_CASE("sequence numbers count each stream from one") {
  Bed bed(with(LogFormat::kJson));
  bed.out(kRank0, "a\nb\n");
  bed.err(kRank0, "c\n");
  const std::string text = bed.text();
  const auto lines = split(text, '\n');
  REQUIRE(lines.size() == 4);
  CHECK(lines[0].find("\"seq\":1") != std::string::npos);
  CHECK(lines[1].find("\"seq\":2") != std::string::npos);
  CHECK(lines[2].find("\"seq\":1") != std::string::npos);
  CHECK(lines[2].find("\"stream\":\"stderr\"") != std::string::npos);
}

TEST_CASE("all credit comes back, by stream, shown or not") {
  OutputOptions options = with(LogFormat::kText);
  options.ranks = {0};
  Bed bed(options);
  bed.out(kRank0, "12345\n");
  bed.out(kRank0, "part");
  bed.err(kRank0, "123\n");
  bed.out(kRank1, "hidden\n");
  const std::string text = bed.text();
  // What had no line end when all was over is told at the end.
  CHECK(text == "[0|w-0] 12345\n[0|w-0] 123\n[0|w-0] part\n");
  CHECK(bed.credits[{kRank0, wire::kStdout}] == 10);
  CHECK(bed.credits[{kRank0, wire::kStderr}] == 4);
  CHECK(bed.credits[{kRank1, wire::kStdout}] == 7);
}

TEST_CASE("credit comes back in steps; a window of it always does") {
  OutputOptions options;
  options.format = LogFormat::kText;
  REQUIRE(options.credit_step <= wire::kFirstCredit);
  Bed bed(options);
  auto& credit = bed.credits[{kRank0, wire::kStdout}];
  const std::string line = std::string(999, 'x') + "\n";
  // All that an agent sends before it waits, never more than half a step alone.
  uint64_t sent = 0;
  for (; sent < wire::kFirstCredit; sent += line.size()) {
    bed.out(kRank0, line);
    run_for(bed.loop, 1ms);
  }
  CHECK(run_until(bed.loop, [&] { return credit >= options.credit_step; }));
  CHECK(credit <= sent);
  bed.out(kRank1, "few words\n");
  run_for(bed.loop, 20ms);
  CHECK(bed.credits.count({kRank1, wire::kStdout}) == 0);
}

TEST_CASE("who prints without a pause may have more under way, within limits") {
  OutputOptions options;
  options.format = LogFormat::kText;
  options.credit_step = 1 << 30;
  options.extra_credit = 20 << 20;  // of 64 MiB for all
  Bed bed(options);
  const std::string block = std::string(5'000, 'x') + "\n";
  for (int i = 0; i < 3; ++i) bed.out(kRank0, block);
  bed.err(kRank0, block);
  bed.out(kRank1, block);
  bed.err(kRank1, block);
  bed.out(kTool, "few words\n");
  const std::pair<ProcessKey, uint8_t> first{kRank0, wire::kStdout};
  CHECK(bed.credits ==
        decltype(bed.credits){{first, 20 << 20},
                              {{kRank0, wire::kStderr}, 20 << 20},
                              {{kRank1, wire::kStdout}, 20 << 20}});
  // What one has no use for any more is another's.
  bed.out(kRank0, "", wire::kEnd);
  bed.err(kRank1, block);
  CHECK(bed.credits[{kRank1, wire::kStderr}] == 20 << 20);
}

TEST_CASE("a listener hears each line with its word, however it comes") {
  Bed bed(with(LogFormat::kText));
  std::vector<std::string> heard;
  bed.ranks.on_line("NCCL INFO ", [&](int rank, const std::string& host,
                                      std::string_view line) {
    if (line.find("NCCL INFO ") == std::string_view::npos) return;
    heard.push_back(std::to_string(rank) + host + " " + std::string(line));
  });
  bed.out(kRank0, "one\nw:1:1 [0] NCCL INFO two\nthree\n");
  bed.out(kRank1, "w:1:1 [0] NCCL IN");
  bed.out(kRank0, "nothing\n");
  bed.out(kRank1, "FO four\nfive\n");
  bed.err(kRank0, "NCCL INFO six\n");
  CHECK(heard == std::vector<std::string>{"0w-0 w:1:1 [0] NCCL INFO two",
                                          "1w-1 w:1:1 [0] NCCL INFO four",
                                          "0w-0 NCCL INFO six"});
}

TEST_CASE("frames of nobody, and broken ones, are dropped") {
  Bed bed(with(LogFormat::kText));
  bed.out({9, 9}, "who\n");
  wire::Frame broken;
  broken.type = wire::FrameType::kOutput;
  broken.flags = wire::kStdout;
  broken.payload = "abc";
  bed.ranks.frame(kRank0, broken);
  CHECK(bed.text().empty());
  CHECK(bed.ranks.lines() == 0);
}

TEST_CASE("no credit while the reader of stdout takes nothing") {
  auto pipe = make_pipe();
  REQUIRE(pipe);
  bool held = false;
  bool freed = false;
  {
    Bed bed(with(LogFormat::kPlain), pipe->write.get());
    const std::string line = std::string(100'000, 'x') + "\n";
    bed.out(kRank0, line);
    bed.out(kRank0, line);
    run_for(bed.loop, 50ms);
    held = bed.credits.empty() && bed.ranks.stalled() > 0ms;
    set_nonblocking(pipe->read.get());
    freed = run_until(bed.loop, [&] {
      char buffer[65536];
      while (::read(pipe->read.get(), buffer, sizeof buffer) > 0) {
      }
      return bed.credits[{kRank0, wire::kStdout}] == 2 * line.size();
    });
  }
  CHECK(held);
  CHECK(freed);
}

TEST_CASE("drop: a stopped reader holds nobody up, what is lost is counted") {
  auto pipe = make_pipe();
  REQUIRE(pipe);
  OutputOptions options = with(LogFormat::kPlain);
  options.drop = true;
  uint64_t dropped = 0;
  uint64_t credit = 0;
  constexpr size_t kFrames = 200;
  const std::string line = std::string(65'535, 'x') + "\n";
  {
    Bed bed(options, pipe->write.get());
    for (size_t i = 0; i < kFrames; ++i) bed.out(kRank0, line);
    run_for(bed.loop, 20ms);
    dropped = bed.ranks.dropped_lines();
    credit = bed.credits[{kRank0, wire::kStdout}];
    // The writer must end before the pipe does.
    set_nonblocking(pipe->read.get());
    size_t read_bytes = 0;
    run_until(bed.loop, [&] {
      char buffer[65536];
      for (ssize_t n = 0;
           (n = ::read(pipe->read.get(), buffer, sizeof buffer)) > 0;) {
        read_bytes += static_cast<size_t>(n);
      }
      return read_bytes >= (kFrames - dropped) * line.size();
    });
  }
  CHECK(dropped > 100);
  CHECK(dropped < kFrames);
  // Who drops gives credit before anything is written: nobody ever waits.
  CHECK(credit == kFrames * line.size());
}

TEST_CASE("drop: a line lost for its file and for stdout counts once") {
  const TemporaryDirectory directory;
  const std::string path = directory.at("rank-0.out");
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const UniqueFd log(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  auto pipe = make_pipe();
  REQUIRE(pipe);
  set_nonblocking(pipe->read.get());
  OutputOptions options = with(LogFormat::kText);
  options.drop = true;
  options.directory = directory.path();
  constexpr size_t kLines = 200;
  uint64_t dropped = 0;
  {
    Bed bed(options, pipe->write.get());
    const std::string line = std::string(65'535, 'x') + "\n";
    for (size_t i = 0; i < kLines; ++i) bed.out(kRank0, line);
    run_for(bed.loop, 20ms);
    dropped = bed.ranks.dropped_lines();
    run_until(bed.loop, [&] {
      char buffer[65536];
      for (const int fd : {log.get(), pipe->read.get()}) {
        while (::read(fd, buffer, sizeof buffer) > 0) {
        }
      }
      return bed.ranks.waiting_bytes() == 0;
    });
  }
  CHECK(dropped > kLines / 2);
  CHECK(dropped < kLines);
}

TEST_CASE("only the asked ranks and levels are shown; tails keep all") {
  OutputOptions options = with(LogFormat::kText);
  options.ranks = {1};
  options.level = LogLevel::kWarn;
  Bed bed(options);
  bed.out(kRank0, "ERROR: of another rank\n");
  bed.out(kRank1, "INFO: fine\n");
  bed.out(kRank1, "WARNING: less fine\n");
  bed.out(kTool, "ERROR: not enough slots\n");
  const std::string text = bed.text();
  CHECK(text ==
        "[1|w-1] WARNING: less fine\n[mpirun] ERROR: not enough slots\n");
  CHECK(bed.ranks.last_lines(kRank0).size() == 1);
  CHECK(bed.ranks.last_lines(kRank1).size() == 2);
}

TEST_CASE("tails: the newest of both streams, by time, bounded") {
  Bed bed(with(LogFormat::kPlain));
  for (int i = 0; i < 40; ++i) {
    bed.ranks.frame(
        kRank0, output(wire::kStdout, std::to_string(i) + "\n", 100 + 2 * i));
    bed.ranks.frame(
        kRank0,
        output(wire::kStderr, "e" + std::to_string(i) + "\n", 101 + 2 * i));
  }
  bed.ranks.frame(kRank0,
                  output(wire::kStdout, std::string(9'000, 'x') + "\n", 999));
  bed.text();
  const auto tail = bed.ranks.last_lines(kRank0);
  REQUIRE(tail.size() == 24);
  CHECK(tail[0].text == "e28");
  CHECK(tail[1].text == "29");
  CHECK(tail[0].stderr_stream);
  CHECK_FALSE(tail[1].stderr_stream);
  CHECK(tail.back().text.size() == 400);
  CHECK(bed.ranks.last_lines({7, 7}).empty());
}

TEST_CASE("secrets are hidden on stdout, in files and in tails") {
  const TemporaryDirectory directory;
  OutputOptions options = with(LogFormat::kText);
  options.directory = directory.path();
  Bed bed(options);
  MaskOptions mask;
  mask.environment = {{"API_TOKEN", "swordfish99"}};
  bed.ranks.set_masker(std::move(*Masker::create(mask)));
  bed.out(kRank0, "token swordf");
  bed.out(kRank0, "ish99 used\n");
  const std::string text = bed.text();
  CHECK(text.find("swordfish") == std::string::npos);
  CHECK(text.starts_with("[0|w-0] token "));
  const auto file = read_file(directory.at("rank-0.out"));
  REQUIRE(file);
  CHECK(file->find("swordfish") == std::string::npos);
  CHECK(file->ends_with(" used\n"));
  REQUIRE(bed.ranks.last_lines(kRank0).size() == 1);
  CHECK(bed.ranks.last_lines(kRank0)[0].text.find("swordfish") ==
        std::string::npos);
}

TEST_CASE("files have every rank and stream, also what stdout does not show") {
  const TemporaryDirectory directory;
  OutputOptions options = with(LogFormat::kJson);
  options.directory = directory.path();
  options.ranks = {0};
  Bed bed(options);
  bed.out(kRank0, "a\n");
  bed.err(kRank0, "b\n");
  bed.out(kRank1, "c\n");
  bed.out(kTool, "d\n");
  bed.text();
  CHECK(read_file(directory.at("rank-0.out")).value_or("") == "a\n");
  CHECK(read_file(directory.at("rank-0.err")).value_or("") == "b\n");
  CHECK(read_file(directory.at("rank-1.out")).value_or("") == "c\n");
  CHECK(read_file(directory.at("mpirun.out")).value_or("") == "d\n");
}

TEST_CASE("rotated files have every line once, whole and in order") {
  const TemporaryDirectory directory;
  OutputOptions options = with(LogFormat::kText);
  options.directory = directory.path();
  options.rotation = {4096, 100};
  Bed bed(options);
  std::string expected;
  for (int i = 0; i < 3000; ++i) {
    const std::string line = "line " + std::to_string(i) + "\n";
    expected += line;
    // Every third one comes in two frames: no file may end within it.
    bed.out(kRank0, line.substr(0, 3));
    if (i % 3 == 0) bed.out(kRank0, line.substr(3));
    if (i % 3 != 0) bed.out(kRank0, line.substr(3));
  }
  bed.text();
  std::string all;
  int files = 0;
  for (int i = 100; i >= 0; --i) {
    const std::string name =
        i == 0 ? "rank-0.out" : "rank-0.out." + std::to_string(i);
    const auto text = read_file(directory.at(name));
    if (!text) continue;
    CHECK(text->size() <= 4096);
    CHECK(text->back() == '\n');
    all += *text;
    ++files;
  }
  CHECK(files > 5);
  CHECK(all == expected);
  CHECK(bed.credits[{kRank0, wire::kStdout}] == expected.size());
}

TEST_CASE("credit waits for the file too: memory stays bounded") {
  const TemporaryDirectory directory;
  // A log file that nobody reads: a disk that has stopped.
  REQUIRE(::mkfifo(directory.at("rank-1.out").c_str(), 0600) == 0);
  const UniqueFd reader(::open(directory.at("rank-1.out").c_str(),
                               O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  OutputOptions options = with(LogFormat::kText);
  options.directory = directory.path();
  options.ranks = {0};
  bool held = false;
  bool freed = false;
  {
    Bed bed(options);
    const std::string line = std::string(200'000, 'x') + "\n";
    bed.out(kRank1, line);
    run_for(bed.loop, 50ms);
    held = bed.credits[{kRank1, wire::kStdout}] == 0;
    freed = run_until(bed.loop, [&] {
      char buffer[65536];
      while (::read(reader.get(), buffer, sizeof buffer) > 0) {
      }
      return bed.credits[{kRank1, wire::kStdout}] == line.size();
    });
  }
  CHECK(held);
  CHECK(freed);
}

TEST_CASE("a file that takes long to open holds up its ranks alone") {
  const TemporaryDirectory directory;
  // Nobody reads it: open() waits, as on a file system that does not answer.
  const std::string path = directory.at("rank-1.out");
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  OutputOptions options = with(LogFormat::kText);
  options.directory = directory.path();
  bool held = false;
  bool freed = false;
  {
    Bed bed(options);
    bed.out(kRank1, std::string(8'000, 'x') + "\n");
    run_for(bed.loop, 50ms);
    held = bed.credits.empty() && bed.ranks.waiting_bytes() > 0;
    CHECK(bed.ranks.slow_reader() ==
          std::string_view("the file system of --log-dir"));
    const UniqueFd reader(
        ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    freed = run_until(bed.loop, [&] {
      return bed.credits[{kRank1, wire::kStdout}] == 8'001;
    });
  }
  CHECK(held);
  CHECK(freed);
}

TEST_CASE("a log directory that went away costs a warning, not the lines") {
  OutputOptions options = with(LogFormat::kText);
  options.directory = "/none/such";
  Bed bed(options);
  bed.out(kRank0, "a\n");
  bed.out(kRank0, "b\n");
  CHECK(bed.text() == "[0|w-0] a\n[0|w-0] b\n");
  CHECK(bed.credits[{kRank0, wire::kStdout}] == 4);
}

TEST_CASE("a progress bar shows its newest state, not each of them") {
  Bed bed(with(LogFormat::kJson));
  for (int i = 0; i <= 100; ++i) {
    bed.ranks.frame(
        kRank0, output(wire::kStdout, std::to_string(i) + "%\r", 1'000 + i));
  }
  bed.out(kRank0, "done\n");
  const std::string text = bed.text();
  CHECK(std::count(text.begin(), text.end(), '\n') <= 4);
  CHECK(text.find("\"progress\":true") != std::string::npos);
  CHECK(text.find("100%") != std::string::npos);
  CHECK(text.find("\"message\":\"done\"") != std::string::npos);
  CHECK(bed.ranks.dropped_bytes() == 0);
}

TEST_CASE("on a terminal a bar is one line below the others") {
  OutputOptions options = with(LogFormat::kText);
  options.status_line = true;
  options.progress_interval = 0ms;
  Bed bed(options);
  bed.err(kRank0, " 10%|#\r");
  bed.err(kRank0, " 20%|##\r");
  bed.out(kRank1, "a line\n");
  bed.err(kRank0, " 30%|###\r");
  bed.err(kRank0, "", wire::kEnd);
  // The state that a bar ends with stays as a line of its own.
  CHECK(bed.text() ==
        "[0|w-0]  10%|#"
        "\r\x1b[K[1|w-1] a line\n[0|w-0]  10%|#"
        "\r\x1b[K[0|w-0]  20%|##"
        "\r\x1b[K[0|w-0]  30%|###\n");
}

TEST_CASE("muster's own lines go to stderr in order with plain stderr") {
  Bed bed(with(LogFormat::kPlain));
  bed.ranks.own_line("muster: one\n");
  bed.err(kRank0, "two\n");
  bed.ranks.own_line("muster: three\n");
  bed.text();
  CHECK(bed.captured.err() == "muster: one\ntwo\nmuster: three\n");
}

TEST_CASE("equal lines of many ranks are one line; others keep their order") {
  OutputOptions options = with(LogFormat::kText);
  options.fold = 100ms;
  Bed bed(options);
  bed.out(kRank0, "loading\nonly 0\n");
  bed.out(kRank1, "loading\nonly 1\n");
  bed.out(kTool, "mpirun speaks\n");
  const std::string text = bed.text();
  CHECK(text ==
        "[0-1] loading\n[0|w-0] only 0\n[1|w-1] only 1\n"
        "[mpirun] mpirun speaks\n");
  CHECK(bed.credits[{kRank0, wire::kStdout}] == 15);
}

TEST_CASE("folding gives no credit for what a slow reader does not take") {
  auto pipe = make_pipe();
  REQUIRE(pipe);
  OutputOptions options = with(LogFormat::kText);
  options.fold = 1ms;
  constexpr size_t kLine = 20'000;
  uint64_t early = 0;
  bool all = false;
  {
    Bed bed(options, pipe->write.get());
    for (int i = 0; i < 100; ++i) {
      std::string line = std::to_string(i) + "\n";
      line.insert(0, kLine - line.size(), 'x');
      bed.out(kRank0, line);
      run_for(bed.loop, 2ms);
    }
    early = bed.credits[{kRank0, wire::kStdout}];
    set_nonblocking(pipe->read.get());
    all = run_until(bed.loop, [&] {
      char buffer[65536];
      while (::read(pipe->read.get(), buffer, sizeof buffer) > 0) {
      }
      return bed.credits[{kRank0, wire::kStdout}] == 100 * kLine;
    });
  }
  CHECK(early < 25 * kLine);
  CHECK(all);
}

TEST_CASE("the end of a line in parts stays with its rank") {
  OutputOptions options = with(LogFormat::kText);
  options.fold = 100ms;
  Bed bed(options);
  const std::string part(LineSplitter::kMaxLine, 'x');
  for (const ProcessKey rank : {kRank0, kRank1}) {
    bed.out(rank, part + "y");
    bed.out(rank, "end\n");
  }
  CHECK(bed.text() == "[0|w-0] " + part + "\n[0|w-0] yend\n[1|w-1] " + part +
                          "\n[1|w-1] yend\n");
}

TEST_CASE("folded lines keep their place before and after a traceback") {
  OutputOptions options = with(LogFormat::kText);
  options.fold = 100ms;
  Bed bed(options);
  std::string many;
  for (int i = 0; i < 300; ++i) many += std::to_string(i) + "\n";
  bed.out(kRank0, "before\n");
  bed.out(kRank1, "elsewhere\n");
  bed.out(kRank0, "Traceback (most recent call last):\nKeyError: 'x'\n" + many);
  std::string expected =
      "[0|w-0] before\n[0|w-0] Traceback (most recent call last):\n"
      "[0|w-0] KeyError: 'x'\n";
  for (int i = 0; i < 300; ++i) {
    expected += "[0|w-0] " + std::to_string(i) + "\n";
  }
  CHECK(bed.text() == expected + "[1|w-1] elsewhere\n");
}

TEST_CASE("a traceback that comes line by line stays in one piece") {
  Bed bed(with(LogFormat::kText));
  bed.err(kRank0, "Traceback (most recent call last):\n");
  bed.out(kRank1, "between\n");
  bed.err(kRank0, "  File \"a.py\", line 1, in <module>\n");
  bed.out(kRank1, "between\n");
  bed.err(kRank0, "KeyError: 'x'\n");
  const std::string text = bed.text();
  CHECK(text ==
        "[1|w-1] between\n[1|w-1] between\n"
        "[0|w-0] Traceback (most recent call last):\n"
        "[0|w-0]   File \"a.py\", line 1, in <module>\n"
        "[0|w-0] KeyError: 'x'\n");
}

TEST_CASE("a traceback is an error from its first line to its last") {
  const std::string_view lines =
      "fine\nTraceback (most recent call last):\n"
      "  File \"a.py\", line 1, in <module>\n    f()\nKeyError: 'x'\nfine\n";
  OutputOptions filtered = with(LogFormat::kText);
  filtered.level = LogLevel::kError;
  Bed bed(filtered);
  bed.err(kRank0, lines);
  const std::string text = bed.text();
  CHECK(text ==
        "[0|w-0] Traceback (most recent call last):\n"
        "[0|w-0]   File \"a.py\", line 1, in <module>\n[0|w-0]     f()\n"
        "[0|w-0] KeyError: 'x'\n");
  Bed json(with(LogFormat::kJson));
  json.err(kRank0, lines);
  int errors = 0;
  const std::string records = json.text();
  for (size_t at = 0;
       (at = records.find(R"("level":"error")", at)) != std::string::npos;
       ++at) {
    ++errors;
  }
  CHECK(errors == 4);
}

TEST_CASE("a traceback behind PyTorch's marks is one, too") {
  OutputOptions filtered = with(LogFormat::kText);
  filtered.level = LogLevel::kError;
  Bed bed(filtered);
  bed.err(kRank0,
          "fine\n[rank0]: Traceback (most recent call last):\n"
          "[rank0]:   File \"a.py\", line 1, in <module>\n"
          "[rank0]: KeyError: 'x'\nfine\n");
  CHECK(bed.ranks.quiet_after_traceback(0ms).size() == 1);
  const std::string text = bed.text();
  CHECK(text ==
        "[0|w-0] [rank0]: Traceback (most recent call last):\n"
        "[0|w-0] [rank0]:   File \"a.py\", line 1, in <module>\n"
        "[0|w-0] [rank0]: KeyError: 'x'\n");
}

TEST_CASE("half a traceback is not kept for long, and its credit returns") {
  Bed bed(with(LogFormat::kText));
  bed.err(kRank0, "Traceback (most recent call last):\n");
  // What is written next tells that this has left.
  CHECK(run_until(bed.loop, [&] {
    bed.out(kRank1, "on\n");
    return bed.credits.count({kRank0, wire::kStderr}) == 1;
  }));
  CHECK(bed.credits[{kRank0, wire::kStderr}] == 35);
}

TEST_CASE("of a lost worker what was held is told, and that there is a gap") {
  Bed bed(with(LogFormat::kText));
  bed.out(kRank0, "one\ntwo, to");
  bed.out(kRank1, "fine\n", wire::kEnd);
  bed.err(kRank1, "", wire::kEnd);
  bed.ranks.node_lost(kRank0.node);
  bed.ranks.node_lost(kRank1.node);
  const std::string text = bed.text();
  CHECK(text == "[0|w-0] one\n[1|w-1] fine\n[0|w-0] two, to\n");
  CHECK(bed.ranks.cut_processes() == 1);
}

TEST_CASE("a line of megabytes is whole in its file and in parts in JSON") {
  OutputOptions options = with(LogFormat::kJson);
  Bed bed(options);
  const std::string piece(32'000, 'x');
  for (int i = 0; i < 40; ++i) bed.out(kRank0, piece);
  bed.out(kRank0, "\nnext\n");
  const std::string text = bed.text();
  CHECK(bed.ranks.lines() == 2);
  size_t last = 0;
  for (size_t at = text.find("\"last\":true"); at != std::string::npos;
       at = text.find("\"last\":true", at + 1)) {
    ++last;
  }
  CHECK(last == 1);
  CHECK(text.find("\"seq\":2,\"message\":\"next\"") != std::string::npos);
}

}  // namespace
}  // namespace muster
