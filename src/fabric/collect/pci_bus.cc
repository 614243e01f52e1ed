// SPDX-License-Identifier: Apache-2.0
#include "fabric/collect/pci_bus.h"

#include "fabric/collect/sys_files.h"

namespace muster {

std::string pci_bus_directory(const std::string& root) {
  return root + "/sys/bus/pci/devices";
}

PciBus read_pci_bus(const std::string& root) {
  const std::string directory = pci_bus_directory(root);
  auto names = list_sys(directory);
  if (!names) return std::nullopt;
  PciBus bus;
  bus.emplace();
  for (std::string& name : *names) {
    std::string vendor = read_sys(directory + "/" + name + "/vendor").text;
    bus->push_back({std::move(name), std::move(vendor)});
  }
  return bus;
}

}  // namespace muster
