// SPDX-License-Identifier: Apache-2.0
// A log arrives as a tool shows it: kubectl with times or names of pods, stern,
// a code block of a report, a Windows editor. Whose failure it was, and what,
// stays the same; the launcher's pod only relays.
#include <array>

#include "corpus.h"
#include "diagnosis/log/log_evidence.h"
#include "diagnosis/verdict.h"
#include "sweep.h"

using namespace muster;

namespace {

struct Tool {
  std::string name;
  std::string before;
  std::string after;
};

std::string shown_by(const Tool& tool, const std::string& log) {
  std::string text;
  for (const std::string_view line : split(log, '\n')) {
    text += tool.before;
    text += line;
    text += tool.after + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("the tool that shows a log changes no verdict") {
  const std::array<Tool, 6> tools = {
      {{"kubectl logs --timestamps", "2026-03-11T09:14:02.370000000Z ", ""},
       {"kubectl logs --prefix", "[pod/pi-launcher-x7k2p/main] ", ""},
       {"kubectl logs --prefix, Trainer v2",
        "[pod/pi-launcher-0-0-x7k2p/node] ", ""},
       {"stern", "pi-launcher-x7k2p mpi ", ""},
       {"a code block", "    ", ""},
       {"an editor", "", "\r"}}};
  const std::string directory = std::string(MUSTER_CORPUS) + "/ranks";
  size_t start = 0;
  for (const Expected& expected : read_expected(directory)) {
    const auto log = read_file(directory + "/" + expected.file);
    REQUIRE(log);
    Sweep sweep(start++);
    for (const Tool& tool : tools) {
      if (!sweep.takes()) continue;
      const std::string text = shown_by(tool, *log);
      const Verdict verdict =
          diagnose(evidence_from_log(text, RuleBook::built_in()));
      INFO(expected.file << " as " << tool.name << " shows it\n"
                         << verdict_text(verdict));
      CHECK(is_right(verdict.code, expected.code));
      if (expected.rank >= 0) CHECK(verdict.first_rank == expected.rank);
      if (!expected.host.empty()) CHECK(verdict.host == expected.host);
    }
  }
}
