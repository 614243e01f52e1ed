// SPDX-License-Identifier: Apache-2.0
// Any bytes as a dump of PyTorch's flight recorder: what is read of it is
// bounded, survives its way to the launcher, and can be told.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "launcher/hang/flight_report.h"
#include "wire/flight_messages.h"
#include "worker/hang/flight_dump.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto record = muster::read_flight_dump(bytes);
  if (!record) {
    if (record.error().what.empty()) std::abort();
    return 0;
  }
  if (record->groups.size() > 256) std::abort();
  record->rank = 0;
  for (const auto& group : record->groups) {
    if (group.calls.size() > 8) std::abort();
  }
  // Beside one that differs from it.
  std::vector<muster::wire::FlightRecord> records = {*record, *record};
  records[1].rank = 1;
  for (auto& group : records[1].groups) {
    if (!group.calls.empty()) group.calls.back().elements ^= 1;
    if (group.calls.size() > 1) group.calls.pop_back();
  }
  const auto text = muster::wire::to_json(records, 1 << 20);
  const auto back = muster::wire::flight_records_from_json(text);
  if (!back) std::abort();
  for (const auto& issue : muster::flight_issues(*back)) {
    if (issue.text.empty()) std::abort();
  }
  return 0;
}
