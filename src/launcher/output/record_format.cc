// SPDX-License-Identifier: Apache-2.0
#include "launcher/output/record_format.h"

#include <algorithm>
#include <charconv>

#include "base/json_text.h"
#include "job/hostfile.h"

namespace muster {

namespace {

// The fields between level and sequence, the same for all lines of a stream.
void append_origin(std::string& out, const LineOrigin& origin) {
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
}

void append_json_head(std::string& out, const LineOrigin& origin,
                      int64_t time_ns, uint64_t sequence) {
  out += "{\"timestamp\":\"";
  append_timestamp(out, time_ns);
  out += "\",\"level\":\"";
  out += origin.level;
  if (origin.json.empty()) {
    append_origin(out, origin);
  } else {
    out += origin.json;
  }
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, sequence);
  out.append(digits, static_cast<size_t>(end.ptr - digits));
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

int append_json(std::string& out, const LineOrigin& origin, int64_t time_ns,
                uint64_t sequence, std::string_view line) {
  if (origin.part == 0 && !origin.more && line.size() < kMaxRecord) {
    const size_t before = out.size();
    append_json_head(out, origin, time_ns, sequence);
    out += ",\"message\":";
    append_json_string(out, line);
    out += "}\n";
    if (out.size() - before <= kMaxRecord) return 0;
    out.resize(before);
  }
  std::string head;
  append_json_head(head, origin, time_ns, sequence);
  constexpr size_t kAround = 64;  // ,"message": ,"part":…,"last":… }
  const size_t room = head.size() + kAround < kMaxRecord
                          ? kMaxRecord - head.size() - kAround
                          : 256;
  std::string encoded;
  size_t taken = fitting_prefix(line, room, encoded);
  for (int part = origin.part + 1;; ++part) {
    line.remove_prefix(taken);
    out += head + ",\"part\":" + std::to_string(part) +
           ",\"last\":" + (line.empty() && !origin.more ? "true" : "false") +
           ",\"message\":" + encoded + "}\n";
    if (line.empty()) return part;
    taken = fitting_prefix(line, room, encoded);
  }
}

}  // namespace

std::string json_origin(const LineOrigin& origin) {
  std::string out;
  append_origin(out, origin);
  return out;
}

std::string text_tag(const LineOrigin& origin) {
  // Eight colours that are readable on dark and light terminals; one per rank.
  static constexpr int kColors[] = {36, 32, 33, 35, 34, 96, 92, 95};
  std::string out;
  if (origin.color) {
    const int color = kColors[std::max(origin.rank, 0) % 8];
    out += "\x1b[" + std::to_string(color) + "m";
  }
  out += '[';
  if (origin.rank >= 0) {
    out += std::to_string(origin.rank);
    out += '|';
    out += first_label(origin.host);  // the pod; records have the whole name
  } else {
    out += origin.source;
  }
  out += ']';
  if (origin.color) out += "\x1b[0m";
  out += ' ';
  return out;
}

std::string mpi_tag(MpiTags tags, const LineOrigin& origin) {
  if (tags == MpiTags::kNone || origin.rank < 0) return {};
  const std::string rank = std::to_string(origin.rank);
  if (tags == MpiTags::kHydra) return "[" + rank + "] ";
  return "[1," + rank + "]<" + std::string(origin.stream) +
         (tags == MpiTags::kOpenMpi5 ? ">: " : ">:");
}

int append_record(std::string& out, LogFormat format, const LineOrigin& origin,
                  int64_t time_ns, uint64_t sequence, std::string_view line) {
  switch (format) {
    case LogFormat::kText:
      if (origin.tag.empty()) {
        out += text_tag(origin);
      } else {
        out += origin.tag;
      }
      out += line;
      out += '\n';
      return 0;
    case LogFormat::kPlain:
      out += origin.mpi_tag;
      out += line;
      out += '\n';
      return 0;
    case LogFormat::kJson:
      return append_json(out, origin, time_ns, sequence, line);
  }
  return 0;
}

}  // namespace muster
