// SPDX-License-Identifier: Apache-2.0
// Every message that the tables of tests/diagnosis/messages list, by program:
// alone, and before the ways in which launchers report the end of a job. See
// tests/diagnosis/README.md.
#include <algorithm>
#include <array>
#include <cstdio>

#include "base/fd.h"
#include "base/text.h"
#include "catch.h"
#include "diagnosis/log/log_evidence.h"
#include "diagnosis/verdict.h"

using namespace muster;

namespace {

const std::string kFolder = MUSTER_CORPUS "/messages/";
constexpr std::array kEnds = {"ends/mpirun.log", "ends/torchrun.log",
                              "ends/srun.log"};

std::string text_of(const std::string& name) {
  auto text = read_file(kFolder + name);
  INFO(name);
  REQUIRE(text);
  return *std::move(text);
}

// A row is "code[|code…][:rank[:host]]", a tab, and the message, in which \n
// and \t stand for themselves.
struct Row {
  std::string codes;
  std::string rank;
  std::string host;
  std::string message;
};

std::string unescape(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (text[i] == '\\' && (next == 'n' || next == 't')) {
      plain += next == 'n' ? '\n' : '\t';
      ++i;
    } else {
      plain += text[i];
    }
  }
  return plain + "\n";
}

std::vector<Row> read_table(const std::string& name) {
  const std::string text = text_of(name);
  std::vector<Row> rows;
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty() || line.front() == '#') continue;
    const size_t tab = line.find('\t');
    INFO(name << ": " << line);
    REQUIRE(tab != std::string_view::npos);
    const auto head = split(line.substr(0, tab), ':');
    Row row;
    row.codes = head[0];
    if (head.size() > 1) row.rank = head[1];
    if (head.size() > 2) row.host = head[2];
    row.message = unescape(line.substr(tab + 1));
    rows.push_back(std::move(row));
  }
  return rows;
}

bool is_one_of(const std::string& code, const std::string& codes) {
  const auto all = split(codes, '|');
  return std::find(all.begin(), all.end(), code) != all.end();
}

Verdict judge(const std::string& text) {
  return diagnose(evidence_from_log(text, RuleBook::built_in()));
}

void expect(const std::string& text, const std::string& codes) {
  const Verdict verdict = judge(text);
  INFO(text << "wanted: " << codes << "\n" << verdict_text(verdict));
  CHECK(is_one_of(verdict.code, codes));
}

void check_table(const std::string& program) {
  static const std::string before =
      "epoch 0 step 10 loss 2.31\nepoch 0 step 20 loss 2.12\n";
  const std::vector<Row> rows = read_table(program + ".tsv");
  size_t judged = 0;  // the ends take turns
  for (const Row& row : rows) {
    const Verdict alone = judge(row.message);
    INFO(row.message << "wanted: " << row.codes << "\n" << verdict_text(alone));
    CHECK(is_one_of(alone.code, row.codes));
    if (!row.rank.empty()) CHECK(std::to_string(alone.first_rank) == row.rank);
    if (!row.host.empty()) CHECK(alone.host == row.host);
    if (row.codes == "no_failure") {
      expect(before + row.message + "epoch 1 step 30 loss 2.0\n" +
                 "Training finished successfully\n",
             "no_failure");
      expect(before + row.message + text_of("ends/segfault.log"), "segfault");
      continue;
    }
    const char* const end = kEnds[++judged % kEnds.size()];
    expect(before + row.message + text_of(end), row.codes);
  }
  std::printf("messages/%-12s %4zu right\n", program.c_str(), rows.size());
}

}  // namespace

TEST_CASE("what programs print about a failure leads to its class") {
  for (const char* const program :
       {"cuda",    "epilogues",  "families", "fortran",  "frameworks",
        "kernel",  "kubernetes", "loader",   "mpich",    "nccl",
        "ofi",     "openmpi",    "python",   "slurm",    "ssh",
        "storage", "torch",      "ucx",      "wordings", "xid"}) {
    check_table(program);
  }
}
