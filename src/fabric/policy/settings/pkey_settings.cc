// SPDX-License-Identifier: Apache-2.0
// InfiniBand partitions. NCCL takes the key at index 0; two limited members of
// a partition (keys without the highest bit) do not reach each other, so where
// index 0 is limited and another is full, that index is needed. UCX looks for
// a full key by itself. Pure.
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "fabric/policy/job_state.h"

namespace muster {

namespace {

constexpr uint16_t kFullMember = 0x8000;

std::optional<uint16_t> key_of(const std::string& text) {
  std::string_view digits = text;
  if (digits.starts_with("0x")) digits.remove_prefix(2);
  uint16_t key = 0;
  const char* end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, key, 16);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return key;
}

bool is_full(const std::string& text) {
  const auto key = key_of(text);
  return key && (*key & kFullMember) != 0;
}

// The first index with a full key on all chosen ports; -1 if 0 is right, or
// unknown.
int index_needed(const FabricPodState& pod) {
  int needed = -1;
  for (const PortView& view : pod.ports) {
    const auto& keys = view.port->pkeys;
    if (!view.chosen || keys.empty() || !key_of(keys[0])) continue;
    if (is_full(keys[0])) return -1;
    int first = -1;
    for (size_t i = 1; i < keys.size() && first < 0; ++i) {
      if (is_full(keys[i])) first = static_cast<int>(i);
    }
    if (first < 0 || (needed >= 0 && needed != first)) return -1;
    needed = first;
  }
  return needed;
}

}  // namespace

void set_pkeys(FabricJob& job) {
  if (job.transport != FabricTransport::kInfiniBand) return;
  for (FabricPodState& pod : job.pods) {
    const int index = index_needed(pod);
    if (index < 0) continue;
    FabricSetting setting{"NCCL",
                          "NCCL_IB_PKEY",
                          std::to_string(index),
                          "the pod is a limited member of the partition at "
                          "index 0, and limited members do not reach each "
                          "other",
                          "the ports' partition keys",
                          FabricConfidence::kLikely,
                          "NCCL guide, NCCL_IB_PKEY"};
    setting.alone = "the key at index 0";
    setting.rejected = {"0: that of a limited member"};
    propose(job, pod, setting);
  }
}

}  // namespace muster
