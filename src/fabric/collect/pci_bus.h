// SPDX-License-Identifier: Apache-2.0
// The functions on the PCI bus with their vendors. A large node has hundreds,
// so it looks at each once for all callers, and reads more only of a wanted
// vendor's. Refuses nothing: without sysfs nullopt.
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
