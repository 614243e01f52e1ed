// SPDX-License-Identifier: Apache-2.0
#include "worker/hang/flight_places.h"

#include "base/json_text.h"
#include "worker/hang/agent_flight.h"
#include "worker/hang/rank_program.h"

namespace muster {

FlightPlaces::FlightPlaces(const AgentProcesses& processes)
    : processes_(processes), since_ns_(realtime_ns()) {}

// A second look: a script may set variables before it runs the program.
void FlightPlaces::notice() {
  constexpr Milliseconds kSettled{10'000};
  const Clock::time_point now = Clock::now();
  for (const AgentProcess* process : processes_.running_ranks()) {
    const auto [it, fresh] =
        noticed_.try_emplace(process->info().rank, Noticed{{}, now, false});
    Noticed& one = it->second;
    if (!fresh && (one.again || now - one.first < kSettled)) continue;
    one.again = !fresh;
    one.place = flight_place(process->info().rank,
                             program_environ(process->info().pid));
    one.place.since_ns = since_ns_;
  }
}

std::vector<wire::FlightPlace> FlightPlaces::all() const {
  std::vector<wire::FlightPlace> places;
  for (const auto& [rank, one] : noticed_) places.push_back(one.place);
  return places;
}

}  // namespace muster
