// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/log/kept_lines.h"

#include <algorithm>
#include <iterator>

namespace muster {

namespace {

constexpr size_t kMaxKnown = 400;  // per writer; half first, half last
constexpr size_t kMaxUnknown = 12;
constexpr size_t kFewUnknown = 2;  // those stay until known lines have to go
constexpr size_t kAllocation = 32;

size_t size_of(const KeptLines::Line& kept) {
  constexpr size_t kInPlace = sizeof(std::string) / 2;
  const auto text = [](const std::string& one) {
    return one.size() < kInPlace ? 0 : one.size() + kAllocation;
  };
  return sizeof(kept) + text(kept.line.text) + text(kept.line.host);
}

}  // namespace

void KeptLines::push(Part& part, Kept kept) {
  const size_t size = size_of(kept.line);
  part.bytes += size;
  bytes_ += size;
  part.lines.push_back(std::move(kept));
}

void KeptLines::erase(Part& part, std::deque<Kept>::iterator at) {
  const size_t size = size_of(at->line);
  part.bytes -= size;
  bytes_ -= size;
  part.lines.erase(at);
}

void KeptLines::add(int number, Line line, Kind kind) {
  Writer& writer = writers_[number];
  line.line.text.shrink_to_fit();
  Kept kept{std::move(line), kind == Kind::kAlarm};
  if (kind == Kind::kUnknown) {
    push(writer.unknown, std::move(kept));
    if (writer.unknown.lines.size() > kMaxUnknown) {
      erase(writer.unknown, writer.unknown.lines.begin());
    }
  } else if (!writer.later && writer.first.lines.size() < kMaxKnown / 2) {
    // The first ones hold the cause, the last ones the end.
    push(writer.first, std::move(kept));
  } else {
    writer.later = true;
    push(writer.last, std::move(kept));
    if (writer.last.lines.size() > kMaxKnown / 2) {
      erase(writer.last, writer.last.lines.begin());
    }
  }
  trim(writer);
  while (bytes_ > budget_ && each_ > budget_ / (kMaxWriters + 1)) shrink();
}

void KeptLines::drop_one(Writer& writer) {
  const bool spare = writer.unknown.lines.size() > kFewUnknown;
  if (spare || (writer.first.lines.size() <= 1 && writer.last.lines.empty())) {
    erase(writer.unknown.lines.empty() ? writer.first : writer.unknown,
          writer.unknown.lines.empty() ? writer.first.lines.begin()
                                       : writer.unknown.lines.begin());
    return;
  }
  writer.later = true;
  if (!writer.last.lines.empty() && (writer.first.lines.size() <= 1 ||
                                     writer.last.bytes >= writer.first.bytes)) {
    erase(writer.last, writer.last.lines.begin());
    return;
  }
  auto& lines = writer.first.lines;
  const auto quiet = std::find_if(lines.rbegin(), lines.rend(),
                                  [](const Kept& one) { return !one.alarm; });
  erase(writer.first, quiet == lines.rend() ? std::prev(lines.end())
                                            : std::prev(quiet.base()));
}

void KeptLines::trim(Writer& writer) {
  while (writer.bytes() > each_) drop_one(writer);
}

// By a quarter each time: for any log, it visits all writers only a few times.
void KeptLines::shrink() {
  const size_t least = budget_ / (kMaxWriters + 1);
  size_t most = 0;
  for (const auto& [number, writer] : writers_) {
    most = std::max(most, writer.bytes());
  }
  each_ = std::max(least, std::min(each_, most) / 4 * 3);
  for (auto& [number, writer] : writers_) trim(writer);
}

std::vector<std::pair<int, KeptLines::Line>> KeptLines::take() {
  std::vector<std::pair<int, Line>> all;
  size_t count = 0;
  for (const auto& [number, writer] : writers_) {
    count += writer.first.lines.size() + writer.last.lines.size() +
             writer.unknown.lines.size();
  }
  all.reserve(count);
  for (auto& [number, writer] : writers_) {
    for (Part* const part : {&writer.first, &writer.last, &writer.unknown}) {
      for (Kept& kept : part->lines) {
        all.emplace_back(number, std::move(kept.line));
      }
      *part = {};
    }
  }
  writers_.clear();
  each_ = SIZE_MAX;
  bytes_ = 0;
  return all;
}

}  // namespace muster
