// SPDX-License-Identifier: Apache-2.0
// The errors that NVIDIA's driver reported for a node's GPUs. The driver names
// the GPU and not the process: each rank that may use the GPU may be meant.
#include "diagnosis/cause/xid_facts.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>

#include "base/text.h"
#include "diagnosis/book/xid_book.h"
#include "diagnosis/cause/fact_list.h"

namespace muster {

namespace {

// A program that meets an error of its GPU has tracebacks to write and other
// work to end; and the report of an Xid may take longer than that of an end.
constexpr int64_t kBeforeNs = 30'000'000'000;
constexpr int64_t kAfterNs = 2'000'000'000;

bool may_use(const RankEvidence& rank, const XidEvidence& xid) {
  if (rank.gpus.empty()) return true;
  const auto is_it = [&xid](const std::string& id) {
    return id == xid.uuid || id == std::to_string(xid.gpu);
  };
  // By their names alone an instance and its GPU do not fit together.
  const bool other_kind = std::any_of(
      rank.gpus.begin(), rank.gpus.end(), [&xid](const std::string& id) {
        return id.starts_with("MIG-") && !xid.mig;
      });
  return other_kind || std::any_of(rank.gpus.begin(), rank.gpus.end(), is_it);
}

bool failed(const RankEvidence& rank) {
  return rank.outcome == RankOutcome::kExited && rank.wait_status != 0 &&
         !rank.stopped_by_us;
}

// Its time, as near to the rank's end as known; 0: not near.
int64_t time_near(const XidEvidence& xid, const RankEvidence& rank) {
  for (const int64_t time : {xid.last_ns, xid.first_ns}) {
    if (time >= rank.exit_ns - kBeforeNs && time <= rank.exit_ns + kAfterNs) {
      return time;
    }
  }
  return 0;
}

bool ends_work(const XidEvidence& xid) {
  const XidMeaning* const meaning = find_xid(xid.xid);
  return meaning != nullptr && meaning->ends;
}

bool of_machine(const XidEvidence& xid) {
  const XidMeaning* const meaning = find_xid(xid.xid);
  return meaning != nullptr && is_of_machine(*meaning);
}

// The same GPU in another pod's view: several pods of one node may share it,
// and each gets its Xids, under an index of its own. nullptr: it does not.
const XidEvidence* same_gpu(const NodeEvidence& node, const XidEvidence& xid) {
  const auto found = std::find_if(
      node.xids.begin(), node.xids.end(), [&xid](const XidEvidence& other) {
        return &other == &xid || (!xid.uuid.empty() && other.uuid == xid.uuid);
      });
  return found == node.xids.end() ? nullptr : &*found;
}

std::vector<int> ranks_that_may_use(const Evidence& evidence,
                                    const XidEvidence& xid) {
  std::vector<int> out;
  for (const NodeEvidence& node : evidence.nodes) {
    const XidEvidence* const seen = same_gpu(node, xid);
    if (seen == nullptr) continue;
    for (const RankEvidence& rank : evidence.ranks) {
      if (rank.node == node.node && may_use(rank, *seen)) {
        out.push_back(rank.rank);
      }
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string near_text(int64_t time_ns, const RankEvidence& rank) {
  const int64_t ms = (rank.exit_ns - time_ns) / 1'000'000;
  return ", " + human_duration_ms(std::abs(ms)) +
         (ms < 0 ? " after rank " : " before rank ") +
         std::to_string(rank.rank) + " ended";
}

std::string sharers_text(const std::vector<int>& ranks) {
  constexpr size_t kNamed = 8;
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(ranks.size(), kNamed); ++i) {
    names.push_back(std::to_string(ranks[i]));
  }
  return "; the driver does not say whose work it was: ranks " +
         join(names, ", ") + (ranks.size() > kNamed ? " and more" : "") +
         " may use this GPU";
}

// If no rank failed with it, a GPU that is out of order still explains a rank
// that waited for its ranks; a clearer cause counts more.
void add_for_node(const NodeEvidence& node, const XidEvidence& xid,
                  FactList& facts) {
  Candidate* const candidate =
      facts.add_for(node, "gpu_hardware", Confidence::kLikely,
                    xid_sentence(facts.evidence(), node, xid, nullptr));
  candidate->maybe = true;
  candidate->time_ns = xid.first_ns;
  candidate->values["xid"] = std::to_string(xid.xid);
}

}  // namespace

std::vector<const XidEvidence*> xids_of(const Evidence& evidence,
                                        const RankEvidence& rank) {
  std::vector<const XidEvidence*> out;
  if (!failed(rank)) return out;
  for (const NodeEvidence& node : evidence.nodes) {
    if (node.node != rank.node) continue;
    for (const XidEvidence& xid : node.xids) {
      if (may_use(rank, xid) && time_near(xid, rank) > 0) out.push_back(&xid);
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const auto* a, const auto* b) {
    const auto key = [](const XidEvidence& xid) {
      return std::make_tuple(!ends_work(xid), !of_machine(xid));
    };
    return key(*a) < key(*b);
  });
  return out;
}

std::string xid_sentence(const Evidence& evidence, const NodeEvidence& node,
                         const XidEvidence& xid, const RankEvidence* rank) {
  std::string out = xid_text(xid.xid) + " on GPU " + std::to_string(xid.gpu);
  const std::string& name = xid.uuid.empty() ? xid.pci : xid.uuid;
  if (!name.empty()) out += ", " + name + ",";
  if (!node.host.empty()) out += " of " + node.host;
  if (xid.count > 1) out += ", " + std::to_string(xid.count) + " times";
  if (rank == nullptr) return out;
  out += near_text(time_near(xid, *rank), *rank);
  const auto ranks = ranks_that_may_use(evidence, xid);
  if (ranks.size() > 1) out += sharers_text(ranks);
  return out;
}

void read_xids(const NodeEvidence& node, FactList& facts) {
  for (const XidEvidence& xid : node.xids) {
    if (!ends_work(xid)) continue;
    const bool alone = ranks_that_may_use(facts.evidence(), xid).size() == 1;
    bool explained = false;
    for (const RankEvidence& rank : facts.evidence().ranks) {
      if (rank.node != node.node || !failed(rank) || !may_use(rank, xid)) {
        continue;
      }
      const int64_t time = time_near(xid, rank);
      if (time <= 0) continue;
      explained = true;
      Candidate* const candidate = facts.add_for(
          rank, of_machine(xid) ? "gpu_hardware" : "cuda_illegal_access",
          alone || of_machine(xid) ? Confidence::kProven : Confidence::kLikely,
          xid_sentence(facts.evidence(), node, xid, &rank));
      candidate->time_ns = std::min(time, rank.exit_ns);
      candidate->values["xid"] = std::to_string(xid.xid);
    }
    if (!explained && of_machine(xid)) add_for_node(node, xid, facts);
  }
}

}  // namespace muster
