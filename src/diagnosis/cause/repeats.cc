// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/cause/repeats.h"

#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace muster {

namespace {

// Candidates of one owner with different values here are not repeats.
auto kind_of(const Candidate& one) {
  return std::make_tuple(one.rule, one.rank, std::string_view(one.host),
                         one.confidence, one.maybe, one.death, one.script);
}

template <class Iterator>
void keep_first(Iterator begin, Iterator end, std::set<size_t>& kept) {
  std::map<decltype(kind_of(*begin)), size_t> count;
  for (; begin != end; ++begin) {
    if (++count[kind_of(*begin)] <= kRepeats) kept.insert(begin->order);
  }
}

}  // namespace

void drop_repeats(std::vector<Candidate>& found) {
  if (found.size() <= 2 * kRepeats) return;
  std::set<size_t> kept;  // orders
  keep_first(found.begin(), found.end(), kept);
  keep_first(found.rbegin(), found.rend(), kept);
  std::erase_if(found, [&kept](const Candidate& one) {
    return !kept.contains(one.order);
  });
}

void append(std::vector<Candidate>& all, std::vector<Candidate> more) {
  if (all.empty()) {
    all = std::move(more);
    return;
  }
  all.insert(all.end(), std::make_move_iterator(more.begin()),
             std::make_move_iterator(more.end()));
}

}  // namespace muster
