// SPDX-License-Identifier: Apache-2.0
#include "fabric/facts/facts_names.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "base/text.h"

namespace muster {

namespace {

using Json = nlohmann::json;

struct Meant {
  const char* written;
  const char* meant;
};

// Names in other tools and in people's heads, by where they stand.
constexpr Meant kOfPod[] = {
    {"env", "environment"},
    {"envs", "environment"},
    {"variables", "environment"},
    {"environment_variables", "environment"},
    {"nccl", "nccl_version"},
    {"adapters", "hcas"},
    {"nics", "hcas"},
    {"devices", "hcas"},
    {"interfaces", "netdevs"},
    {"plugin", "plugins"},
    {"driver_version", "gpu_driver"},
    {"shm", "shm_bytes"},
    {"shm_size", "shm_bytes"},
    {"dev_shm", "shm_bytes"},
    {"/dev/shm", "shm_bytes"},
    {"nvidia_peermem", "peermem"},
    {"nv_peer_mem", "peermem"},
    {"memlock", "memlock_bytes"},
    {"ulimit_l", "memlock_bytes"},
    {"max_locked_memory", "memlock_bytes"},
    {"hostnetwork", "host_network"},
    {"peer_ip", "peer_address"},
    {"vm", "virtual_machine"},
    {"rccl", "nccl_version"},
    {"rccl_version", "nccl_version"},
    {"rccl_conf", "nccl_conf"},
    {"rccl_user_conf", "nccl_user_conf"},
    {"hostname", "name"},
    {"gpu_count", "gpus"},
    {"num_gpus", "gpus"},
    {"gpu", "gpus"},
    {"instance_type", "shape"},
    {"machine_type", "shape"},
    {"instance", "shape"},
    {"vm_size", "shape"},
    {"instance_shape", "shape"},
    {"driver", "gpu_driver"},
    {"nvidia_driver", "gpu_driver"},
    {"cuda", "cuda_version"},
    {"kernel_modules", "modules"},
    {"rdma_devices", "hcas"},
    {"ib_devices", "hcas"},
    {"rdma", "hcas"},
    {"infiniband", "hcas"},
    {"rdma_adapters", "hcas"},
    {"rdma_nics", "hcas"},
    {"hca", "hcas"},
    {"ifaces", "netdevs"},
    {"networks", "netdevs"},
    {"network_interfaces", "netdevs"},
    {"ip", "peer_address"},
    {"pod_ip", "peer_address"},
    {"host_ip", "peer_address"},
    {"ip_address", "peer_address"},
    {"node_name", "node"},
};
constexpr Meant kOfPort[] = {
    {"rate", "rate_gbps"},
    {"speed", "rate_gbps"},
    {"linklayer", "link_layer"},
    {"layer", "link_layer"},
    {"gid", "gids"},
    {"gid_table", "gids"},
    {"interface", "netdev"},
    {"physical_state", "phys_state"},
    {"port_state", "state"},
};
constexpr Meant kOfGpu[] = {
    {"model", "name"}, {"type", "name"}, {"product", "name"}};
constexpr Meant kOfGid[] = {
    {"ndev", "netdev"}, {"interface", "netdev"}, {"dev", "netdev"},
    {"idx", "index"},   {"gid_index", "index"},  {"gid_type", "type"},
    {"ver", "type"},    {"version", "type"},     {"address", "gid"},
};
constexpr Meant kOfNetdev[] = {
    {"ip", "addresses"},          {"ips", "addresses"},
    {"ipv4", "addresses"},        {"address", "addresses"},
    {"speed", "speed_mbps"},      {"type", "kind"},
    {"default", "default_route"}, {"state", "up"},
    {"operstate", "up"},
};

// Tools whose output is not read, and what to write of it.
constexpr Meant kTools[] = {
    {"lspci", "pci_hcas: [\"0000:1a:00.0 15b3:1021\"] (`lspci -Dn`), and hcas"},
    {"ucx_info", "ucx: \"1.15.0\" (`ucx_info -v`)"},
    {"ompi_info", "mpi: \"Open MPI 4.1.7\""},
    {"mpirun", "mpi: \"Open MPI 4.1.7\""},
    {"lstopo", "nics of a GPU, or the text of `nvidia-smi topo -m`"},
    {"hwloc_ls", "nics of a GPU, or the text of `nvidia-smi topo -m`"},
    {"lsmod", "modules: [\"ib_uverbs\", \"mlx5_ib\"], and peermem: true"},
    {"df", "shm_bytes: \"64 MiB\""},
    {"ethtool", "speed_mbps of the interface in netdevs"},
    {"rocm_smi", "gpus: \"8x AMD Instinct MI300X\""},
    {"amd_smi", "gpus: \"8x AMD Instinct MI300X\""},
    {"log",
     "nccl_version, and NCCL's lines of adapters and interfaces as hcas "
     "and netdevs"},
    {"nccl_log",
     "nccl_version, and NCCL's lines of adapters and interfaces as "
     "hcas and netdevs"},
};

struct Names {
  const char* where;
  std::span<const Meant> list;
};

Names names_in(FactsPlace place) {
  switch (place) {
    case FactsPlace::kPod:
      return {"pods", kOfPod};
    case FactsPlace::kHca:
      return {"hcas", kOfPort};
    case FactsPlace::kPort:
      return {"ports", kOfPort};
    case FactsPlace::kGid:
      return {"gids", kOfGid};
    case FactsPlace::kGpu:
      return {"gpus", kOfGpu};
    case FactsPlace::kNetdev:
      break;
  }
  return {"netdevs", kOfNetdev};
}

}  // namespace

std::string plain_field_name(const std::string& key) {
  std::string out = to_lower(trim(key.substr(0, key.find('|'))));
  std::replace(out.begin(), out.end(), ' ', '_');
  std::replace(out.begin(), out.end(), '-', '_');
  if (out.starts_with('_')) return out;  // a person's own remark
  const auto twice = [](char a, char b) { return a == '_' && b == '_'; };
  out.erase(std::unique(out.begin(), out.end(), twice), out.end());
  return out;
}

std::string instead_of_tool(const std::string& key) {
  const std::string plain = plain_field_name(key);
  for (const Meant& tool : kTools) {
    const std::string name = tool.written;
    if (plain == name || plain.starts_with(name + "_")) return tool.meant;
  }
  return "";
}

bool is_command_field(const std::string& plain) {
  constexpr const char* kFields[] = {"command",
                                     "command_line",
                                     "cmd",
                                     "launch_command",
                                     "mpirun",
                                     "mpirun_line",
                                     "mpirun_command",
                                     "run_command",
                                     "mpiexec",
                                     "args"};
  return std::find(std::begin(kFields), std::end(kFields), plain) !=
         std::end(kFields);
}

bool is_other_name_in_pod(const std::string& plain) {
  return is_command_field(plain) ||
         std::any_of(std::begin(kOfPod), std::end(kOfPod),
                     [&](auto& meant) { return plain == meant.written; });
}

void rename_fields(Json& object, FactsPlace place,
                   std::vector<std::string>& notes) {
  if (!object.is_object()) return;
  const Names names = names_in(place);
  std::vector<std::string> keys;
  for (const auto& item : object.items()) keys.push_back(item.key());
  for (const std::string& written : keys) {
    const std::string key = plain_field_name(written);
    if (key != written && !object.contains(key)) {
      object[key] = std::move(object[written]);
      object.erase(written);
    }
    for (const Meant& name : names.list) {
      if (key != name.written || object.contains(name.meant) ||
          !object.contains(key)) {
        continue;
      }
      object[name.meant] = std::move(object[key]);
      object.erase(key);
      const std::string note =
          std::string(names.where) + ": " + key + " is read as " + name.meant;
      if (std::find(notes.begin(), notes.end(), note) == notes.end()) {
        notes.push_back(note);
      }
      break;
    }
  }
}

}  // namespace muster
