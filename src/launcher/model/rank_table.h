// SPDX-License-Identifier: Apache-2.0
// RankTable: the fate of every process of the job, and the first failure. A
// plain value; the launcher's loop feeds it.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <string>

#include "launcher/model/process_key.h"
#include "wire/messages.h"

namespace muster {

enum class RankState { kStarting, kRunning, kExited, kNotStarted, kLost };
const char* to_text(RankState state);

struct RankRecord {
  int rank = -1;
  uint16_t node = 0;
  std::string host;
  ProcessKey key;
  int pid = 0;
  int world_size = -1;  // from the rank's own environment; -1: unknown
  RankState state = RankState::kStarting;
  wire::Exited exit;          // state kExited
  wire::StartFailed refusal;  // state kNotStarted
  int64_t ended_ns = 0;       // CLOCK_REALTIME by our clock; 0: not ended
  bool after_stop = false;    // ended after the launcher began to stop ranks
};

class RankTable {
 public:
  // Several records may claim the same rank number: N worlds of size 1.
  RankRecord& add(RankRecord record);
  RankRecord* find(ProcessKey key);
  [[nodiscard]] const std::list<RankRecord>& records() const {
    return records_;
  }
  // A process that ended well, of so many that they are only counted.
  void forget(ProcessKey key);
  [[nodiscard]] uint64_t forgotten() const { return forgotten_; }
  [[nodiscard]] size_t count(RankState state) const;
  // Marks every unfinished rank of `node` as lost.
  void lose_node(uint16_t node, int64_t now_ns);
  void ended(RankRecord& record, RankState state, int64_t now_ns);
  [[nodiscard]] bool all_ended() const;

 private:
  std::list<RankRecord> records_;
  std::map<ProcessKey, std::list<RankRecord>::iterator> index_;
  uint64_t forgotten_ = 0;
};

}  // namespace muster
