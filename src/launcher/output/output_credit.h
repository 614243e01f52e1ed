// SPDX-License-Identifier: Apache-2.0
// OutputCredit: bounds the ranks' output that agents may send. Gives back what
// has left in steps, one message for all that left together: with many small
// frames a message each would cost more than the frames. A stream that prints
// without a pause may have more under way, within a limit for all of them. A
// stream's agent stops when it has used up its credit. All of it is then on its
// way through the launcher, which makes more than a step, so the stream goes
// on. Refuses streams that were not added. Loop thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>

#include "launcher/model/process_key.h"

namespace muster {

class OutputCredit {
 public:
  using Give = std::function<void(ProcessKey, uint8_t stream, uint32_t bytes)>;

  // Credit goes back in no smaller pieces than `step`; a busy stream gets
  // `extra` once. Both in bytes.
  OutputCredit(uint32_t step, uint32_t extra, Give give)
      : step_(step), extra_(extra), give_(std::move(give)) {}

  void add(StreamKey stream) { streams_[stream]; }
  // Bytes that leave from now on do not count for it.
  void forget(StreamKey stream);
  // The stream prints without a pause.
  void widen(StreamKey stream);
  // The stream has ended: its extra is free for others.
  void narrow(StreamKey stream);
  // `bytes` of it have left.
  void owe(StreamKey stream, uint32_t bytes);
  // Gives every stream its outstanding credit, if that is a step.
  void settle();

 private:
  struct Account {
    uint32_t owed = 0;
    bool wide = false;
  };

  uint32_t step_;
  uint32_t extra_;
  Give give_;
  std::map<StreamKey, Account> streams_;
  std::set<StreamKey> due_;  // have a step outstanding
  uint64_t extra_given_ = 0;
};

}  // namespace muster
