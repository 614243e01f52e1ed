// SPDX-License-Identifier: Apache-2.0
#include "launcher/report/report_checklist.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "diagnosis/strain.h"
#include "launcher/report/xid_history.h"

namespace muster {

namespace {

constexpr double kNearLimit = 0.9;
constexpr int64_t kLate = 5'000'000'000;  // ns after most others

bool went_through(const LaunchReport& report, const char* phase) {
  return std::any_of(
      report.phases.begin(), report.phases.end(),
      [phase](const PhaseTime& entry) { return entry.name == phase; });
}

ChecklistItem workers_item(const LaunchReport& report) {
  size_t ready = 0;
  std::string missing;
  for (const WorkerReport& worker : report.workers) {
    if (worker.state == "ready") {
      ++ready;
    } else {
      missing += (missing.empty() ? "; " : ", ") + worker.name;
    }
  }
  if (report.workers.empty()) return {"workers", "not checked", "none known"};
  return {"workers", ready == report.workers.size() ? "ok" : "failed",
          std::to_string(ready) + " of " +
              std::to_string(report.workers.size()) + " ready" + missing};
}

ChecklistItem network_item(const LaunchReport& report) {
  for (const Finding& finding : report.evidence.findings) {
    if (finding.severity == Severity::kError &&
        (finding.code == "unreachable" || finding.code == "unanswered")) {
      return {"network", "failed", finding.text};
    }
  }
  // Only a launch that came as far as starting ranks has passed the proof.
  const bool proved = went_through(report, "prove") &&
                      went_through(report, "run") && report.workers.size() > 1;
  return proved ? ChecklistItem{"network", "ok",
                                "every worker reaches its neighbour and the "
                                "launcher"}
                : ChecklistItem{"network", "not checked", ""};
}

struct Memory {
  std::string host;
  int64_t bytes = 0;
  int64_t limit = 0;
  bool killed = false;
};

// The pod that came closest to its limit.
std::optional<Memory> fullest(const LaunchReport& report) {
  std::optional<Memory> found;
  for (const NodeEvidence& node : report.evidence.nodes) {
    for (const MemorySample& sample : node.memory) {
      if (sample.limit <= 0) continue;
      // Not the kernel's peak, which counts page cache.
      const Memory one{node.host, sample.bytes, sample.limit,
                       node.oom_kills_at_start >= 0 &&
                           sample.oom_kills > node.oom_kills_at_start};
      const auto share = [](const Memory& m) {
        return static_cast<double>(m.bytes) / static_cast<double>(m.limit) +
               (m.killed ? 1 : 0);
      };
      if (!found || share(one) > share(*found)) found = one;
    }
  }
  return found;
}

std::string text_of(const Memory& memory) {
  return memory.host + " used " +
         human_bytes(static_cast<uint64_t>(memory.bytes)) + " of " +
         human_bytes(static_cast<uint64_t>(memory.limit));
}

ChecklistItem memory_item(const LaunchReport& report) {
  const auto memory = fullest(report);
  if (!memory) return {"memory", "not checked", "no memory limit is known"};
  return {"memory", memory->killed ? "failed" : "ok",
          (memory->killed ? "the kernel killed for memory; " : "") +
              text_of(*memory)};
}

ChecklistItem data_item(const LaunchReport& report) {
  for (const char* const code : {"data_missing", "checkpoint_corrupt",
                                 "fs_unwritable", "permission_denied"}) {
    if (report.verdict.code == code) {
      return {"data", "failed", report.verdict.headline};
    }
  }
  return report.verdict.exit_code == 0
             ? ChecklistItem{"data", "ok", "no rank complained"}
             : ChecklistItem{"data", "not checked", ""};
}

// The rank that ended long after half of the others. Ranks of a script run one
// after the other.
std::string straggler(const LaunchReport& report) {
  if (report.evidence.job.backend == "once") return {};
  std::vector<std::pair<int64_t, const RankEvidence*>> ends;
  for (const RankEvidence& rank : report.evidence.ranks) {
    if (rank.outcome == RankOutcome::kExited && rank.exit_ns > 0) {
      ends.emplace_back(rank.exit_ns, &rank);
    }
  }
  if (ends.size() < 3) return {};
  std::sort(ends.begin(), ends.end());
  const auto& [last, rank] = ends.back();
  const int64_t late = last - ends[ends.size() / 2].first;
  if (late < kLate) return {};
  return "straggler: rank " + std::to_string(rank->rank) + " on " + rank->host +
         " ended " + human_duration_ms(late / 1'000'000) + " after most others";
}

}  // namespace

std::vector<ChecklistItem> checklist(const LaunchReport& report) {
  return {workers_item(report), network_item(report), memory_item(report),
          data_item(report)};
}

std::vector<std::string> success_lines(const LaunchReport& report,
                                       size_t limit) {
  std::vector<std::string> lines;
  for (const NodeEvidence& node : report.evidence.nodes) {
    for (const XidEvidence& xid : node.xids) {
      lines.push_back(xid_line(node.host, xid));
    }
  }
  if (std::string late = straggler(report); !late.empty()) {
    lines.push_back(std::move(late));
  }
  if (const auto memory = fullest(report);
      memory && static_cast<double>(memory->bytes) >
                    kNearLimit * static_cast<double>(memory->limit)) {
    lines.push_back("memory is short: " + text_of(*memory));
  }
  for (const StrainKind kind :
       {StrainKind::kCpu, StrainKind::kMemory, StrainKind::kStorage,
        StrainKind::kNetwork, StrainKind::kGpu}) {
    std::string held = strain_text(report.evidence.nodes, kind);
    if (!held.empty()) lines.push_back(std::move(held));
  }
  for (const Finding& finding : report.evidence.findings) {
    if (finding.code == "hang") lines.push_back("once: " + finding.text);
  }
  if (std::string use = gpu_use_text(report.evidence.nodes); !use.empty()) {
    lines.push_back(std::move(use));
  }
  if (std::string rate = network_rate_text(report.evidence.nodes);
      !rate.empty()) {
    lines.push_back(std::move(rate));
  }
  if (lines.size() > limit) lines.resize(limit);
  return lines;
}

}  // namespace muster
