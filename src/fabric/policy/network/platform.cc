// SPDX-License-Identifier: Apache-2.0
#include "fabric/policy/network/platform.h"

#include <algorithm>

#include "base/text.h"

namespace muster {

namespace {

bool any_driver(const PodFabric& pod, std::string_view driver) {
  return pod.hcas &&
         std::any_of(pod.hcas->begin(), pod.hcas->end(), [&](auto& hca) {
           return hca.driver.starts_with(driver) ||
                  hca.name.starts_with(driver);
         });
}

bool any_prefix(const std::string& text,
                std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](auto prefix) { return text.starts_with(prefix); });
}

// By the cloud's own name of the machine: p5.48xlarge, Standard_ND96…,
// a3-megagpu-8g, BM.GPU.H100.8, ecs.ebmgn8v….
Platform platform_of_shape(const std::string& shape) {
  if (shape.find("xlarge") != std::string::npos || shape.ends_with(".metal")) {
    return Platform::kAws;
  }
  if (shape.starts_with("standard_n") || shape.starts_with("standard_h")) {
    return Platform::kAzure;
  }
  if (any_prefix(shape, {"a2-", "a3-", "a4-", "a4x-", "g2-", "g4-"})) {
    return Platform::kGcp;
  }
  if (any_prefix(shape, {"bm.gpu", "vm.gpu"})) return Platform::kOci;
  if (shape.starts_with("ecs.")) return Platform::kAlibaba;
  return Platform::kNone;
}

}  // namespace

Platform platform_of(const PodFabric& pod) {
  const std::string vendor = to_lower(pod.vendor);
  const std::string tag = to_lower(pod.asset_tag);
  const auto has = [](const std::string& text, std::string_view word) {
    return text.find(word) != std::string::npos;
  };
  for (const std::string& name : {to_lower(pod.shape), to_lower(pod.product)}) {
    const Platform found = platform_of_shape(name);
    if (found != Platform::kNone) return found;
  }
  if (has(vendor, "amazon")) return Platform::kAws;
  if (has(vendor, "microsoft") || pod.asset_tag.starts_with("7783-7084") ||
      any_driver(pod, "mlx5_ib0")) {  // names given by Azure's images
    return Platform::kAzure;
  }
  if (has(vendor, "google")) return Platform::kGcp;
  if (has(tag, "oraclecloud") || has(vendor, "oracle cloud") ||
      pod.shape.starts_with("BM.GPU")) {
    return Platform::kOci;
  }
  if (has(vendor, "alibaba") || any_driver(pod, "erdma")) {
    return Platform::kAlibaba;
  }
  if (any_driver(pod, "cxi")) return Platform::kSlingshot;
  return Platform::kNone;
}

std::string_view platform_name(Platform platform) {
  switch (platform) {
    case Platform::kAws:
      return "AWS";
    case Platform::kAzure:
      return "Azure";
    case Platform::kGcp:
      return "Google Cloud";
    case Platform::kOci:
      return "Oracle Cloud";
    case Platform::kAlibaba:
      return "Alibaba Cloud";
    case Platform::kSlingshot:
      return "HPE Slingshot";
    case Platform::kNone:
      break;
  }
  return "";
}

}  // namespace muster
