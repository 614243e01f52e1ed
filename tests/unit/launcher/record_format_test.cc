// SPDX-License-Identifier: Apache-2.0
// The three forms of a line, byte for byte, and the promises of docs/log-
// schema.md: valid JSON, at most 4 KiB, nothing lost between parts.
#include "launcher/output/record_format.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "catch.h"

namespace muster {
namespace {

constexpr int64_t kTime = 1'700'000'000'123'456'789;

LineOrigin origin_of_rank(int rank) {
  LineOrigin origin;
  origin.rank = rank;
  origin.host = "w-3";
  origin.stream = "stdout";
  return origin;
}

std::string record(LogFormat format, std::string_view line,
                   LineOrigin origin = origin_of_rank(12)) {
  std::string out;
  append_record(out, format, origin, kTime, 7, line);
  return out;
}

// Checks every record and puts the message together again.
std::string joined(const std::string& text, size_t* parts = nullptr) {
  std::string message;
  size_t count = 0;
  REQUIRE(text.ends_with('\n'));
  for (const auto line :
       split(std::string_view(text).substr(0, text.size() - 1), '\n')) {
    CHECK(line.size() < kMaxRecord);
    const auto json = nlohmann::json::parse(line, nullptr, false);
    REQUIRE(json.is_object());
    ++count;
    if (json.contains("part")) CHECK(json["part"] == count);
    message += json["message"].get<std::string>();
  }
  if (parts != nullptr) *parts = count;
  return message;
}

TEST_CASE("text") {
  CHECK(record(LogFormat::kText, "step 1") == "[12|w-3] step 1\n");
  CHECK(record(LogFormat::kText, "") == "[12|w-3] \n");
  LineOrigin tool;
  tool.source = "mpirun";
  CHECK(record(LogFormat::kText, "x", tool) == "[mpirun] x\n");
  LineOrigin colored = origin_of_rank(1);
  colored.color = true;
  CHECK(record(LogFormat::kText, "x", colored) == "\x1b[32m[1|w-3]\x1b[0m x\n");
}

TEST_CASE("plain is what the rank wrote") {
  CHECK(record(LogFormat::kPlain, "step 1") == "step 1\n");
  const std::string bytes("a\0\xff\x1b[1m", 7);
  CHECK(record(LogFormat::kPlain, bytes) == bytes + "\n");
}

TEST_CASE("plain lines may carry the labels of the MPI") {
  LineOrigin origin = origin_of_rank(3);
  origin.stream = "stderr";
  const std::string open_mpi = mpi_tag(MpiTags::kOpenMpi, origin);
  origin.mpi_tag = open_mpi;
  CHECK(record(LogFormat::kPlain, "x", origin) == "[1,3]<stderr>:x\n");
  CHECK(mpi_tag(MpiTags::kOpenMpi5, origin) == "[1,3]<stderr>: ");
  CHECK(mpi_tag(MpiTags::kHydra, origin) == "[3] ");
  CHECK(mpi_tag(MpiTags::kNone, origin).empty());
  CHECK(mpi_tag(MpiTags::kHydra, LineOrigin{}).empty());
}

TEST_CASE("JSON, field by field") {
  CHECK(record(LogFormat::kJson, "step 1") ==
        "{\"timestamp\":\"2023-11-14T22:13:20.123456789Z\",\"level\":\"info\","
        "\"rank\":12,\"host\":\"w-3\",\"stream\":\"stdout\",\"seq\":7,"
        "\"message\":\"step 1\"}\n");
  LineOrigin tool;
  tool.source = "mpirun";
  tool.host = "l";
  tool.stream = "stderr";
  tool.level = "error";
  tool.progress = true;
  CHECK(record(LogFormat::kJson, "x", tool) ==
        "{\"timestamp\":\"2023-11-14T22:13:20.123456789Z\",\"level\":\"error\""
        ",\"rank\":null,\"source\":\"mpirun\",\"host\":\"l\","
        "\"stream\":\"stderr\",\"seq\":7,\"progress\":true,"
        "\"message\":\"x\"}\n");
}

TEST_CASE("JSON of any bytes is one valid line") {
  for (const std::string& line :
       {std::string("nul \0 inside", 12),
        std::string("quote \" back \\ tab \t"),
        std::string("\x1b[31mred\x1b[0m\r"), std::string("\xff\xfe\x80"),
        std::string("\xc3"), std::string("\xed\xa0\x80"), std::string()}) {
    const std::string out = record(LogFormat::kJson, line);
    CHECK(std::count(out.begin(), out.end(), '\n') == 1);
    joined(out);
  }
  CHECK(joined(record(LogFormat::kJson, std::string_view("a\0b", 3))) ==
        std::string("a\0b", 3));
}

TEST_CASE("long lines come in numbered parts, the last one marked") {
  std::string line;
  for (int i = 0; line.size() < 20'000; ++i) line += std::to_string(i) + " ";
  const std::string out = record(LogFormat::kJson, line);
  size_t parts = 0;
  CHECK(joined(out, &parts) == line);
  CHECK(parts == 6);
  const auto lines = split(out, '\n');
  CHECK(lines[0].find("\"part\":1,\"last\":false") != std::string::npos);
  CHECK(lines[parts - 1].find("\"last\":true") != std::string::npos);
}

TEST_CASE("a part never ends inside a character") {
  for (const std::string unit : {"é", "€", "😀", "\"", "\\", "\x01"}) {
    for (size_t shift = 0; shift < 4; ++shift) {
      std::string line(shift, 'x');
      while (line.size() < 9'000) line += unit;
      INFO(unit << " " << shift);
      CHECK(joined(record(LogFormat::kJson, line)) == line);
    }
  }
}

TEST_CASE("bytes around the limit") {
  for (size_t size = 3'800; size < 4'100; ++size) {
    const std::string line(size, 'x');
    CHECK(joined(record(LogFormat::kJson, line)) == line);
  }
}

TEST_CASE("binary output is repaired without being blown up") {
  // A rank that prints a dump: nothing but continuation bytes.
  const std::string line(64 << 10, '\x80');
  size_t parts = 0;
  const std::string out = record(LogFormat::kJson, line);
  joined(out, &parts);
  CHECK(parts < 200);
  CHECK(out.size() < 10 * line.size());
}

TEST_CASE("an absurd host name still gives parts that end") {
  LineOrigin origin = origin_of_rank(0);
  const std::string host(5'000, 'h');
  origin.host = host;
  std::string out;
  append_record(out, LogFormat::kJson, origin, kTime, 1,
                std::string(1'000, 'x'));
  CHECK(out.size() < 60'000);
}

}  // namespace
}  // namespace muster
