// SPDX-License-Identifier: Apache-2.0
#include "wire/flight_messages.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/is.h"
#include "job/json_fields.h"

namespace muster::wire {

namespace {

constexpr std::array<const char*, 3> kStates = {"scheduled", "started",
                                                "completed"};

void visit_state(JsonWriter& writer, const FlightState& state) {
  writer.field("state", std::string(kStates.at(static_cast<size_t>(state))));
}

void visit_state(JsonReader& reader, FlightState& state) {
  std::string word = kStates[0];
  reader.field("state", word);
  const auto* const found = std::find(kStates.begin(), kStates.end(), word);
  if (found == kStates.end()) return reader.reject("state", "a state");
  state = static_cast<FlightState>(found - kStates.begin());
}

template <class Visitor>
void visit_call(Visitor& visitor, Is<FlightCall> auto& call) {
  visitor.field("seq", call.seq);
  visitor.shown("operation", call.operation);
  visit_state(visitor, call.state);
  visitor.field("called_ns", call.called_ns);
  visitor.field("elements", call.elements);
  visitor.shown("type", call.type);
  visitor.shown("shape", call.shape);
  visitor.shown("place", call.place);
}

template <class Visitor>
void visit_kind(Visitor& visitor, Is<FlightKind> auto& kind) {
  visitor.shown("operation", kind.operation);
  visitor.shown("type", kind.type);
  visitor.field("elements", kind.elements);
  visitor.shown("shape", kind.shape);
  visitor.shown("place", kind.place);
}

template <class Visitor>
void visit_group(Visitor& visitor, Is<FlightGroup> auto& group) {
  visitor.shown("name", group.name);
  visitor.shown("description", group.description);
  visitor.field("members", group.members);
  visitor.field("ranks", group.ranks);
  visitor.field("last", group.last);
  visitor.objects("calls", group.calls,
                  [](auto& inner, auto& call) { visit_call(inner, call); });
  visitor.field("from", group.from);
  visitor.objects("kinds", group.kinds,
                  [](auto& inner, auto& kind) { visit_kind(inner, kind); });
  visitor.field("sequence", group.sequence);
}

template <class Visitor>
void visit_record(Visitor& visitor, Is<FlightRecord> auto& record) {
  visitor.field("rank", record.rank);
  visitor.field("written_ns", record.written_ns);
  visitor.field("whole", record.whole);
  visitor.shown("problem", record.problem);
  visitor.objects("groups", record.groups,
                  [](auto& inner, auto& group) { visit_group(inner, group); });
}

template <class Visitor>
void visit_place(Visitor& visitor, Is<FlightPlace> auto& place) {
  visitor.field("rank", place.rank);
  visitor.field("since_ns", place.since_ns);
  visitor.field("files", place.files);
  visitor.field("pipes", place.pipes);
}

std::string text_of(const std::vector<FlightRecord>& records) {
  JsonWriter writer;
  writer.objects("records", records, [](auto& inner, const auto& record) {
    visit_record(inner, record);
  });
  return writer.text();
}

bool waits(const FlightGroup& group) {
  return std::any_of(
      group.calls.begin(), group.calls.end(),
      [](const auto& call) { return call.state != FlightState::kCompleted; });
}

}  // namespace

void keep_telling_calls(FlightGroup& group, size_t before) {
  auto& calls = group.calls;
  const auto first = std::find_if(
      calls.begin(), calls.end(),
      [](const auto& call) { return call.state != FlightState::kCompleted; });
  const auto size = static_cast<std::ptrdiff_t>(before);
  if (calls.end() - first > size) calls.erase(first + size, calls.end());
  if (first - calls.begin() > size) calls.erase(calls.begin(), first - size);
}

FlightKind kind_of(const FlightCall& call) {
  return {call.operation, call.type, call.elements, call.shape, call.place};
}

void note_sequence(FlightGroup& group) {
  constexpr int64_t kLongest = 1 << 16;
  group.kinds.clear();
  group.sequence.clear();
  if (group.calls.empty()) return;
  const int64_t last = group.calls.back().seq;
  if (group.calls.front().seq < 0 || last < group.calls.front().seq) return;
  group.from = std::max(group.calls.front().seq, last - kLongest + 1);
  group.sequence.assign(static_cast<size_t>(last - group.from + 1), -1);
  std::map<FlightKind, int> known;
  for (const FlightCall& call : group.calls) {
    if (call.seq < group.from || call.seq > last) continue;
    const auto [kind, fresh] =
        known.emplace(kind_of(call), static_cast<int>(known.size()));
    if (fresh) group.kinds.push_back(kind->first);
    group.sequence[static_cast<size_t>(call.seq - group.from)] = kind->second;
  }
}

std::string to_json(std::vector<FlightRecord> records, size_t limit) {
  std::string text = text_of(records);
  if (text.size() > limit) {
    for (FlightRecord& record : records) {
      for (FlightGroup& group : record.groups) {
        group.kinds.clear();
        group.sequence.clear();
      }
    }
    text = text_of(records);
  }
  for (size_t before = 4; text.size() > limit && before > 0; before /= 2) {
    for (FlightRecord& record : records) {
      for (FlightGroup& group : record.groups) {
        keep_telling_calls(group, before);
      }
    }
    text = text_of(records);
  }
  if (text.size() > limit) {
    for (FlightRecord& record : records) {
      std::erase_if(record.groups,
                    [](const auto& group) { return !waits(group); });
      record.whole = false;
    }
    text = text_of(records);
  }
  return text.size() > limit ? text_of({}) : text;
}

std::string to_json(const FlightRequest& request) {
  JsonWriter writer;
  writer.field("ask", request.ask);
  writer.objects("places", request.places, [](auto& inner, const auto& place) {
    visit_place(inner, place);
  });
  return writer.text();
}

Result<std::vector<FlightRecord>> flight_records_from_json(
    std::string_view text) {
  JsonReader reader(text, "message FlightRecords");
  std::vector<FlightRecord> records;
  reader.objects("records", records, [](auto& inner, auto& record) {
    visit_record(inner, record);
  });
  if (Status status = reader.status(); !status) return fail(status.error());
  return records;
}

Result<FlightRequest> flight_request_from_json(std::string_view text) {
  JsonReader reader(text, "message FlightRequest");
  FlightRequest request;
  reader.field("ask", request.ask);
  reader.objects("places", request.places,
                 [](auto& inner, auto& place) { visit_place(inner, place); });
  if (Status status = reader.status(); !status) return fail(status.error());
  return request;
}

}  // namespace muster::wire
