// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/strain.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/text.h"

namespace muster {

namespace {

constexpr size_t kNamed = 3;
constexpr double kThrottled = 0.25;
// If all of its tasks wait, a pod makes no progress at all.
constexpr double kStalled = 0.2;
// A shorter stretch is noise.
constexpr int64_t kRecentMs = 3000;
constexpr double kLittleGbps = 1;
constexpr double kSlowedGpus = 0.1;  // of the time
constexpr double kUneven = 0.1;      // between two nodes

std::string percent(double share) {
  return std::to_string(std::lround(std::min(share, 1.0) * 100)) + " %";
}

std::string gbps(double rate) {
  const double tenths = std::round(rate * 10) / 10;
  const long whole = std::lround(std::floor(tenths));
  const long tenth = std::lround((tenths - std::floor(tenths)) * 10);
  return std::to_string(whole) +
         (rate < 100 && tenth > 0 ? "." + std::to_string(tenth) : "") + " Gb/s";
}

// A job that was well for hours and is slow now counts as much as one that was
// a little slow all the time.
double worst(const NodeStrain& strain, double StrainShares::*share) {
  return strain.recent_ms >= kRecentMs
             ? std::max(strain.job.*share, strain.recent.*share)
             : strain.job.*share;
}

struct Held {
  double share = 0;
  std::string host;
};

// "worker-3 62 %, worker-1 40 % and 2 more".
std::string worst_three(std::vector<Held> held) {
  std::stable_sort(held.begin(), held.end(), [](const Held& a, const Held& b) {
    return a.share > b.share;
  });
  std::vector<std::string> parts;
  for (const Held& one : held) {
    if (parts.size() == kNamed) break;
    parts.push_back(one.host + " " + percent(one.share));
  }
  std::string text = join(parts, ", ");
  if (held.size() > kNamed) {
    text += " and " + std::to_string(held.size() - kNamed) + " more";
  }
  return text;
}

std::string held_back(const std::vector<NodeEvidence>& nodes,
                      const std::vector<double StrainShares::*>& shares,
                      double threshold) {
  std::vector<Held> held;
  for (const NodeEvidence& node : nodes) {
    double share = -1;
    for (const auto which : shares) {
      share = std::max(share, worst(node.strain, which));
    }
    if (share >= threshold) held.push_back({share, node.host});
  }
  return worst_three(std::move(held));
}

std::string slowed(const std::vector<NodeEvidence>& nodes) {
  std::vector<Held> held;
  for (const NodeEvidence& node : nodes) {
    if (node.strain.gpu_slowed >= kSlowedGpus) {
      held.push_back({node.strain.gpu_slowed, node.host});
    }
  }
  return worst_three(std::move(held));
}

std::string lossy(const std::vector<NodeEvidence>& nodes) {
  std::vector<std::string> parts;
  size_t more = 0;
  for (const NodeEvidence& node : nodes) {
    if (node.strain.grown.empty()) continue;
    if (parts.size() == kNamed) {
      ++more;
      continue;
    }
    std::vector<std::string> grown = node.strain.grown;
    const size_t all = grown.size();
    grown.resize(std::min(all, kNamed));
    parts.push_back(node.host + ": " + join(grown, ", ") +
                    (all > kNamed ? " …" : ""));
  }
  return join(parts, "; ") +
         (more > 0 ? "; and " + std::to_string(more) + " more" : "");
}

}  // namespace

std::string strain_text(const std::vector<NodeEvidence>& nodes,
                        StrainKind kind) {
  std::string lead;
  std::string who;
  switch (kind) {
    case StrainKind::kNetwork:
      lead = "packets were lost or broken while the job ran: ";
      who = lossy(nodes);
      break;
    case StrainKind::kCpu:
      lead = "held back by the CPU limit, share of the time: ";
      who =
          held_back(nodes, {&StrainShares::throttled, &StrainShares::cpu_stall},
                    kThrottled);
      break;
    case StrainKind::kMemory:
      lead = "stood still for lack of memory, share of the time: ";
      who = held_back(nodes, {&StrainShares::memory_stall}, kStalled);
      break;
    case StrainKind::kStorage:
      lead = "stood still waiting for storage, share of the time: ";
      who = held_back(nodes, {&StrainShares::io_stall}, kStalled);
      break;
    case StrainKind::kGpu:
      lead = "GPU clocks were held down by heat or power, share of the time: ";
      who = slowed(nodes);
      break;
  }
  return who.empty() ? who : lead + who;
}

std::string gpu_use_text(const std::vector<NodeEvidence>& nodes) {
  // A GPU that pods share counts once, as busy as they say on average.
  std::map<std::string, std::pair<double, int>> uses;
  const NodeEvidence* least = nullptr;
  const NodeEvidence* most = nullptr;
  for (const NodeEvidence& node : nodes) {
    const NodeStrain& strain = node.strain;
    if (strain.gpus <= 0 || strain.gpu_use < 0) continue;
    for (int64_t i = 0; i < strain.gpus; ++i) {
      const bool named =
          static_cast<int64_t>(strain.gpu_ids.size()) == strain.gpus;
      auto& [sum, times] = uses[named ? strain.gpu_ids[static_cast<size_t>(i)]
                                      : node.host + " " + std::to_string(i)];
      sum += strain.gpu_use;
      ++times;
    }
    if (least == nullptr || strain.gpu_use < least->strain.gpu_use) {
      least = &node;
    }
    if (most == nullptr || strain.gpu_use > most->strain.gpu_use) most = &node;
  }
  if (uses.empty()) return {};
  double use = 0;
  for (const auto& [name, one] : uses) use += one.first / one.second;
  std::string text = "GPU use " +
                     percent(use / static_cast<double>(uses.size())) + " of " +
                     std::to_string(uses.size());
  if (most->strain.gpu_use - least->strain.gpu_use >= kUneven) {
    text +=
        ", least on " + least->host + " with " + percent(least->strain.gpu_use);
  }
  return text;
}

std::string network_rate_text(const std::vector<NodeEvidence>& nodes) {
  const NodeEvidence* best = nullptr;
  const auto rate = [](const NodeEvidence& node) {
    return std::max(node.strain.rdma_gbps, node.strain.network_gbps);
  };
  for (const NodeEvidence& node : nodes) {
    if (best == nullptr || rate(node) > rate(*best)) best = &node;
  }
  if (best == nullptr || rate(*best) < kLittleGbps) return {};
  const NodeStrain& strain = best->strain;
  const bool rdma = strain.rdma_gbps >= strain.network_gbps;
  std::string text = "busiest on the network: " + best->host + ", " +
                     gbps(rate(*best)) + (rdma ? " by RDMA" : " by TCP");
  if (rdma && strain.rdma_port_gbps > 0) {
    text += ", " + percent(strain.rdma_gbps / strain.rdma_port_gbps) +
            " of its ports' " + gbps(strain.rdma_port_gbps);
  } else if (strain.rdma_port_gbps > 0) {
    text += ", beside idle RDMA ports of " + gbps(strain.rdma_port_gbps);
  }
  return text;
}

}  // namespace muster
