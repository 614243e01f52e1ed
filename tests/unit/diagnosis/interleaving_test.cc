// SPDX-License-Identifier: Apache-2.0
// Output of several ranks arrives in any order: a victim's last words may come
// before the cause, and a launcher's epilogue before both. Each log of
// tests/diagnosis/ranks is taken apart by its tags and put together again in
// other orders, in which each writer keeps its own; the verdict must stay.
#include <cstdio>
#include <map>
#include <random>
#include <set>

#include "corpus.h"
#include "diagnosis/log/log_evidence.h"
#include "diagnosis/verdict.h"
#include "logs/line_origin.h"
#include "sweep.h"

using namespace muster;

namespace {

constexpr int kOrders = 12;

using Streams = std::vector<std::vector<std::string>>;  // the first: untagged

// The tag of a line, with which launchers and kubectl mark it.
std::string tag_of(std::string_view line) {
  const ParsedLine parsed = parse_line(line);
  if (parsed.rank >= 0) return std::to_string(parsed.rank);
  if (!parsed.host.empty()) return parsed.host;
  for (const std::string_view mark : {"pod/", "(worker-", "rank "}) {
    if (line.starts_with(mark)) {
      return std::string(line.substr(0, line.find_first_of(":)", 5)));
    }
  }
  return {};
}

std::string_view first_words(std::string_view line) {
  return line.substr(0, line.find(' '));
}

Streams take_apart(const std::string& text) {
  Streams streams(1);
  std::map<std::string, size_t> known{{"", 0}};
  for (const std::string_view line : split(text, '\n')) {
    std::string tag = tag_of(line);
    if (tag.starts_with("pod/")) tag = first_words(line);
    const auto [at, added] = known.emplace(tag, streams.size());
    if (added) streams.emplace_back();
    streams[at->second].emplace_back(line);
  }
  return streams;
}

// Lines come in bursts: a rank writes a traceback at once, a launcher its whole
// epilogue.
std::string put_together(Streams streams, bool epilogue_last,
                         std::mt19937& random) {
  std::string text;
  const auto move_lines = [&text](std::vector<std::string>& from, size_t most) {
    const size_t count = std::min(most, from.size());
    for (size_t i = 0; i < count; ++i) text += from[i] + '\n';
    from.erase(from.begin(), from.begin() + static_cast<ptrdiff_t>(count));
  };
  std::vector<std::string> epilogue = std::move(streams[0]);
  if (epilogue_last) {
    streams.erase(streams.begin());
  } else {
    streams[0] = std::move(epilogue);
  }
  while (!streams.empty()) {
    const size_t which = random() % streams.size();
    const bool launcher = !epilogue_last && streams[which] == streams.front();
    move_lines(streams[which], launcher ? SIZE_MAX : 1 + random() % 6);
    std::erase_if(streams, [](const auto& left) { return left.empty(); });
  }
  if (epilogue_last) move_lines(epilogue, SIZE_MAX);
  return text;
}

Verdict judge(const std::string& text) {
  return diagnose(evidence_from_log(text, RuleBook::built_in()));
}

void check(const Expected& expected, const std::string& text) {
  const Verdict verdict = judge(text);
  INFO(expected.file << "\n" << text << "\n" << verdict_text(verdict));
  CHECK(is_right(verdict.code, expected.code));
  if (expected.rank >= 0) CHECK(verdict.first_rank == expected.rank);
  if (!expected.host.empty()) CHECK(verdict.host == expected.host);
}

// Of `only`, if it names any; how many have several writers.
size_t check_orders(const std::string& folder,
                    const std::set<std::string>& only, std::mt19937& random) {
  const std::string directory = std::string(MUSTER_CORPUS) + "/" + folder;
  size_t taken_apart = 0;
  for (const Expected& expected : read_expected(directory)) {
    if (!only.empty() && !only.contains(expected.file)) continue;
    const auto text = read_file(directory + "/" + expected.file);
    REQUIRE(text);
    check(expected, *text);
    const Streams streams = take_apart(*text);
    if (streams.size() < 3) continue;
    ++taken_apart;
    Sweep sweep(taken_apart);
    for (int i = 0; i < kOrders; ++i) {
      if (!sweep.takes()) continue;
      check(expected, put_together(streams, i % 2 == 0, random));
    }
  }
  return taken_apart;
}

}  // namespace

TEST_CASE("logs of several ranks get the right verdict in whatever order") {
  std::mt19937 random(20261122);
  const size_t taken_apart = check_orders("ranks", {}, random);
  std::printf("ranks: %zu logs in %d other orders each\n", taken_apart,
              kOrders);
  CHECK(taken_apart >= 40);
}

// A launcher that kills the rest, and ranks that name the one that failed.
TEST_CASE("who was killed after a crash is not the first, whoever is heard") {
  std::mt19937 random(20261122);
  CHECK(check_orders("heldout",
                     {"impi_forrtl_sigsegv.log", "ucx_mm_posix_shm.log",
                      "nemo_zerodivision.log"},
                     random) == 3);
}
