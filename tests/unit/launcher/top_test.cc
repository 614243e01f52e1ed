// SPDX-License-Identifier: Apache-2.0
// The table of `muster top` for screens of all sizes, which ranks stand out,
// and the rates and words that are behind it.
#include <algorithm>

#include "base/text.h"
#include "catch.h"
#include "launcher/report/rank_history.h"
#include "launcher/report/strain_history.h"

namespace muster {
namespace {

JobStatus job(int pods, int ranks_each) {
  JobStatus status;
  status.launch_id = "l1";
  status.phase = "run";
  status.command = "python train.py";
  status.job_ms = 75'300;
  for (int p = 0; p < pods; ++p) {
    WorkerStatus worker;
    worker.host = "pi-worker-" + std::to_string(p) + ".pi.default.svc";
    worker.state = "ready";
    worker.memory_bytes = int64_t{12} << 30;
    worker.memory_limit = int64_t{64} << 30;
    worker.rates.cpu = 7.9;
    worker.rates.network_received = 1'200'000;
    worker.rates.network_sent = 300'000;
    status.workers.push_back(worker);
    for (int i = 0; i < ranks_each; ++i) {
      RankStatus rank;
      rank.rank = p * ranks_each + i;
      rank.host = worker.host;
      rank.state = "running";
      rank.cpu = rank.cpu_mean = 0.99;
      rank.cpu_mean_ms = 20'000;
      rank.memory_bytes = int64_t{1200} << 20;
      rank.lines_per_second = 0.5;
      rank.progress = "epoch 3/10 step 700/1000";
      rank.loss = "0.693";
      rank.last_line = "Epoch 3/10, step 700/1000 loss=0.693 lr=3e-4";
      status.ranks.push_back(rank);
    }
  }
  return status;
}

TopView screen(size_t columns, size_t rows) {
  TopView view;
  view.columns = columns;
  view.rows = rows;
  return view;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  for (const auto line : split(text, '\n')) out.emplace_back(line);
  if (!out.empty() && out.back().empty()) out.pop_back();
  return out;
}

// A character of UTF-8 is taken for one column.
size_t columns_of(const std::string& text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(),
      [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80; }));
}

void check_fits(const JobStatus& status, const TopView& view) {
  const auto lines = lines_of(top_text(status, view));
  INFO(view.columns << " columns, " << view.rows << " rows");
  CHECK(lines.size() <= view.rows);
  for (const std::string& line : lines) {
    INFO(line);
    CHECK(columns_of(line) <= view.columns);
  }
}

// Of the first line that has it.
std::string line_with(const std::string& text, const std::string& part) {
  for (const std::string& line : lines_of(text)) {
    if (line.find(part) != std::string::npos) return line;
  }
  return "";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("pods come first, and their ranks below them") {
  const auto lines = lines_of(top_text(job(2, 2), screen(160, 40)));
  REQUIRE(lines.size() == 3 + 1 + 2 + 4);
  CHECK(lines[0] == "launch l1  phase run  job since 75 s");
  CHECK(lines[1] == "python train.py");
  CHECK(lines[2] == "2 of 2 pods ready, 4 running, 0 lines");
  CHECK(lines[3].starts_with("POD, RANK"));
  CHECK(split_words(lines[4])[0] == "pi-worker-0");
  CHECK(split_words(lines[5])[0] == "0");
  CHECK(split_words(lines[6])[0] == "1");
  CHECK(split_words(lines[7])[0] == "pi-worker-1");
  for (const char* part : {"2/2 run", "790%", "12G/64G", "1.2M/300K", "1.0"}) {
    INFO(lines[4]);
    CHECK(has(lines[4], part));
  }
  for (const char* part :
       {"running", "99%", "1.2G", "0.5", "epoch 3/10 step 700/1000", "0.693",
        "Epoch 3/10, step 700/1000 loss=0.693 lr=3e-4"}) {
    INFO(lines[5]);
    CHECK(has(lines[5], part));
  }
}

TEST_CASE("every size of screen is kept to") {
  for (const auto& status : {job(16, 8), job(128, 1), job(1, 1), job(0, 0)}) {
    for (const size_t columns : {40, 80, 160, 300}) {
      for (const size_t rows : {6, 24, 50, 200}) {
        TopView view = screen(columns, rows);
        check_fits(status, view);
        view.by_rank = true;
        view.note = "q quit";
        check_fits(status, view);
      }
    }
  }
}

TEST_CASE("on a small screen pods stand for ranks, but for those in trouble") {
  JobStatus status = job(16, 8);
  status.ranks[77].straggler = "CPU 2 %, median 99 % over 20 s";
  status.ranks[100].state = "exited";
  status.ranks[100].exit = "exited with code 3";
  status.ranks[100].failed = true;
  const std::string text = top_text(status, screen(160, 30));
  CHECK(lines_of(text).size() == 3 + 1 + 16 + 2 + 2);
  CHECK(split_words(line_with(text, "! 77"))[2] == "running");
  CHECK(has(line_with(text, "! 100"), "exit 3"));
  CHECK(has(text, "! rank 77 on pi-worker-9: CPU 2 %, median 99 % over 20 s"));
  CHECK(has(text, "! rank 100 on pi-worker-12: exited with code 3"));
  CHECK(has(line_with(text, "pi-worker-12"), "7/8 run"));
  // Ranks that the launcher ended are no news.
  status.ranks[101].state = "exited";
  status.ranks[101].exit = "killed by signal 15 (Terminated)";
  status.ranks[101].stopped = true;
  CHECK_FALSE(has(top_text(status, screen(160, 30)), "! 101"));
  CHECK(has(line_with(top_text(status, screen(160, 0)), "  101 "), "stopped"));
  // Not even the pods fit: those in trouble do.
  const std::string small = top_text(status, screen(80, 14));
  CHECK(lines_of(small).size() <= 14);
  CHECK(has(small, "pi-worker-9 "));
  CHECK(has(small, "! 77"));
  CHECK(has(small, "pi-worker-12"));
  CHECK(has(small, "more pods with"));
  TopView by_rank = screen(80, 14);
  by_rank.by_rank = true;
  const std::string ranks = top_text(status, by_rank);
  CHECK(has(ranks, "! 77"));
  CHECK(has(ranks, "more ranks"));
  CHECK(lines_of(ranks)[3].starts_with("RANK"));
}

TEST_CASE("what is not known leaves its place empty, or its column out") {
  JobStatus status = job(1, 1);
  CHECK_FALSE(has(top_text(status, screen(160, 40)), "GPU"));
  CHECK_FALSE(has(top_text(status, screen(160, 40)), "RDMA"));
  status.workers[0] = WorkerStatus{};
  status.workers[0].host = "w-0";
  status.workers[0].state = "connecting";
  status.workers[0].step = "resolve";
  status.workers[0].problem = "the name is not in DNS";
  status.ranks.clear();
  const std::string text = top_text(status, screen(160, 40));
  CHECK(has(line_with(text, "w-0"), "resolve"));
  CHECK(has(line_with(text, "w-0"), "the name is not in DNS"));
  CHECK_FALSE(has(text, "CPU"));
  CHECK_FALSE(has(text, "-1"));
}

TEST_CASE("GPUs of pods and of ranks, and their Xids") {
  JobStatus status = job(1, 1);
  status.workers[0].used.gpu_percent = 97;
  status.workers[0].used.gpu_memory_used = int64_t{60} << 30;
  status.workers[0].used.gpu_memory_total = int64_t{80} << 30;
  wire::GpuXid xid;
  xid.xid = 79;
  xid.gpu = 3;
  xid.count = 2;
  xid.last_ms = 12'000;
  status.workers[0].used.xids = {xid};
  status.ranks[0].gpu_percent = 42;
  const std::string text = top_text(status, screen(160, 40));
  CHECK(has(line_with(text, "pi-worker-0"), "97%"));
  CHECK(has(line_with(text, "pi-worker-0"), "60G/80G"));
  CHECK(has(line_with(text, "running "), "42%"));
  CHECK(has(text, "! pi-worker-0: GPU 3: Xid 79: "));
}

TEST_CASE("lines of programs cannot move the cursor or leave their row") {
  JobStatus status = job(1, 1);
  status.command = "sh -c 'a\nb\x1b[2J'";
  status.ranks[0].last_line = "a\x1b[31m\nb\r\xff " + std::string(500, 'x');
  status.ranks[0].progress = "step \x1b[2J1";
  status.workers[0].host = std::string(200, 'h') + "\x1b[2J";
  status.ranks[0].host = status.workers[0].host;
  for (const size_t columns : {40, 80, 160}) {
    const std::string text = top_text(status, screen(columns, 24));
    CHECK(text.find('\x1b') == std::string::npos);
    CHECK(text.find('\r') == std::string::npos);
    CHECK(lines_of(text).size() == 6);
    check_fits(status, screen(columns, 24));
  }
}

TEST_CASE("colours only where they are asked for") {
  JobStatus status = job(2, 2);
  status.ranks[1].straggler = "CPU 2 %, median 99 % over 20 s";
  TopView view = screen(80, 24);
  CHECK_FALSE(has(top_text(status, view), "\x1b"));
  view.color = true;
  CHECK(has(top_text(status, view), "\x1b[33m"));
}

TEST_CASE("how a job ended is in the heading") {
  JobStatus status = job(1, 1);
  status.ended = JobEnd{3, "rank_failed", "rank 0 exited with code 3"};
  CHECK(has(top_text(status, screen(80, 24)),
            "ended after 75 s with exit code 3"));
}

std::vector<int> stragglers(JobStatus status) {
  mark_stragglers(status);
  std::vector<int> out;
  for (const RankStatus& rank : status.ranks) {
    if (!rank.straggler.empty()) out.push_back(rank.rank);
  }
  return out;
}

TEST_CASE("a rank with another use of CPU than the median stands out") {
  JobStatus status = job(2, 4);
  CHECK(stragglers(status).empty());
  status.ranks[5].cpu_mean = 0.02;
  CHECK(stragglers(status) == std::vector{5});
  mark_stragglers(status);
  CHECK(status.ranks[5].straggler == "CPU 2 %, median 99 % over 20 s");
  status.ranks[5].cpu_mean_ms = 3'000;  // too short a look
  CHECK(stragglers(status).empty());
  for (RankStatus& rank : status.ranks) rank.cpu_mean = 0.01;
  status.ranks[5].cpu_mean = 0.3;  // not worth a word
  CHECK(stragglers(status).empty());
  status.ranks[2].cpu_mean = 0.98;
  CHECK(stragglers(status) == std::vector{2});
  status.ranks[2].state = "exited";
  CHECK(stragglers(status).empty());
}

TEST_CASE("neither half of a job, nor one of two, is an exception by CPU") {
  JobStatus half = job(2, 4);
  for (size_t i = 0; i < 4; ++i) half.ranks[i].cpu_mean = 0;
  CHECK(stragglers(half).empty());
  JobStatus two = job(2, 1);
  two.ranks[0].cpu_mean = 0;
  CHECK(stragglers(two).empty());
}

TEST_CASE("a rank that is not where the median was is late") {
  JobStatus status = job(4, 1);
  for (RankStatus& rank : status.ranks) {
    rank.progress_before = "epoch 2/10 step 900/1000";
    rank.progress = "epoch 3/10 step 20/1000";
    rank.progress_before_ms = 20'000;
  }
  CHECK(stragglers(status).empty());
  status.ranks[2].progress_before = "epoch 2/10 step 500/1000";
  status.ranks[2].progress = "epoch 2/10 step 640/1000";
  CHECK(stragglers(status) == std::vector{2});
  mark_stragglers(status);
  CHECK(status.ranks[2].straggler ==
        "step 640, the median had step 900 20 s ago");
  status.ranks[2].progress = "epoch 2/10 step 900/1000";
  CHECK(stragglers(status).empty());
  status.ranks[2].progress = "step 1/1000";  // says something else
  CHECK(stragglers(status).empty());
}

TEST_CASE("of two ranks the one behind is late") {
  JobStatus status = job(2, 1);
  for (RankStatus& rank : status.ranks) rank.progress_before_ms = 20'000;
  status.ranks[0].progress_before = "step 10";
  status.ranks[0].progress = "step 12";
  status.ranks[1].progress_before = "step 50";
  status.ranks[1].progress = "step 90";
  CHECK(stragglers(status) == std::vector{0});
}

TEST_CASE("an idle GPU among busy ones stands out") {
  JobStatus status = job(4, 2);
  for (RankStatus& rank : status.ranks) rank.gpu_mean = 98;
  CHECK(stragglers(status).empty());
  status.ranks[6].gpu_mean = 30;
  CHECK(stragglers(status) == std::vector{6});
}

LineEvidence line(const std::string& text) {
  LineEvidence out;
  out.text = text;
  return out;
}

TEST_CASE("rates and words of a rank over half a minute") {
  RankHistory history;
  RankStatus rank;
  history.fill(rank);
  CHECK(rank.cpu == -1);
  CHECK(rank.lines_per_second == -1);
  for (int i = 0; i <= 50; ++i) {
    const int64_t now = int64_t{2'000} * i;
    const int64_t busy_us = i < 50 ? 2'000'000 * int64_t{i} : 98'500'000;
    history.used(now, {7, busy_us, 4096});
    history.used(now, {7, busy_us, 4096});  // a heartbeat out of turn
    history.seen(now, {static_cast<uint64_t>(10 * i),
                       {line("\x1b[32mEpoch 1/3\x1b[0m, step " +
                             std::to_string(i) + "/50 'loss': 1.5"),
                        line("saved")},
                       {{"GPU-1", 40, 10, 80}, {"GPU-2", 60, 20, 80}}});
  }
  history.fill(rank);
  CHECK(rank.cpu == Approx(0.25));
  CHECK(rank.cpu_mean == Approx((98.5 - 70) / 30));
  CHECK(rank.cpu_mean_ms == 30'000);
  CHECK(rank.memory_bytes == 4096);
  CHECK(rank.lines == 500);
  CHECK(rank.lines_per_second == Approx(5));
  CHECK(rank.last_line == "saved");
  CHECK(rank.progress == "epoch 1/3 step 50/50");
  CHECK(rank.progress_before == "epoch 1/3 step 45/50");
  CHECK(rank.progress_before_ms == 10'000);
  CHECK(rank.loss == "1.5");
  CHECK(rank.gpus == std::vector<std::string>{"GPU-1", "GPU-2"});
  CHECK(rank.gpu_percent == Approx(50));
  CHECK(rank.gpu_mean == Approx(50));
  CHECK(rank.gpu_memory_used == 30);
  CHECK(rank.gpu_memory_total == 160);
}

TEST_CASE("a clock that goes back is another pod's, and makes no rate") {
  RankHistory history;
  history.used(10'000, {7, 5'000'000, 1});
  history.used(4'000, {7, 0, 1});
  RankStatus rank;
  history.fill(rank);
  CHECK(rank.cpu == -1);
  history.used(6'000, {7, 1'000'000, 1});
  history.fill(rank);
  CHECK(rank.cpu == Approx(0.5));
}

TEST_CASE("rates of a pod come from its last two heartbeats") {
  StrainHistory history;
  CHECK(history.rates().cpu == -1);
  wire::PodCounters counters;
  counters.cpu_us = 1'000'000;
  counters.network_received = 1'000;
  history.add(Clock::time_point{std::chrono::seconds(10)}, counters);
  counters.cpu_us = 4'000'000;
  counters.network_received = 5'000;
  history.add(Clock::time_point{std::chrono::seconds(12)}, counters);
  CHECK(history.rates().cpu == Approx(1.5));
  CHECK(history.rates().network_received == Approx(2'000));
  CHECK(history.rates().network_sent == -1);
}

TEST_CASE("a status comes back from its JSON") {
  JobStatus status = job(2, 2);
  status.ended = JobEnd{3, "rank_failed", "rank 1 exited with code 3"};
  status.workers[1].used.gpu_list = {{"GPU-1", 40, 10, 80}};
  status.ranks[1].failed = true;
  status.ranks[1].gpus = {"GPU-1"};
  status.ranks[1].straggler = "CPU 2 %, median 99 % over 20 s";
  const auto back = job_status_from_json(to_json(status));
  REQUIRE(back);
  CHECK(to_json(*back) == to_json(status));
  CHECK(back->ended->exit_code == 3);
  CHECK(back->ranks[1].failed);
  CHECK(back->ranks[0].cpu == Approx(0.99));
  CHECK(back->workers[1].used.gpu_list.at(0).percent == 40);
  CHECK(top_text(*back, screen(160, 0)) == top_text(status, screen(160, 0)));
}

}  // namespace
}  // namespace muster
