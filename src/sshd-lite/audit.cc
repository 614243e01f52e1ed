// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/audit.h"

#include <algorithm>

#include "base/json_text.h"
#include "base/printable.h"
#include "base/write_now.h"

namespace muster {

namespace {

constexpr double kBurst = 20;
constexpr double kPerSecond = 1;
constexpr size_t kLongestWord = 400;

}  // namespace

AuditRecord& AuditRecord::text(std::string_view key, std::string_view value) {
  fields += ",\"";
  fields += key;
  fields += "\":";
  append_json_string(fields, value);
  words += " " + std::string(key) + "=";
  if (value.empty() || value.find_first_of(" \"=") != std::string_view::npos) {
    append_json_string(words, value);
  } else {
    words += printable(value, kLongestWord);
  }
  return *this;
}

AuditRecord& AuditRecord::number(std::string_view key, int64_t value) {
  fields += ",\"";
  fields += key;
  fields += "\":" + std::to_string(value);
  words += " " + std::string(key) + "=" + std::to_string(value);
  return *this;
}

std::string AuditLog::line(const AuditRecord& record) const {
  AuditRecord common(record.name);
  common.number("seq", static_cast<int64_t>(sequence_ + 1));
  if (options_.json) {  // a log in text has both in its first line
    if (!options_.host.empty()) common.text("host", options_.host);
    common.text("job", options_.job);
  }
  if (left_out_ > 0) {
    common.number("left_out", static_cast<int64_t>(left_out_));
  }
  if (!options_.json) {
    return "muster: audit: " + std::string(record.name) + common.words +
           record.words + "\n";
  }
  std::string out = "{\"timestamp\":\"";
  append_timestamp(out, realtime_ns());
  out += "\",\"audit\":\"";
  out += record.name;
  return out + "\"" + common.fields + record.fields + "}\n";
}

bool AuditLog::put(const AuditRecord& record) {
  if (!write_now(options_.fd, line(record))) return false;
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
