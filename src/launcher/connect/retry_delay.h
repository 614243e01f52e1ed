// SPDX-License-Identifier: Apache-2.0
// RetryDelay: how long to wait before one worker is dialled again, by what the
// last attempts ended with. A name that is missing and a port that refuses cost
// little and end the moment the pod is up: they are tried again after 20 ms,
// and after 0.5 % of the time that they have lasted, at most 500 ms. N workers
// whose ports refuse: after N ms, at most 100 ms, so that a launcher dials 1000
// times a second at most where it waits for 100. All else: after 100 ms, twice
// as long each time, at most 500 ms, a quarter more or less by chance.
// (LookupPlan bounds what DNS hears of it.) Pure.
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
  // So many attempts ended alike, the last one included.
  [[nodiscard]] int in_a_row() const { return in_a_row_; }

 private:
  Milliseconds refused_;
  std::string code_;
  Clock::time_point since_;
  int in_a_row_ = 0;
};

}  // namespace muster
