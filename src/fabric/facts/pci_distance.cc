// SPDX-License-Identifier: Apache-2.0
#include "fabric/facts/pci_distance.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace muster {

std::string pci_distance(std::string_view path_a, std::string_view path_b,
                         bool same_numa) {
  if (path_a.empty() || path_b.empty()) return "";
  const auto a = split(path_a, '/');
  const auto b = split(path_b, '/');
  size_t common = 0;
  while (common < a.size() && common < b.size() && a[common] == b[common]) {
    ++common;
  }
  if (common == 0) return same_numa ? "PHB" : "SYS";
  if (common == 1) return "PHB";
  const size_t below = std::max(a.size(), b.size()) - common;
  return below <= 2 ? "PIX" : "PXB";
}

std::string gpu_distance(const FabricGpu& gpu, const FabricHca& hca) {
  if (const auto found = gpu.nics.find(hca.name); found != gpu.nics.end()) {
    return found->second;
  }
  const bool same_numa = gpu.numa < 0 || hca.numa < 0 || gpu.numa == hca.numa;
  return pci_distance(gpu.pci_path, hca.pci_path, same_numa);
}

int path_rank(std::string_view path) {
  constexpr std::array<std::string_view, 10> kOrder = {
      "LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS"};
  if (path == "NODE") path = "PHB";  // nvidia-smi's: two bridges of one socket
  const auto found = std::find(kOrder.begin(), kOrder.end(), path);
  return found == kOrder.end() ? -1 : static_cast<int>(found - kOrder.begin());
}

std::string level_name(std::string_view value) {
  constexpr std::array<const char*, 5> kOld = {"LOC", "PIX", "PXB", "PHB",
                                               "SYS"};
  const auto number = parse_integer(trim(value));
  if (!number || *number < 0) return std::string(trim(value));
  return kOld[static_cast<size_t>(std::min<int64_t>(*number, 4))];
}

bool is_near(std::string_view path) {
  const int rank = path_rank(path);
  return rank >= 0 && rank <= path_rank("PXB");
}

}  // namespace muster
