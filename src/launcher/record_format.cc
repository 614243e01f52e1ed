// SPDX-License-Identifier: Apache-2.0
#include "launcher/record_format.h"

#include <algorithm>

#include "base/json_text.h"

namespace muster {

namespace {

void append_text(std::string& out, const LineOrigin& origin,
                 std::string_view line) {
  // Eight colours that are readable on dark and light terminals; one per rank.
  static constexpr int kColors[] = {36, 32, 33, 35, 34, 96, 92, 95};
  if (origin.color) {
    const int color = kColors[std::max(origin.rank, 0) % 8];
    out += "\x1b[" + std::to_string(color) + "m";
  }
  out += '[';
  if (origin.rank >= 0) {
    out += std::to_string(origin.rank);
    out += '|';
    out += origin.host;
  } else {
    out += origin.source;
  }
  out += ']';
  if (origin.color) out += "\x1b[0m";
  out += ' ';
  out += line;
  out += '\n';
}

void append_json_head(std::string& out, const LineOrigin& origin,
                      int64_t time_ns, uint64_t sequence) {
  out += "{\"timestamp\":\"";
  append_timestamp(out, time_ns);
  out += "\",\"level\":\"";
  out += origin.level;
  out += "\",\"rank\":";
  out += origin.rank >= 0 ? std::to_string(origin.rank) : "null";
  if (origin.rank < 0) {
    out += ",\"source\":";
    append_json_string(out, origin.source);
  }
  out += ",\"host\":";
  append_json_string(out, origin.host);
  out += ",\"stream\":\"";
  out += origin.stream;
  out += "\",\"seq\":";
  out += std::to_string(sequence);
  if (origin.progress) out += ",\"progress\":true";
}

// The longest prefix of `line` whose JSON string takes at most `room` bytes
// and that does not end inside a UTF-8 sequence.
size_t fitting_prefix(std::string_view line, size_t room,
                      std::string& encoded) {
  size_t take = std::min(line.size(), room);
  for (;;) {
    // A character has at most three continuation bytes; more is no UTF-8.
    size_t end = take;
    while (end > 1 && end < line.size() && take - end < 4 &&
           (static_cast<unsigned char>(line[end]) & 0xc0) == 0x80) {
      --end;
    }
    if (take - end < 4) take = end;
    encoded.clear();
    append_json_string(encoded, line.substr(0, take));
    if (encoded.size() <= room || take <= 1) return take;
    take = std::max<size_t>(1, take * room / encoded.size());
  }
}

void append_json(std::string& out, const LineOrigin& origin, int64_t time_ns,
                 uint64_t sequence, std::string_view line) {
  std::string head;
  append_json_head(head, origin, time_ns, sequence);
  constexpr size_t kAround = 64;  // ,"message": ,"part":…,"last":… }
  const size_t room =
      head.size() + kAround < kMaxRecord ? kMaxRecord - head.size() - kAround
                                         : 256;
  std::string encoded;
  size_t taken = fitting_prefix(line, room, encoded);
  if (taken == line.size()) {
    out += head + ",\"message\":" + encoded + "}\n";
    return;
  }
  for (int part = 1;; ++part) {
    line.remove_prefix(taken);
    out += head + ",\"part\":" + std::to_string(part) +
           ",\"last\":" + (line.empty() ? "true" : "false") +
           ",\"message\":" + encoded + "}\n";
    if (line.empty()) return;
    taken = fitting_prefix(line, room, encoded);
  }
}

}  // namespace

void append_record(std::string& out, LogFormat format, const LineOrigin& origin,
                   int64_t time_ns, uint64_t sequence, std::string_view line) {
  switch (format) {
    case LogFormat::kText:
      append_text(out, origin, line);
      return;
    case LogFormat::kPlain:
      out += line;
      out += '\n';
      return;
    case LogFormat::kJson:
      append_json(out, origin, time_ns, sequence, line);
      return;
  }
}

}  // namespace muster
