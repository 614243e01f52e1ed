// SPDX-License-Identifier: Apache-2.0
// The facts of the job's end, as candidates: collected rank by rank, node by
// node, and for the job. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "diagnosis/cause/candidate.h"

namespace muster {

class FactList {
 public:
  FactList(const Evidence& evidence, const RuleBook& rules)
      : evidence_(evidence), rules_(rules) {}

  [[nodiscard]] const Evidence& evidence() const { return evidence_; }
  [[nodiscard]] const RuleBook& rules() const { return rules_; }

  // The new candidate, until the next is added. Built-in codes are in every
  // rule book.
  Candidate* add(std::string_view code, Confidence confidence,
                 std::string line);
  Candidate* add_for(const RankEvidence& rank, std::string_view code,
                     Confidence confidence, std::string line);
  Candidate* add_for(const NodeEvidence& node, std::string_view code,
                     Confidence confidence, std::string line);
  // Rank, and its node and host if known.
  void blame(Candidate& candidate, int rank) const;

  std::vector<Candidate> take() { return std::move(found_); }

 private:
  const Evidence& evidence_;
  const RuleBook& rules_;
  std::vector<Candidate> found_;
};

// How the rank ended, and that it left early.
void read_rank(const RankEvidence& rank, FactList& facts);
void read_left_early(FactList& facts);
// How the node came, went, and what its drivers said.
void read_node(const NodeEvidence& node, FactList& facts);
// The GPU errors that NVIDIA's driver reported.
void read_xids(const NodeEvidence& node, FactList& facts);
// "No CUDA GPUs are available", and the like.
bool finds_no_gpu(std::string_view text);
// The launcher's own actions, observations and findings.
void read_job(FactList& facts);

}  // namespace muster
