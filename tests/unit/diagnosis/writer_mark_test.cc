// SPDX-License-Identifier: Apache-2.0
// The ways in which launchers, libraries and log tools mark whose line it is.
#include "diagnosis/log/writer_mark.h"

#include "base/fd.h"
#include "base/text.h"
#include "catch.h"
#include "diagnosis/log/log_evidence.h"
#include "diagnosis/verdict.h"

using namespace muster;

TEST_CASE("every usual mark of rank and host is known") {
  const auto text = read_file(MUSTER_CORPUS "/origins.tsv");
  REQUIRE(text);
  size_t rows = 0;
  for (const std::string_view row : split(*text, '\n')) {
    if (row.empty() || row.front() == '#') continue;
    const size_t tab = row.find('\t');
    REQUIRE(tab != std::string_view::npos);
    std::string log(row.substr(tab + 1));
    for (size_t at; (at = log.find("\\n")) != std::string::npos;) {
      log.replace(at, 2, "\n");
    }
    const Verdict verdict =
        diagnose(evidence_from_log(log, RuleBook::built_in()));
    INFO(row << "\n" << verdict_text(verdict));
    CHECK(verdict.failed());
    CHECK(std::to_string(verdict.first_rank) + ":" + verdict.host ==
          row.substr(0, tab));
    ++rows;
  }
  CHECK(rows >= 80);
}

TEST_CASE("what only looks like a mark stays in the line") {
  for (const char* const line :
       {"process 0 terminated with exit code 1", "worker 3: out of slots",
        "[3/8] compiling", "sending to [rank 3] failed",
        "[0]:", "rank 3 waits for rank 4", "(3) no such file", "error-12: x",
        "GPU0: out of memory", "cuda:0: x", "layer-3: x",
        "node-2: task 3: Exited with exit code 1",
        "node-4: rank 5 died from signal 9", "Nov 21 it broke: yes", "", "[",
        "x-worker-3", "Rank 3:text", "rank"}) {
    const WriterMark mark = read_writer_mark(line);
    INFO(line);
    CHECK(mark.rank == -1);
    CHECK(mark.host.empty());
    CHECK(mark.rest == line);
  }
}

TEST_CASE("a logging library's head is taken off") {
  CHECK(behind_logger_head("ERROR:__main__:MemoryError") == "MemoryError");
  CHECK(behind_logger_head("2026-11-21 08:00:00,123 - x - ERROR - a b") ==
        "a b");
  CHECK(behind_logger_head("E1121 08:00:00.0 77 x.py:3] [rank3] a") ==
        "[rank3] a");
  CHECK(behind_logger_head("[t] [ERROR] [launch.py:3:x] [Rank 3] a b") ==
        "a b");
  CHECK(behind_logger_head("epoch 3 loss 0.2").empty());
  for (const char* const bare :
       {"--> FOAM FATAL ERROR: ", "ERROR", "ERROR ", "ERROR - ", "FATAL : - ",
        "[t] [ERROR] [Rank 3] ", "E1121 08:00:00.0 77 x.py:3] "}) {
    INFO(bare);
    CHECK(behind_logger_head(bare).empty());
  }
}

TEST_CASE("labels of PALS behind a full host name, and of HPE's MPT") {
  const WriterMark pals =
      read_writer_mark("dec0314.hsn.hpc.example 2:  ERROR:");
  CHECK(pals.rank == 2);
  CHECK(pals.host == "dec0314.hsn.hpc.example");
  CHECK(read_writer_mark("www3.solver.example 2 of 3 done").rank < 0);
  const WriterMark mpt = read_writer_mark("459:MPT ERROR: Rank 459(g:459) is");
  CHECK(mpt.rank == 459);
  CHECK(mpt.rest.starts_with("MPT ERROR"));
  CHECK(read_writer_mark("12:30 MPT started").rank < 0);
}
