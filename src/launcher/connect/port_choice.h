// SPDX-License-Identifier: Apache-2.0
// PortChoice: which port of a worker to dial if no setting names it: the
// operators' 2222, and now and then sshd's own 22. It tries 22 more rarely each
// time, since a policy that drops packets delays each try. Pure.
#pragma once

#include "base/loop.h"

namespace muster {

class PortChoice {
 public:
  explicit PortChoice(int usual, bool try_other)
      : usual_(usual), try_other_(try_other) {}

  // For the dial that begins now.
  int next(Clock::time_point now);

 private:
  int usual_;
  bool try_other_;
  bool dialled_ = false;
  Milliseconds gap_{200};
  Clock::time_point due_;
};

}  // namespace muster
