// SPDX-License-Identifier: Apache-2.0
// NCCL versions and the few behaviours that change with them. Pure.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

struct NcclVersion {
  int major = 0;
  int minor = 0;
  int patch = 0;
  auto operator<=>(const NcclVersion&) const = default;
  [[nodiscard]] std::string text() const;
};

// "2.21.5", "2.21.5+cuda12.4", "2.21", "22105" (NCCL_VERSION_CODE); versions of
// plugins and of UCX, which have the same form.
std::optional<NcclVersion> parse_nccl_version(std::string_view text);

// Versions at which a rule of this folder changes. Source: NCCL release notes
// and NCCL_PARAM definitions at each tag.
inline constexpr NcclVersion kLoAdmitted{2, 3, 5};        // by any ^ list
inline constexpr NcclVersion kLevelWords{2, 6, 0};        // PIX, PXB, …
inline constexpr NcclVersion kNetByName{2, 10, 0};        // NCCL_NET
inline constexpr NcclVersion kDmaBuf{2, 13, 0};           // memory of GPUs
inline constexpr NcclVersion kDmaBufAsked{2, 14, 0};      // all answers
inline constexpr NcclVersion kLinkLayer{2, 12, 7};        // RoCE with a LID
inline constexpr NcclVersion kMtuOfSender{2, 20, 0};      // until 2.30
inline constexpr NcclVersion kGidScan{2, 21, 0};          // index -1: scan
inline constexpr NcclVersion kGidScanSafe{2, 26, 2};      // survives EINVAL
inline constexpr NcclVersion kPeermemModule{2, 23, 0};    // new module path
inline constexpr NcclVersion kAmdKernelPeers{2, 21, 5};   // RCCL, kernel 6.4
inline constexpr NcclVersion kVersionCompared{2, 23, 0};  // all of it
inline constexpr NcclVersion kCumemHost{2, 24, 0};
inline constexpr NcclVersion kCumemHostFallback{2, 26, 5};
inline constexpr NcclVersion kMnnvlFatal{2, 27, 0};
inline constexpr NcclVersion kRunningOnly{2, 28, 0};  // sockets: IFF_RUNNING
inline constexpr NcclVersion kPciOrder{2, 29, 7};     // devices by PCI path
inline constexpr NcclVersion kLagFixed{2, 30, 0};
inline constexpr NcclVersion kMtuAgreed{2, 30, 0};  // the smaller of both
inline constexpr NcclVersion kConfCrLf{2, 30, 3};   // nccl.conf of Windows
inline constexpr NcclVersion kSubnetAware{2, 30, 7};

}  // namespace muster
