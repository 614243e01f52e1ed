// SPDX-License-Identifier: Apache-2.0
// RDMA adapters as sysfs shows them. In a pod sysfs often lists the node's
// adapters and /dev/infiniband only those that were given.
#include <algorithm>
#include <array>
#include <cerrno>
#include <set>

#include "base/text.h"
#include "fabric/collect/collect_parts.h"
#include "fabric/collect/sys_files.h"

namespace muster {

namespace {

constexpr int kMaxGids = 1024;

// "4: ACTIVE" -> "ACTIVE".
std::string after_colon(const std::string& text) {
  const size_t at = text.find(": ");
  return at == std::string::npos ? text : text.substr(at + 2);
}

bool is_zero_gid(const std::string& gid) {
  return gid.find_first_not_of("0:") == std::string::npos;
}

std::optional<FabricGid> read_gid(const std::string& port, int index) {
  const std::string number = std::to_string(index);
  FabricGid gid;
  gid.index = index;
  const SysText address = read_sys(port + "/gids/" + number);
  if (!address) {
    if (address.error != EINVAL) return std::nullopt;
    gid.readable = false;
    return gid;
  }
  if (address.text.empty() || is_zero_gid(address.text)) return std::nullopt;
  gid.gid = address.text;
  gid.readable = true;
  const std::string attributes = port + "/gid_attrs";
  const std::string type = read_sys(attributes + "/types/" + number).text;
  if (type.find("v2") != std::string::npos) gid.type = "v2";
  if (type.find("v1") != std::string::npos) gid.type = "v1";
  gid.netdev = read_sys(attributes + "/ndevs/" + number).text;
  return gid;
}

// The partition keys by index, without the empty end of the table.
std::vector<std::string> read_pkeys(const std::string& directory) {
  constexpr int kMostPkeys = 16;
  std::vector<std::string> out;
  for (int i = 0; i < kMostPkeys; ++i) {
    const SysText key = read_sys(directory + "/pkeys/" + std::to_string(i));
    if (key.text.empty()) break;
    out.push_back(key.text);
  }
  while (!out.empty() && out.back() == "0x0000") out.pop_back();
  return out;
}

FabricPort read_port(const std::string& directory, int number) {
  FabricPort port;
  port.number = number;
  port.state = after_colon(read_sys(directory + "/state").text);
  port.phys_state = after_colon(read_sys(directory + "/phys_state").text);
  port.link_layer = read_sys(directory + "/link_layer").text;
  const std::string rate = read_sys(directory + "/rate").text;
  const auto words = split_words(rate);
  if (!words.empty()) {
    if (const auto gbps = parse_integer(words[0])) {
      port.rate_gbps = static_cast<double>(*gbps);
    }
  }
  if (port.link_layer == "InfiniBand") port.pkeys = read_pkeys(directory);
  const auto entries = list_sys(directory + "/gids");
  if (!entries) return port;
  port.gids.emplace();
  for (int i = 0;
       i < std::min<int>(static_cast<int>(entries->size()), kMaxGids); ++i) {
    if (auto gid = read_gid(directory, i)) port.gids->push_back(*gid);
  }
  if (port.link_layer == "InfiniBand") {
    for (FabricGid& gid : *port.gids) gid.type = "ib";
  }
  return port;
}

// The interface of a port: by dev_port where an adapter has several.
std::string port_netdev(const std::string& device, int number, size_t ports) {
  const auto names = list_sys(device + "/net");
  if (!names || names->empty()) return "";
  for (const std::string& name : *names) {
    const auto dev_port =
        read_sys_number(device + "/net/" + name + "/dev_port");
    if (dev_port && *dev_port == number - 1) return name;
  }
  return ports == 1 ? names->front() : "";
}

// Software adapters have no device; the entries of one port name one interface.
std::string netdev_of_gids(const FabricPort& port) {
  if (!port.gids || port.link_layer != "Ethernet") return "";
  std::string out;
  for (const FabricGid& gid : *port.gids) {
    if (gid.netdev.empty() || gid.netdev == out) continue;
    if (!out.empty()) return "";  // VLANs: which one is not known
    out = gid.netdev;
  }
  return out;
}

// An adapter's device has the network card's driver; RDMA has one of its own,
// which sysfs does not name (irdma above ice, bnxt_re above bnxt_en).
std::string rdma_driver(const std::string& of_device) {
  constexpr std::array<std::pair<std::string_view, const char*>, 9> kAbove = {
      {{"mlx5_core", "mlx5"},
       {"mlx4_core", "mlx4"},
       {"ice", "irdma"},
       {"i40e", "irdma"},
       {"iavf", "irdma"},
       {"idpf", "irdma"},
       {"bnxt_en", "bnxt_re"},
       {"qede", "qedr"},
       {"cxgb4", "iw_cxgb4"}}};
  for (const auto& [card, rdma] : kAbove) {
    if (of_device == card) return rdma;
  }
  return of_device;
}

FabricHca read_hca(const std::string& root, const std::string& name) {
  const std::string path = root + "/sys/class/infiniband/" + name;
  const std::string device = path + "/device";
  FabricHca hca;
  hca.name = name;
  hca.driver = rdma_driver(link_name(device + "/driver"));
  hca.firmware = read_sys(path + "/fw_ver").text;
  const std::string node_type = read_sys(path + "/node_type").text;
  if (node_type.find("RNIC") != std::string::npos) hca.iwarp = true;
  hca.pci = link_name(device);
  hca.pci_path = device_path(device);
  if (const auto numa = read_sys_number(device + "/numa_node")) {
    hca.numa = static_cast<int>(std::min<int64_t>(*numa, 1 << 20));
  }
  if (sys_exists(device)) hca.vf = sys_exists(device + "/physfn");
  if (name.find("bond") != std::string::npos) hca.bond = true;
  const auto ports = list_sys(path + "/ports");
  for (const std::string& port :
       ports.value_or(std::vector<std::string>{"1"})) {
    const auto number = parse_integer(port);
    if (!number || *number < 1 || *number > 255) continue;
    FabricPort& added = hca.ports.emplace_back(
        read_port(path + "/ports/" + port, static_cast<int>(*number)));
    added.netdev = port_netdev(device, added.number, ports ? ports->size() : 1);
    if (added.netdev.empty()) added.netdev = netdev_of_gids(added);
  }
  return hca;
}

// Which adapters have their device node in the pod.
void mark_devices(const std::string& root, PodFabric& pod) {
  const auto nodes = list_sys(root + "/dev/infiniband");
  pod.uverbs = false;
  std::set<std::string> given;
  for (const std::string& node : nodes.value_or(std::vector<std::string>{})) {
    if (!node.starts_with("uverbs")) continue;
    pod.uverbs = true;
    given.insert(
        read_sys(root + "/sys/class/infiniband_verbs/" + node + "/ibdev").text);
  }
  for (FabricHca& hca : *pod.hcas) {
    if (hca.driver != "cxi") hca.device = given.contains(hca.name);
  }
}

// Vendors whose devices are RDMA adapters with any driver. Network cards of
// Broadcom and Intel are RDMA adapters only where they are set up for it.
struct Maker {
  std::string_view vendor;
  std::string_view device;  // the beginning of its number
  bool network;             // of PCI's class of network cards
};
constexpr std::array<Maker, 7> kMakers = {{{"0x15b3", "", true},
                                           {"0x1d0f", "0xefa", false},
                                           {"0x17db", "", false},
                                           {"0x1dd8", "", true},
                                           {"0x1ded", "0x107f", false},
                                           {"0x8086", "0x24f", false},
                                           {"0x434e", "", false}}};

void collect_bus(const std::string& root, const PciBus& bus, PodFabric& pod) {
  if (!bus) return;
  pod.pci_hcas.emplace();
  for (const auto& [name, vendor] : *bus) {
    const auto maker = std::find_if(
        kMakers.begin(), kMakers.end(),
        [&vendor = vendor](const auto& one) { return one.vendor == vendor; });
    if (maker == kMakers.end()) continue;
    const std::string path = pci_bus_directory(root) + "/" + name;
    const std::string device = read_sys(path + "/device").text;
    const std::string kind = read_sys(path + "/class").text;
    if (!device.starts_with(maker->device)) continue;
    if (maker->network && !kind.starts_with("0x02")) continue;
    pod.pci_hcas->push_back(name + " " + vendor.substr(2) + ":" +
                            (device.size() > 2 ? device.substr(2) : ""));
  }
}

void collect_modules(const std::string& root, PodFabric& pod) {
  if (!sys_exists(root + "/sys/module")) return;
  pod.modules.emplace();
  for (const char* name :
       {"ib_core", "ib_uverbs", "rdma_cm", "mlx5_core", "mlx5_ib", "efa",
        "irdma", "bnxt_re", "erdma", "ionic_rdma", "cxi_core", "rdma_rxe",
        "nvidia_peermem", "nv_peer_mem"}) {
    if (sys_exists(root + "/sys/module/" + name)) pod.modules->push_back(name);
  }
  pod.peermem = std::any_of(
      pod.modules->begin(), pod.modules->end(), [](const std::string& name) {
        return name == "nvidia_peermem" || name == "nv_peer_mem";
      });
  pod.memory_peers = sys_exists(root + "/sys/kernel/mm/memory_peers");
}

}  // namespace

void collect_hcas(const std::string& root, const PciBus& bus, PodFabric& pod) {
  if (!sys_exists(root + "/sys/class")) return;  // no sysfs: unknown
  pod.hcas.emplace();
  const auto names = list_sys(root + "/sys/class/infiniband");
  for (const std::string& name : names.value_or(std::vector<std::string>{})) {
    pod.hcas->push_back(read_hca(root, name));
  }
  const auto slingshot = list_sys(root + "/sys/class/cxi");
  for (const std::string& name :
       slingshot.value_or(std::vector<std::string>{})) {
    FabricHca& hca = pod.hcas->emplace_back();
    hca.name = name;
    hca.driver = "cxi";
    hca.pci_path = device_path(root + "/sys/class/cxi/" + name + "/device");
    hca.ports.emplace_back();
  }
  mark_devices(root, pod);
  collect_bus(root, bus, pod);
  collect_modules(root, pod);
}

}  // namespace muster
