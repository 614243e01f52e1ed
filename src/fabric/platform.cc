// SPDX-License-Identifier: Apache-2.0
#include "fabric/platform.h"

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

}  // namespace

Platform platform_of(const PodFabric& pod) {
  const std::string vendor = to_lower(pod.vendor);
  const std::string tag = to_lower(pod.asset_tag);
  const auto has = [](const std::string& text, std::string_view word) {
    return text.find(word) != std::string::npos;
  };
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
