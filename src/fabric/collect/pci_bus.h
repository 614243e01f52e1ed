// SPDX-License-Identifier: Apache-2.0
// The functions on the PCI bus with their vendors: a large node has hundreds,
// so each is looked at once for all who ask, and more of it is read only where
// the vendor makes what is looked for. Refuses nothing: no sysfs is nullopt.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace muster {

struct PciFunction {
  std::string name;    // "0000:1a:00.0"
  std::string vendor;  // "0x15b3"
};
using PciBus = std::optional<std::vector<PciFunction>>;

std::string pci_bus_directory(const std::string& root);
PciBus read_pci_bus(const std::string& root);

}  // namespace muster
