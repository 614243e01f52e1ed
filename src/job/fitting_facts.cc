// SPDX-License-Identifier: Apache-2.0
#include "job/fitting_facts.h"

#include <algorithm>
#include <vector>

#include "base/json_text.h"
#include "base/text.h"

namespace muster {

namespace {

constexpr size_t kNamed = 4;
constexpr size_t kSentence = 256;  // about what was left out

size_t json_size(std::string_view text) {
  std::string json;
  append_json_string(json, text);
  return json.size();
}

// The values that a shorter message omits, in order.
std::vector<std::string> by_worth(const NodeFacts& facts) {
  std::vector<std::string> names;
  for (const auto& [name, value] : facts.environment) names.push_back(name);
  std::stable_sort(names.begin(), names.end(),
                   [&](const std::string& a, const std::string& b) {
                     return facts.environment.at(a).size() >
                            facts.environment.at(b).size();
                   });
  return names;
}

std::string told(const std::vector<std::string>& names) {
  std::vector<std::string> parts(
      names.begin(), names.begin() + std::min(kNamed, names.size()));
  if (names.size() > kNamed) {
    parts.push_back(std::to_string(names.size() - kNamed) + " more");
  }
  return join(parts, ", ");
}

}  // namespace

std::string to_json_within(NodeFacts facts, size_t limit) {
  std::string text = to_json(facts);
  if (text.size() <= limit) return text;
  const std::vector<std::string> names = by_worth(facts);
  std::vector<std::string> left_out;
  for (size_t next = 0; text.size() > limit && next < names.size();) {
    for (size_t excess = text.size() - limit + kSentence;
         excess > 0 && next < names.size(); ++next) {
      const auto found = facts.environment.find(names[next]);
      const size_t size = json_size(found->first) + json_size(found->second);
      excess -= std::min(excess, size);
      left_out.push_back(found->first);
      facts.environment.erase(found);
    }
    facts.left_out = told(left_out);
    text = to_json(facts);
  }
  return text;
}

}  // namespace muster
