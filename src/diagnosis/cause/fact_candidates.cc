// SPDX-License-Identifier: Apache-2.0
// From facts to candidates: wait statuses, counters, channels, deadlines,
// findings of planning. Only these may prove something.
#include "diagnosis/cause/candidate.h"
#include "diagnosis/cause/fact_list.h"

namespace muster {

Candidate* FactList::add(std::string_view code, Confidence confidence,
                         std::string line) {
  const Rule* const rule = rules_.find(code);
  if (rule == nullptr) return nullptr;
  Candidate candidate;
  candidate.rule = rule;
  candidate.confidence = confidence;
  candidate.fact = true;
  candidate.line = std::move(line);
  found_.push_back(std::move(candidate));
  return &found_.back();
}

Candidate* FactList::add_for(const RankEvidence& rank, std::string_view code,
                             Confidence confidence, std::string line) {
  Candidate* const candidate = add(code, confidence, std::move(line));
  if (candidate == nullptr) return nullptr;
  candidate->rank = rank.rank;
  candidate->node = rank.node;
  candidate->host = rank.host;
  candidate->time_ns = rank.exit_ns;
  candidate->order = SIZE_MAX;  // the end comes after the last line
  return candidate;
}

Candidate* FactList::add_for(const NodeEvidence& node, std::string_view code,
                             Confidence confidence, std::string line) {
  Candidate* const candidate = add(code, confidence, std::move(line));
  if (candidate == nullptr) return nullptr;
  candidate->node = node.node;
  candidate->host = node.host;
  candidate->time_ns = node.lost_ns;
  return candidate;
}

void FactList::blame(Candidate& candidate, int rank) const {
  candidate.rank = rank;
  if (const RankEvidence* known = find_rank(evidence_, rank)) {
    candidate.node = known->node;
    candidate.host = known->host;
  }
}

std::vector<Candidate> fact_candidates(const Evidence& evidence,
                                       const RuleBook& rules) {
  FactList facts(evidence, rules);
  for (const RankEvidence& rank : evidence.ranks) read_rank(rank, facts);
  for (const NodeEvidence& node : evidence.nodes) read_node(node, facts);
  read_left_early(facts);
  read_job(facts);
  return facts.take();
}

}  // namespace muster
