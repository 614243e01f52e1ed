// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/audit.h"

#include <algorithm>

#include "base/json_text.h"
#include "base/write_now.h"

namespace muster {

namespace {

constexpr double kBurst = 20;
constexpr double kPerSecond = 1;

}  // namespace

AuditRecord& AuditRecord::text(std::string_view key, std::string_view value) {
  fields += ",\"";
  fields += key;
  fields += "\":";
  append_json_string(fields, value);
  return *this;
}

AuditRecord& AuditRecord::number(std::string_view key, int64_t value) {
  fields += ",\"";
  fields += key;
  fields += "\":" + std::to_string(value);
  return *this;
}

bool AuditLog::put(const AuditRecord& record) {
  std::string line = "{\"timestamp\":\"";
  append_timestamp(line, realtime_ns());
  line += "\",\"audit\":\"";
  line += record.name;
  line += "\",\"seq\":" + std::to_string(sequence_ + 1);
  AuditRecord common(record.name);
  if (!options_.host.empty()) common.text("host", options_.host);
  common.text("job", options_.job);
  if (left_out_ > 0) {
    common.number("left_out", static_cast<int64_t>(left_out_));
  }
  line += common.fields + record.fields + "}\n";
  if (!write_now(options_.fd, line)) return false;
  ++sequence_;
  left_out_ = 0;
  return true;
}

void AuditLog::write(const AuditRecord& record) {
  if (options_.fd >= 0 && !put(record)) ++left_out_;
}

void AuditLog::write_limited(const AuditRecord& record, Clock::time_point now) {
  if (options_.fd < 0) return;
  const std::chrono::duration<double> passed = now - refilled_;
  tokens_ = std::min(kBurst, tokens_ + passed.count() * kPerSecond);
  refilled_ = now;
  if (tokens_ < 1) {
    ++left_out_;
    return;
  }
  tokens_ -= 1;
  write(record);
}

}  // namespace muster
