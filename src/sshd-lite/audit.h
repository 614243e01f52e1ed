// SPDX-License-Identifier: Apache-2.0
// The audit trail of the SSH server: a line of JSON or text for each
// connection, each login with its key, each start, each end and each refusal.
// It writes events of strangers at most once a second after a burst of 20, and
// counts those it leaves out; it always writes events of an authenticated
// session. Never blocks: a reader that stalls costs records, which it counts.
// Owned by pid 1, on its loop. Fields: docs/security.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/loop.h"

namespace muster {

struct AuditOptions {
  int fd = -1;       // borrowed; -1: nothing is written
  bool json = true;  // else as the lines of a log in text
  std::string job;   // the fingerprint of the job key
  std::string host;  // this pod
};

struct AuditRecord {
  explicit AuditRecord(std::string_view event) : name(event) {}
  AuditRecord& text(std::string_view key, std::string_view value);
  AuditRecord& number(std::string_view key, int64_t value);

  std::string_view name;
  std::string fields;  // ,"key":value…
  std::string words;   //  key=value…
};

class AuditLog {
 public:
  AuditLog() = default;
  explicit AuditLog(AuditOptions options) : options_(std::move(options)) {}

  void write(const AuditRecord& record);
  // For events that any peer of the port may cause.
  void write_limited(const AuditRecord& record, Clock::time_point now);
  [[nodiscard]] uint64_t left_out() const { return left_out_; }

 private:
  [[nodiscard]] std::string line(const AuditRecord& record) const;
  bool put(const AuditRecord& record);

  AuditOptions options_;
  uint64_t sequence_ = 0;  // a gap shows removed records
  uint64_t left_out_ = 0;  // since the last record
  double tokens_ = 20;
  Clock::time_point refilled_{};
};

}  // namespace muster
