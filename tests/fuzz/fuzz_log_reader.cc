// SPDX-License-Identifier: Apache-2.0
// Any bytes as a log that `muster logs` reads: the reader gives every line
// once, and joining parts makes no line longer than its bound.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "logs/line_reader.h"
#include "logs/log_filter.h"
#include "logs/part_joiner.h"

namespace {

int file_of(std::string_view text) {
  const int fd = ::memfd_create("log", MFD_CLOEXEC);
  if (::write(fd, text.data(), text.size()) !=
          static_cast<ssize_t>(text.size()) ||
      ::lseek(fd, 0, SEEK_SET) != 0) {
    std::abort();
  }
  return fd;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace muster;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const int fd = file_of(text);
  LineReader reader(fd, LineReader::From::kProgram);
  PartJoiner joiner;
  LogFilter filter;
  filter.level = LogLevel::kWarn;
  std::string again;
  const auto take = [&filter](const ParsedLine& line) {
    if (line.message.size() > PartJoiner::kMaxLine) std::abort();
    static_cast<void>(filter.wants(line, LogLevel::kInfo));
  };
  while (const auto line = reader.next()) {
    again.append(*line);
    again += '\n';
    if (const auto whole = joiner.add(parse_line(*line))) take(*whole);
  }
  for (const ParsedLine& line : joiner.rest()) take(line);
  ::close(fd);
  std::string wanted(text);
  if (!wanted.empty() && wanted.back() != '\n') wanted += '\n';
  if (size < LineReader::kMaxLine && again != wanted) std::abort();
  return 0;
}
