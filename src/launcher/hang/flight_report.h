// SPDX-License-Identifier: Apache-2.0
// What the flight recorders of PyTorch say together of a job that stands still:
// per process group, which ranks have not entered the collective in which the
// others wait, and which call another one than they, or with another size.
// The idea is that of PyTorch's own analyzer (torchfrtrace); of a mismatch or a
// missing rank it is exact, since collectives of a group are numbered. Of a
// mismatch the first one counts, also among calls that are over: behind it the
// ranks are out of step, and differ again. Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "wire/flight_messages.h"

namespace muster {

struct FlightIssue {
  std::string text;      // one sentence
  std::set<int> odd;     // the ranks to look at; empty: nobody is
  bool waits = false;    // the rest waits for them
  bool differs = false;  // they call something else, odd or not
  bool over = false;     // … in a group in which nobody waits
};

// The one that decides comes first. A record that is minutes older than the
// newest tells of another time and is left out, as is one that could not be
// read, which a sentence at the end says.
std::vector<FlightIssue> flight_issues(
    const std::vector<wire::FlightRecord>& records);

}  // namespace muster
