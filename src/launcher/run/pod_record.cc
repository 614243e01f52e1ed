// SPDX-License-Identifier: Apache-2.0
#include "launcher/run/pod_record.h"

#include <algorithm>

namespace muster {

namespace {

constexpr size_t kMemorySamples = 8;

}  // namespace

void keep_sample(std::vector<MemorySample>& samples, MemorySample sample) {
  if (samples.size() >= kMemorySamples) {
    const bool fullest = std::all_of(samples.begin(), samples.end(),
                                     [&samples](const MemorySample& other) {
                                       return other.bytes <= samples[1].bytes;
                                     });
    samples.erase(samples.begin() + (fullest ? 2 : 1));
  }
  samples.push_back(sample);
}

}  // namespace muster
