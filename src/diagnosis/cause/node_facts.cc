// SPDX-License-Identifier: Apache-2.0
// The life of a worker: never ready, lost, terminated; and the GPUs that its
// ranks may see.
#include <algorithm>

#include "diagnosis/cause/fact_list.h"

namespace muster {

namespace {

void read_never_ready(const NodeEvidence& node, FactList& facts) {
  const Rule* const rule = facts.rules().find(node.error.code);
  Candidate* const candidate = facts.add_for(
      node, rule == nullptr ? "agent_unusable" : rule->code,
      Confidence::kLikely,
      node.error.code.empty()
          ? node.host + " was not ready; it got as far as: " + node.step
          : node.error.text());
  Captures& values = candidate->values;
  values["what"] = node.error.what;
  values["why"] = node.error.why;
  const std::string& code = node.error.code;
  if (code == "tcp_refused") values["refused"] = "yes";
  if (code == "tcp_filtered") values["filtered"] = "yes";
  if (code == "dns_failure") values["dns_down"] = "yes";
  if (code == "ssh_banner" || code == "ssh_closed") values["mesh"] = "yes";
}

// Among several ranks, the one that took the memory is unknown: -1.
int only_rank_on(const NodeEvidence& node, const FactList& facts) {
  int found = -1;
  for (const RankEvidence& rank : facts.evidence().ranks) {
    if (rank.node != node.node) continue;
    if (found >= 0) return -1;
    found = rank.rank;
  }
  return found;
}

// A silent worker is given up some time after its end, in which others may have
// failed because of it.
int64_t fell_silent_ns(const NodeEvidence& node) {
  const bool silent = node.error.code == "worker_silent";
  return silent && !node.memory.empty() ? node.memory.back().time_ns
                                        : node.lost_ns;
}

// A worker that takes us for lost ends its ranks and then leaves: we hear of
// both late, and of its leaving after the stop that its ranks' ends have
// caused.
int64_t gave_up_ns(const NodeEvidence& node, const Evidence& evidence) {
  int64_t first = node.lost_ns;
  for (const RankEvidence& rank : evidence.ranks) {
    if (rank.node == node.node && rank.exit_ns > 0) {
      first = std::min(first, rank.exit_ns);
    }
  }
  return first;
}

void read_lost(const NodeEvidence& node, FactList& facts) {
  std::string line = node.error.text();
  if (line.empty()) line = "the connection to " + node.host + " ended";
  if (oom_counter_rose(node)) {
    facts
        .add_for(node, "host_oom_kill", Confidence::kProven,
                 line + "; the kernel's oom_kill counter had risen")
        ->rank = only_rank_on(node, facts);
  } else if (was_near_limit(node)) {
    facts
        .add_for(node, "host_oom_kill", Confidence::kLikely,
                 line + ", at its memory limit")
        ->rank = only_rank_on(node, facts);
  } else {
    // A worker that took us for lost says nothing about itself.
    const bool ours = node.error.code == "launcher_silent";
    Candidate* const candidate =
        facts.add_for(node, ours ? "launcher_stalled" : "daemon_lost",
                      ours ? Confidence::kLikely : Confidence::kProven, line);
    candidate->values["why"] = node.error.why;
    candidate->time_ns =
        ours ? gave_up_ns(node, facts.evidence()) : fell_silent_ns(node);
  }
}

// A program that finds no GPU prints the same message whether there is none, no
// driver, or none that it may see.
void read_hidden_gpus(const NodeEvidence& node, FactList& facts) {
  if (node.gpus <= 0 || node.gpus_hidden_by.empty()) return;
  for (const RankEvidence& rank : facts.evidence().ranks) {
    if (rank.node != node.node || rank.outcome != RankOutcome::kExited ||
        rank.wait_status == 0 || rank.stopped_by_us) {
      continue;
    }
    const auto says_so = std::find_if(
        rank.lines.begin(), rank.lines.end(),
        [](const LineEvidence& line) { return finds_no_gpu(line.text); });
    if (says_so == rank.lines.end()) continue;
    Candidate* const candidate =
        facts.add_for(rank, "gpus_hidden", Confidence::kLikely, says_so->text);
    candidate->time_ns = says_so->time_ns;
    candidate->values["setting"] = node.gpus_hidden_by;
    candidate->values["gpus"] = std::to_string(node.gpus);
  }
}

}  // namespace

bool finds_no_gpu(std::string_view text) {
  for (const std::string_view words :
       {"No CUDA GPUs are available", "no CUDA-capable device",
        "CUDA_ERROR_NO_DEVICE", "cudaErrorNoDevice",
        "No HIP GPUs are available", "hipErrorNoDevice"}) {
    if (text.find(words) != text.npos) return true;
  }
  return false;
}

void read_node(const NodeEvidence& node, FactList& facts) {
  read_xids(node, facts);
  read_hidden_gpus(node, facts);
  if (node.outcome == NodeOutcome::kNeverReady) read_never_ready(node, facts);
  if (node.outcome == NodeOutcome::kLost) read_lost(node, facts);
  if (node.told_to_leave) {
    facts.add_for(node, "pod_terminated", Confidence::kProven,
                  node.host + " got SIGTERM from outside its container");
  }
}

}  // namespace muster
