// SPDX-License-Identifier: Apache-2.0
// RetryDelay: how long to wait before the launcher dials a worker again, by the
// result of the last attempts. A missing name and a refusing port cost little
// and end the moment the pod is up: it tries them again after 20 ms, and after
// 0.5 % of the time that they have lasted, at most 500 ms. With N workers whose
// ports refuse: after N ms, at most 100 ms, so that a launcher dials at most
// 1000 times a second while it waits for 100. All else: after 100 ms, twice as
// long each time, at most 500 ms, a quarter more or less by chance. (LookupPlan
// bounds the queries to DNS.) Pure.
#pragma once

#include <string>

#include "base/loop.h"

namespace muster {

class RetryDelay {
 public:
  explicit RetryDelay(size_t workers);

  // An attempt ended with the error `code`. `chance`: 0 to 1.
  Milliseconds after(const std::string& code, Clock::time_point now,
                     double chance);
  // So many attempts in a row ended alike, the last one included.
  [[nodiscard]] int in_a_row() const { return in_a_row_; }

 private:
  Milliseconds refused_;
  std::string code_;
  Clock::time_point since_;
  int in_a_row_ = 0;
};

}  // namespace muster
