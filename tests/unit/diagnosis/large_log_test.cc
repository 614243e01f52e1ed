// SPDX-License-Identifier: Apache-2.0
// The cost of a log is bounded at any size: the bytes that are kept, and
// the candidates that compete.
#include <numeric>

#include "catch.h"
#include "diagnosis/cause/candidate.h"
#include "diagnosis/cause/repeats.h"
#include "diagnosis/log/kept_lines.h"
#include "diagnosis/log/log_evidence.h"
#include "diagnosis/verdict.h"

using namespace muster;

namespace {

KeptLines::Line line(int64_t place, std::string text) {
  return {{place, false, std::move(text)}, {}};
}

// By writer, the places of what is kept.
std::map<int, std::vector<int64_t>> places(KeptLines& kept) {
  std::map<int, std::vector<int64_t>> out;
  for (const auto& [writer, one] : kept.take()) {
    out[writer].push_back(one.line.time_ns);
  }
  return out;
}

std::string tagged(int rank, const std::string& text) {
  return "[rank" + std::to_string(rank) + "]: " + text;
}

size_t kept_bytes(const Evidence& evidence) {
  size_t bytes = 0;
  for (const RankEvidence& rank : evidence.ranks) {
    for (const LineEvidence& one : rank.lines) bytes += one.text.size();
  }
  for (const LineEvidence& one : evidence.job.tool_lines) {
    bytes += one.text.size();
  }
  return bytes;
}

}  // namespace

TEST_CASE("kept lines stay within one budget for all writers") {
  constexpr size_t kBudget = 8 << 20;
  constexpr int kWriters = 500;
  KeptLines kept(kBudget);
  const std::string text(3000, 'x');
  size_t most = 0;
  for (int64_t i = 0; i < 40; ++i) {
    for (int writer = 0; writer < kWriters; ++writer) {
      const auto kind = static_cast<KeptLines::Kind>(i % 3);
      kept.add(writer, line(i, text), kind);
      most = std::max(most, kept.bytes());
    }
  }
  CHECK(most <= kBudget);
  CHECK(most > kBudget / 2);
  const auto all = places(kept);
  REQUIRE(all.size() == kWriters);
  for (const auto& [writer, own] : all) {
    INFO(writer);
    CHECK(own.size() == all.at(0).size());  // fair
    CHECK(own.front() == 2);                // the first alarm …
    CHECK(own.back() == 39);                // … and the last lines
  }
  CHECK(kept.bytes() == 0);
}

TEST_CASE("who wrote little loses nothing to who wrote much") {
  KeptLines kept(1 << 20);
  for (int64_t i = 0; i < 3; ++i) {
    kept.add(7, line(i, "short"), KeptLines::Kind::kUnknown);
  }
  for (int writer = 10; writer < 20; ++writer) {
    for (int64_t i = 0; i < 400; ++i) {
      kept.add(writer, line(i, std::string(2000, 'x')),
               KeptLines::Kind::kAlarm);
    }
  }
  const auto all = places(kept);
  CHECK(all.at(7) == std::vector<int64_t>{0, 1, 2});
  for (int writer = 10; writer < 20; ++writer) {
    CHECK(all.at(writer).size() > 10);
    CHECK(all.at(writer).front() == 0);
    CHECK(all.at(writer).back() == 399);
  }
}

TEST_CASE("below the budget a writer keeps its first and last lines") {
  KeptLines kept;
  for (int64_t i = 0; i < 1000; ++i) {
    kept.add(0, line(i, "known"), KeptLines::Kind::kKnown);
    kept.add(0, line(i, "unknown"), KeptLines::Kind::kUnknown);
  }
  const auto own = places(kept).at(0);
  CHECK(own.size() == 412);
  CHECK(own[199] == 199);
  CHECK(own[200] == 800);
  CHECK(own.back() == 999);
}

TEST_CASE("a line larger than what a writer may hold is not kept") {
  KeptLines kept(KeptLines::kMaxWriters);  // a byte for each
  kept.add(0, line(0, std::string(4096, 'x')), KeptLines::Kind::kAlarm);
  CHECK(kept.bytes() == 0);
  CHECK(kept.take().empty());
}

TEST_CASE("candidates grow with ranks, not with lines") {
  const auto count = [](int ranks, int lines) {
    LogEvidence log(RuleBook::built_in());
    for (int i = 0; i < lines; ++i) {
      for (int rank = 0; rank < ranks; ++rank) {
        log.add(tagged(rank, "KeyboardInterrupt"));
        log.add(tagged(rank, "RuntimeError: no. " + std::to_string(i)));
      }
    }
    const Evidence evidence = log.take();
    return scan_lines(evidence, RuleBook::built_in()).candidates.size();
  };
  const size_t once = count(20, 20);
  CHECK(once >= 2 * 20 * 2 * kRepeats);
  CHECK(count(20, 80) == once);
  CHECK(count(40, 20) == 2 * once);
}

TEST_CASE("a log of long lines by many ranks is judged within the budget") {
  constexpr int kRanks = 3000;
  const std::string rest(4000, 'x');
  LogEvidence log(RuleBook::built_in());
  for (int i = 0; i < 4; ++i) {
    for (int rank = 0; rank < kRanks; ++rank) {
      log.add(tagged(rank, i == 0 ? "KeyError: 'labels' " + rest : rest));
    }
  }
  const Evidence evidence = log.take();
  CHECK(kept_bytes(evidence) <= KeptLines::kBudget);
  REQUIRE(evidence.ranks.size() == kRanks);
  const Verdict verdict = diagnose(evidence);
  CHECK(verdict.code == "python_exception");
  CHECK(verdict.equal_failures == kRanks);
}

TEST_CASE("of what is repeated the first and the last count") {
  const RuleBook& rules = RuleBook::built_in();
  std::vector<Candidate> found(40);
  for (size_t i = 0; i < found.size(); ++i) {
    found[i].rule = rules.find(i == 20 ? "gpu_oom" : "nccl_error");
    found[i].order = i;
  }
  drop_repeats(found);
  REQUIRE(found.size() == 2 * kRepeats + 1);
  CHECK(found[kRepeats - 1].order == kRepeats - 1);
  CHECK(found[kRepeats].order == 20);
  CHECK(found.back().order == 39);
}
