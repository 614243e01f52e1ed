// SPDX-License-Identifier: Apache-2.0
#include "logs/line_reader.h"

#include <thread>

#include "base/fd.h"
#include "catch.h"

using namespace muster;

TEST_CASE("lines come out whole, however they went in") {
  auto pipe = make_pipe();
  REQUIRE(pipe);
  const std::string huge(LineReader::kMaxLine + 1000, 'x');
  std::thread writer([&] {
    const std::string text = "a\n\nb\r\n" + huge + "\nlast";
    CHECK(write_all(pipe->write.get(), text));
    pipe->write.reset();
  });
  LineReader reader(pipe->read.get(), LineReader::From::kFile);
  CHECK(*reader.next() == "a");
  CHECK(reader.next()->empty());
  CHECK(*reader.next() == "b\r");
  CHECK(reader.next()->size() == LineReader::kMaxLine);
  CHECK(*reader.next() == std::string(1000, 'x'));
  CHECK(*reader.next() == "last");
  CHECK_FALSE(reader.next());
  CHECK(reader.error() == 0);
  writer.join();
}

TEST_CASE("UTF-16 is refused in a sentence, not read as lines of noise") {
  for (const std::string_view text : {"\xff\xfeL\0i\0\n\0", "\xfe\xff\0L"}) {
    auto pipe = make_pipe();
    REQUIRE(pipe);
    CHECK(write_all(pipe->write.get(), text));
    pipe->write.reset();
    LineReader reader(pipe->read.get(), LineReader::From::kFile);
    CHECK_FALSE(reader.next());
    CHECK(reader.error_text().find("iconv") != std::string::npos);
  }
}

TEST_CASE("a line that just fits has no empty piece behind it") {
  auto pipe = make_pipe();
  REQUIRE(pipe);
  const std::string full(LineReader::kMaxLine, 'x');
  std::thread writer([&] {
    CHECK(write_all(pipe->write.get(), full + "\nnext\n"));
    pipe->write.reset();
  });
  LineReader reader(pipe->read.get(), LineReader::From::kFile);
  CHECK(*reader.next() == full);
  CHECK(*reader.next() == "next");
  CHECK_FALSE(reader.next());
  writer.join();
}

TEST_CASE("a program may begin as a UTF-16 file does") {
  auto pipe = make_pipe();
  REQUIRE(pipe);
  CHECK(write_all(pipe->write.get(), "\xff\xfe raw\nnext\n"));
  pipe->write.reset();
  LineReader reader(pipe->read.get(), LineReader::From::kProgram);
  CHECK(*reader.next() == "\xff\xfe raw");
  CHECK(*reader.next() == "next");
}

TEST_CASE("an unreadable descriptor is told") {
  LineReader reader(-1, LineReader::From::kFile);
  CHECK_FALSE(reader.next());
  CHECK(reader.error() != 0);
}
