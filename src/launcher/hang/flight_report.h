// SPDX-License-Identifier: Apache-2.0
// Compares PyTorch's flight recorders of a job that stands still: per process
// group, which ranks have not entered the collective in which the others wait,
// call another one, or pass another size. PyTorch's own analyzer (torchfrtrace)
// has the idea. A mismatch or a missing rank is exact, since collectives of a
// group are numbered. The first mismatch counts, also among calls that are
// over: behind it the ranks are out of step, and differ again. Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "wire/flight_messages.h"

namespace muster {

struct FlightIssue {
  std::string text;      // one sentence
  std::set<int> odd;     // the ranks to look at; empty: none
  bool waits = false;    // the rest waits for them
  bool differs = false;  // they call something else, odd or not
  bool over = false;     // … in a group in which no rank waits
};

// The issue that decides comes first. Leaves out a record that is minutes older
// than the newest, which is about another time, and one that it cannot read,
// which a sentence at the end reports.
std::vector<FlightIssue> flight_issues(
    const std::vector<wire::FlightRecord>& records);

}  // namespace muster
