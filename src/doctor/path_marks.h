// SPDX-License-Identifier: Apache-2.0
// Tests whether all pods see the same directory. Every pod leaves a mark in it,
// then every pod lists the marks, then removes its own: `muster doctor --job`
// asks for the three in turn. A mark is an empty file .muster-doctor-ID-POD.
// Refuses ids and names that are not a single plain word.
#pragma once

#include <string>
#include <vector>

namespace muster {

enum class MarkStep { kNone, kLeave, kList, kRemove };

struct MarkRequest {
  MarkStep step = MarkStep::kNone;
  std::string id;  // of one examination
};

// "leave:ID", "list:ID", "remove:ID"; false if it is none of these.
bool parse_mark(const std::string& text, MarkRequest& request);

// Does the step in `directory` for `pod`. kList returns the pods with marks,
// sorted; empty for the other steps and if nothing can be read.
std::vector<std::string> do_mark(const MarkRequest& request,
                                 const std::string& directory,
                                 const std::string& pod);

}  // namespace muster
