// SPDX-License-Identifier: Apache-2.0
// Sources: EC2 guide, instance types with EFA for GPUs or MPI (some sizes of
// g5, c5n and the like have it on request: not here); Azure's sizes, in which
// an "r" behind the number means RDMA; Google's pages of A3 and A4.
#include "fabric/policy/network/shape_network.h"

#include <array>
#include <string_view>

#include "base/text.h"

namespace muster {

namespace {

struct Shape {
  std::string_view prefix;
  FabricTransport network;
};

constexpr std::array kShapes = {
    Shape{"p4d.", FabricTransport::kEfa},
    Shape{"p4de.", FabricTransport::kEfa},
    Shape{"p5.48", FabricTransport::kEfa},
    Shape{"p5e.", FabricTransport::kEfa},
    Shape{"p5en.", FabricTransport::kEfa},
    Shape{"p6-", FabricTransport::kEfa},
    Shape{"p6e-", FabricTransport::kEfa},
    Shape{"hpc6", FabricTransport::kEfa},
    Shape{"hpc7", FabricTransport::kEfa},
    Shape{"a3-megagpu", FabricTransport::kTcpx},
    Shape{"a3-highgpu-8g", FabricTransport::kTcpx},
    Shape{"a3-ultragpu", FabricTransport::kRoce},
    Shape{"a4-highgpu", FabricTransport::kRoce},
    Shape{"a4x-", FabricTransport::kRoce},
    Shape{"standard_hb", FabricTransport::kInfiniBand},
    Shape{"standard_hc", FabricTransport::kInfiniBand},
    Shape{"standard_hx", FabricTransport::kInfiniBand},
};

// "standard_nd96isr_h100_v5": letters behind the number of processors.
bool is_azure_with_rdma(std::string_view shape) {
  constexpr std::string_view kStem = "standard_n";
  if (!shape.starts_with(kStem)) return false;
  shape.remove_prefix(kStem.size() + 1);
  const size_t digits = shape.find_first_not_of("0123456789");
  if (digits == 0 || digits == shape.npos) return false;
  const auto letters = shape.substr(digits, shape.find('_') - digits);
  return letters.find('r') != letters.npos;
}

}  // namespace

std::optional<FabricTransport> network_of_shape(const PodFabric& pod) {
  for (const std::string& name : {to_lower(pod.shape), to_lower(pod.product)}) {
    for (const Shape& shape : kShapes) {
      if (name.starts_with(shape.prefix)) return shape.network;
    }
    if (is_azure_with_rdma(name)) return FabricTransport::kInfiniBand;
  }
  return std::nullopt;
}

}  // namespace muster
