// SPDX-License-Identifier: Apache-2.0
#include "base/json_text.h"
#include "base/text.h"
#include "catch.h"
#include "diagnosis/verdict.h"
#include "diagnosis/verdict_record.h"

using namespace muster;

namespace {

Verdict large() {
  Verdict verdict;
  verdict.code = "gpu_oom";
  verdict.exit_class = "rank_failed";
  verdict.exit_code = 1;
  verdict.confidence = Confidence::kLikely;
  verdict.headline = "Worker-2 ran out of GPU memory\nsecond line";
  verdict.cause = std::string(2000, 'c');
  for (int i = 0; i < 10; ++i) {
    verdict.evidence.push_back("evidence " + std::string(500, 'e'));
    verdict.also.push_back({"x", "also"});
  }
  verdict.remedies = {"one", "two", "three"};
  return verdict;
}

size_t lines_of(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

TEST_CASE("the text keeps its bounds and never loses the remedies") {
  for (const int limit : {3, 5, 12}) {
    const std::string text = verdict_text(large(), limit);
    CHECK(lines_of(text) <= static_cast<size_t>(limit));
    CHECK(text.find("fix 1: one") != std::string::npos);
    for (const auto line : split(text, '\n')) CHECK(line.size() <= 400);
  }
  CHECK(verdict_text(large()).find("fix 3: three") != std::string::npos);
}

TEST_CASE("the text fits into one record of a log") {
  Verdict verdict = large();
  verdict.evidence.assign(10, std::string(500, '"'));
  std::string record;
  append_json_string(record, verdict_text(verdict));
  CHECK(record.size() <= 3900);
  CHECK(record.find("fix 3: three") != std::string::npos);
}

TEST_CASE("the termination message is text first and fits") {
  for (const size_t limit : {256u, 1024u, 3584u}) {
    const std::string text = termination_message(large(), limit);
    CHECK(text.size() <= limit);
    CHECK(text.starts_with("Worker-2 ran out of GPU memory second line\n"));
  }
  Verdict small = large();
  small.cause = "short";
  small.evidence = {"seen"};
  const std::string text = termination_message(small);
  const size_t json = text.find("\n{\"verdict\":1,\"code\":\"gpu_oom\",");
  REQUIRE(json != std::string::npos);
  // No sentence is there twice.
  CHECK(text.find("evidence", json) == std::string::npos);
  CHECK(text.find("Worker-2", json) == std::string::npos);
  CHECK(text.size() - json < 200);
}

TEST_CASE("JSON has the documented fields, on one line") {
  const std::string text = verdict_json(large());
  CHECK(text.find('\n') == std::string::npos);
  for (const char* const field :
       {"\"code\":\"gpu_oom\"", "\"rank\":-1", "\"host\":\"\"",
        "\"confidence\":\"likely\"", "\"summary\":", "\"evidence\":[",
        "\"remedies\":[\"one\"", "\"exit_code\":1",
        "\"class\":\"rank_failed\""}) {
    INFO(field);
    CHECK(text.find(field) != std::string::npos);
  }
}

TEST_CASE("JSON for a record is short, whatever was seen") {
  Verdict verdict = large();
  CHECK(short_verdict_json(verdict, 1 << 16) == verdict_json(verdict));
  verdict.headline = std::string(5000, '"');
  verdict.cause = std::string(5000, '\n');
  verdict.evidence = {std::string(5000, '\\'), std::string(5000, 'e')};
  verdict.remedies = {std::string(5000, '"'), "two", "three"};
  const std::string text = short_verdict_json(verdict, 3072);
  CHECK(text.size() <= 3072);
  CHECK(text.starts_with("{\"verdict\":1,\"code\":\"gpu_oom\""));
  CHECK(text.ends_with("]}"));
}

TEST_CASE("a text cut inside a character stays UTF-8") {
  Verdict verdict = large();
  verdict.headline = std::string(398, 'x') + "…" + std::string(50, 'y');
  const std::string text = verdict_text(verdict);
  CHECK(text.substr(0, text.find('\n')) == std::string(398, 'x'));
}
