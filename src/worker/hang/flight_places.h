// SPDX-License-Identifier: Apache-2.0
// FlightPlaces: the places of this pod's ranks' flight records, looked up while
// they run, since the question comes after their end as well. Loop thread.
#pragma once

#include <map>
#include <vector>

#include "base/loop.h"
#include "wire/flight_messages.h"
#include "worker/processes/agent_processes.h"

namespace muster {

class FlightPlaces {
 public:
  explicit FlightPlaces(const AgentProcesses& processes);

  // Call it now and then while ranks run.
  void notice();
  [[nodiscard]] std::vector<wire::FlightPlace> all() const;

 private:
  struct Noticed {
    wire::FlightPlace place;
    Clock::time_point first;
    bool again = false;  // the last look was a while after the first
  };

  const AgentProcesses& processes_;
  std::map<int, Noticed> noticed_;  // by rank
  int64_t since_ns_;                // older ones belong to another job
};

}  // namespace muster
