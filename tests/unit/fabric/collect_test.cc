// SPDX-License-Identifier: Apache-2.0
// The collector over recorded and hostile directories.
#include "fabric/collect/collect.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "../base/temporary_directory.h"
#include "catch.h"
#include "fabric/facts/facts_json.h"
#include "fabric/policy/network/ports.h"
#include "fabric/policy/policy.h"

using namespace muster;
namespace fs = std::filesystem;

namespace {

void add_roce_adapter(const TemporaryDirectory& root) {
  const std::string device =
      "/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0";
  root.write(device + "/numa_node", "1\n");
  root.write(device + "/net/net1/dev_port", "0\n");
  root.link(device + "/driver", "/sys/bus/pci/drivers/mlx5_core");
  const std::string hca = "/sys/class/infiniband/mlx5_7";
  root.link(hca + "/device",
            "../../../devices/pci0000:15/0000:15:01.0/"
            "0000:16:00.0");
  root.write(hca + "/ports/1/state", "4: ACTIVE\n");
  root.write(hca + "/ports/1/link_layer", "Ethernet\n");
  root.write(hca + "/ports/1/rate", "400 Gb/sec (4X NDR)\n");
  const char* zero = "0000:0000:0000:0000:0000:0000:0000:0000\n";
  const char* mapped = "0000:0000:0000:0000:0000:ffff:0a00:0102\n";
  root.write(hca + "/ports/1/gids/0", zero);
  root.write(hca + "/ports/1/gids/1", mapped);
  root.write(hca + "/ports/1/gid_attrs/types/1", "RoCE v2\n");
  root.write(hca + "/ports/1/gid_attrs/ndevs/1", "net1\n");
  root.write("/sys/class/infiniband_verbs/uverbs0/ibdev", "mlx5_7\n");
  root.write("/dev/infiniband/uverbs0", "");
}

}  // namespace

TEST_CASE("an adapter is read from sysfs") {
  const TemporaryDirectory root;
  add_roce_adapter(root);
  const PodFabric pod = collect_fabric(root.path());
  REQUIRE(pod.hcas);
  REQUIRE(pod.hcas->size() == 1);
  const FabricHca& hca = pod.hcas->front();
  CHECK(hca.name == "mlx5_7");
  CHECK(hca.driver == "mlx5");
  CHECK(hca.pci == "0000:16:00.0");
  CHECK(hca.pci_path == "pci0000:15/0000:15:01.0/0000:16:00.0");
  CHECK(hca.numa == 1);
  CHECK(yes(hca.device));
  CHECK(no(hca.vf));
  REQUIRE(hca.ports.size() == 1);
  const FabricPort& port = hca.ports.front();
  CHECK(port.state == "ACTIVE");
  CHECK(port.rate_gbps == 400);
  CHECK(port.netdev == "net1");
  REQUIRE(port.gids);
  REQUIRE(port.gids->size() == 1);
  CHECK(port.gids->front().index == 1);
  CHECK(port.gids->front().type == "v2");
}

TEST_CASE("an adapter's driver is that of RDMA, not the network card's") {
  const TemporaryDirectory root;
  const auto driver_above = [&](const std::string& name,
                                const std::string& card) {
    const std::string device = "/sys/devices/pci0000:00/" + name;
    root.link(device + "/driver", "/sys/bus/pci/drivers/" + card);
    root.link("/sys/class/infiniband/" + name + "/device",
              "../../../devices/pci0000:00/" + name);
    root.write("/sys/class/infiniband/" + name + "/ports/1/link_layer",
               "Ethernet\n");
    const PodFabric pod = collect_fabric(root.path());
    const FabricHca* hca = find_hca(pod, name);
    return hca == nullptr ? "" : hca->driver;
  };
  CHECK(driver_above("rocep24s0f0", "ice") == "irdma");
  CHECK(driver_above("bnxt_re0", "bnxt_en") == "bnxt_re");
  CHECK(driver_above("ionic_0", "ionic") == "ionic");
  CHECK(driver_above("erdma_0", "erdma") == "erdma");
  // And so the rule for Intel's with an old NCCL holds for a live machine.
  root.write("/sys/class/infiniband_verbs/uverbs0/ibdev", "rocep24s0f0\n");
  root.write("/dev/infiniband/uverbs0", "");
  const PodFabric pod = collect_fabric(root.path());
  const auto views = view_ports(pod, parse_nccl_version("2.11.4"));
  const auto intel = std::find_if(views.begin(), views.end(), [](auto& view) {
    return view.hca->name == "rocep24s0f0";
  });
  REQUIRE(intel != views.end());
  CHECK(intel->role == "not for NCCL");
}

TEST_CASE("adapters on the bus that are not in the pod") {
  const TemporaryDirectory root;
  root.write("/sys/class/net/lo/flags", "0x9\n");
  const auto add = [&](const std::string& name, const char* vendor,
                       const char* device, const char* kind) {
    const std::string path = "/sys/bus/pci/devices/" + name;
    root.write(path + "/vendor", vendor);
    root.write(path + "/device", device);
    root.write(path + "/class", kind);
  };
  add("0000:01:00.0", "0x15b3\n", "0x1021\n", "0x020700\n");
  add("0000:02:00.0", "0x1dd8\n", "0x1002\n", "0x020000\n");
  add("0000:03:00.0", "0x1ded\n", "0x107f\n", "0x020000\n");
  add("0000:04:00.0", "0x8086\n", "0x24f0\n", "0x020800\n");
  add("0000:05:00.0", "0x8086\n", "0x1592\n", "0x020000\n");  // E810
  add("0000:06:00.0", "0x15b3\n", "0xc2d3\n", "0x080100\n");  // its DMA
  add("0000:07:00.0", "0x1d0f\n", "0xec20\n", "0x020000\n");  // ENA
  const PodFabric pod = collect_fabric(root.path());
  REQUIRE(pod.pci_hcas);
  CHECK(*pod.pci_hcas == std::vector<std::string>{"0000:01:00.0 15b3:1021",
                                                  "0000:02:00.0 1dd8:1002",
                                                  "0000:03:00.0 1ded:107f",
                                                  "0000:04:00.0 8086:24f0"});
}

TEST_CASE("GPUs of AMD and Intel are read from sysfs") {
  const TemporaryDirectory root;
  root.write("/sys/class/net/lo/flags", "0x9\n");
  const auto add = [&](const std::string& name, const char* vendor,
                       const char* kind, const std::string& driver) {
    const std::string device = "/sys/devices/pci0000:40/" + name;
    root.write(device + "/vendor", vendor);
    root.write(device + "/class", kind);
    root.write(device + "/numa_node", "1\n");
    if (!driver.empty()) {
      root.link(device + "/driver", "/sys/bus/pci/drivers/" + driver);
    }
    root.link("/sys/bus/pci/devices/" + name,
              "../../../devices/pci0000:40/" + name);
  };
  add("0000:41:00.0", "0x1002\n", "0x120000\n", "amdgpu");  // MI300X
  add("0000:42:00.0", "0x8086\n", "0x038000\n", "i915");    // Max 1550
  add("0000:43:00.0", "0x8086\n", "0x030000\n", "xe");
  add("0000:44:00.0", "0x1002\n", "0x120000\n", "vfio-pci");  // not the pod's
  add("0000:45:00.0", "0x1002\n", "0x060400\n", "pcieport");
  const PodFabric pod = collect_fabric(root.path());
  REQUIRE(pod.gpus);
  REQUIRE(pod.gpus->size() == 3);
  CHECK(pod.gpus->at(0).vendor == "amd");
  CHECK(pod.gpus->at(0).pci_path == "pci0000:40/0000:41:00.0");
  CHECK(pod.gpus->at(0).numa == 1);
  CHECK(pod.gpus->at(1).vendor == "intel");
  CHECK(pod.gpus->at(2).vendor == "intel");
}

TEST_CASE("partition keys and iWARP are read from sysfs") {
  const TemporaryDirectory root;
  const std::string hca = "/sys/class/infiniband/mlx5_0";
  root.write(hca + "/node_type", "1: CA\n");
  root.write(hca + "/ports/1/link_layer", "InfiniBand\n");
  root.write(hca + "/ports/1/pkeys/0", "0x7fff\n");
  root.write(hca + "/ports/1/pkeys/1", "0x800b\n");
  root.write(hca + "/ports/1/pkeys/2", "0x0000\n");
  root.write("/sys/class/infiniband/siw0/node_type", "4: RNIC\n");
  const PodFabric pod = collect_fabric(root.path());
  REQUIRE(pod.hcas);
  REQUIRE(pod.hcas->size() == 2);
  CHECK(pod.hcas->at(0).ports.at(0).pkeys ==
        std::vector<std::string>{"0x7fff", "0x800b"});
  CHECK_FALSE(pod.hcas->at(0).iwarp);
  CHECK(yes(pod.hcas->at(1).iwarp));
}

TEST_CASE("lines of nccl.conf are kept as NCCL takes them") {
  const TemporaryDirectory root;
  root.write("/etc/nccl.conf",
             "# policy\nNCCL_IB_TC = 106\nNCCL_IB_SL=3\nNCCL_NET=IB\r\nX\n");
  const auto conf = collect_fabric(root.path()).nccl_conf;
  CHECK(conf == std::map<std::string, std::string>{{"NCCL_IB_TC ", " 106"},
                                                   {"NCCL_IB_SL", "3"},
                                                   {"NCCL_NET", "IB?"}});
}

TEST_CASE("interfaces get their addresses from the kernel's tables") {
  const TemporaryDirectory root;
  root.write("/sys/class/net/eth0/flags", "0x1003\n");
  root.write("/sys/class/net/eth0/operstate", "up\n");
  root.write("/sys/class/net/eth0/ifindex", "7\n");
  root.write("/sys/class/net/net1/flags", "0x1003\n");
  root.write("/sys/class/net/net1/ifindex", "3\n");
  root.write("/proc/net/route",
             "Iface Destination Gateway Flags RefCnt Use Metric Mask\n"
             "eth0 00000000 0101010A 0003 0 0 0 00000000\n"
             "eth0 0000000A 00000000 0001 0 0 0 00FFFFFF\n"
             "net1 0005A8C0 00000000 0001 0 0 0 00FFFFFF\n");
  root.write("/proc/net/fib_trie",
             "  |-- 10.0.0.9\n     /32 host LOCAL\n"
             "  |-- 192.168.5.4\n     /32 host LOCAL\n"
             "  |-- 10.0.0.9\n     /32 host LOCAL\n");
  const PodFabric pod = collect_fabric(root.path());
  REQUIRE(pod.netdevs);
  REQUIRE(pod.netdevs->size() == 2);
  CHECK(pod.netdevs->at(0).name == "net1");  // by index
  CHECK(pod.netdevs->at(0).addresses ==
        std::vector<std::string>{"192.168.5.4/24"});
  CHECK(pod.netdevs->at(1).addresses ==
        std::vector<std::string>{"10.0.0.9/24"});
  CHECK(yes(pod.netdevs->at(1).default_route));
}

TEST_CASE("nothing there is unknown, not none") {
  const TemporaryDirectory root;
  const PodFabric pod = collect_fabric(root.path());
  CHECK(!pod.hcas);
  CHECK(!pod.netdevs);
  CHECK(!pod.gpus);
  CHECK(pod.memlock_bytes == -2);
}

TEST_CASE("IPC_LOCK lifts the limit on locked memory") {
  const auto limit = [](const char* effective, const char* ids) {
    const TemporaryDirectory root;
    root.write("/proc/self/limits",
               "Max locked memory         8388608    8388608    bytes\n");
    root.write("/proc/self/status",
               std::string("Name:\tx\nCapPrm:\tffffffffffffffff\nCapEff:\t") +
                   effective + "\n");
    root.write("/proc/self/uid_map", ids);
    return collect_fabric(root.path()).memlock_bytes;
  };
  const char* whole = "         0          0 4294967295\n";
  CHECK(limit("0000000000000000", whole) == 8 << 20);
  CHECK(limit("00000000a80425fb", whole) == 8 << 20);  // what containers get
  CHECK(limit("00000000a80465fb", whole) == -1);
  CHECK(limit("00000000a80465fb", "0 100000 65536\n") == 8 << 20);
  CHECK(limit("", whole) == 8 << 20);
}

TEST_CASE("a hostile system neither hangs nor lies") {
  const TemporaryDirectory root;
  add_roce_adapter(root);
  const std::string hca = root.path() + "/sys/class/infiniband/";
  fs::create_directories(hca + "bad/ports/1/gids");
  REQUIRE(::mkfifo((hca + "bad/ports/1/state").c_str(), 0600) == 0);
  fs::create_symlink("loop", hca + "bad/device");
  fs::create_symlink("loop", hca + "bad/loop");
  root.write("/sys/class/infiniband/bad/ports/1/link_layer",
             std::string(1 << 20, 'x'));
  root.write("/sys/class/infiniband/bad/ports/1/rate", "\x1b[31m nan \n");
  root.write("/sys/class/infiniband/bad/ports/1/gids/0", "\xff\xfe\x01");
  root.write("/sys/class/infiniband/bad/ports/99999999999/state", "4: ACTIVE");
  root.write("/sys/class/infiniband/file-not-directory", "x");
  root.write("/etc/nccl.conf", std::string(1 << 20, '='));
  root.write("/usr/lib/libc.so.6", "");
  for (const char* fifo : {"/etc/ld.so.conf", "/usr/lib/libnccl.so.2"}) {
    REQUIRE(::mkfifo((root.path() + fifo).c_str(), 0600) == 0);
  }
  const auto start = std::chrono::steady_clock::now();
  KnownFiles nothing;
  std::optional<DriverAnswers> never_asked;
  const std::string text =
      collect_fabric_json(root.path(), find_libraries(root.path(), "", nothing),
                          nothing, never_asked);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(30));
  CHECK(text.find('\x1b') == std::string::npos);
  const auto facts = read_facts(text, "hostile");
  REQUIRE(facts);
  for (const std::string& note : facts->notes) {
    INFO(note);
    CHECK(note.find("\" is not a ") != note.npos);
    CHECK(note.find('\x1b') == note.npos);
  }
  REQUIRE(facts->pods[0].hcas->size() == 3);
  CHECK(plan_fabric(facts->pods, {}).pods.size() == 1);
}

TEST_CASE("what a launch adds counts: its program's NCCL, a file it names") {
  const TemporaryDirectory root;
  root.write("/mnt/topo.xml", "<system/>");
  KnownFiles nothing;
  const auto collected = [&](const char* file) {
    std::optional<DriverAnswers> never_asked;
    LaunchAdds adds;
    adds.nccl = "2.28.9";
    adds.env = {{"NCCL_TOPO_FILE", file}};
    const std::string text =
        collect_fabric_json(root.path(), {}, nothing, never_asked, adds);
    return read_facts(text, "pod").value().pods.at(0);
  };
  CHECK(collected("/mnt/topo.xml").nccl_version == "2.28.9");
  CHECK(collected("/mnt/topo.xml").files ==
        std::vector<std::string>{"/mnt/topo.xml"});
  CHECK(collected("/mnt/other.xml").files->empty());
}

TEST_CASE("what variables name is looked for where ranks would") {
  const TemporaryDirectory root;
  root.write("/etc/there.conf", "NCCL_DEBUG=INFO\n");
  root.write("/job/rel.xml", "");
  root.write("/opt/lib/libnccl-tuner-ours.so", "");
  root.write("/opt/lib/libmine.so", "");
  root.write("/etc/ld.so.cache", std::string("x/opt/odd/libodd.so\0y", 21));
  root.write("/opt/plugins/libnccl-net-own.so", "");
  const auto collected = [&](const Environment& env, const char* cwd = "/job",
                             const char* nccl = "2.28.9") {
    std::optional<DriverAnswers> never_asked;
    KnownFiles nothing;
    LaunchAdds adds;
    adds.nccl = nccl;
    adds.env = env;
    adds.library_path = "/opt/lib";
    adds.cwd = cwd;
    const std::string text =
        collect_fabric_json(root.path(), {}, nothing, never_asked, adds);
    return read_facts(text, "pod").value().pods.at(0);
  };
  using Missing = std::vector<std::string>;
  const auto missing = [&](const char* name, const char* value,
                           const char* cwd = "/job") {
    return collected({{name, value}}, cwd).missing_files;
  };
  CHECK(missing("NCCL_CONF_FILE", "/etc/there.conf").empty());
  CHECK(missing("NCCL_CONF_FILE", "/etc/no.conf") ==
        Missing{"NCCL_CONF_FILE=/etc/no.conf"});
  CHECK(collected({{"NCCL_CONF_FILE", "/etc/there.conf"}})
            .nccl_user_conf.contains("NCCL_DEBUG"));
  CHECK(missing("NCCL_GRAPH_FILE", "rel.xml").empty());
  CHECK(missing("NCCL_GRAPH_FILE", "no.xml") ==
        Missing{"NCCL_GRAPH_FILE=no.xml"});
  CHECK(missing("NCCL_GRAPH_FILE", "no.xml", "").empty());  // from where?
  CHECK(missing("NCCL_TUNER_PLUGIN", "ours").empty());
  CHECK(missing("NCCL_TUNER_PLUGIN", "others") ==
        Missing{"NCCL_TUNER_PLUGIN=others"});
  CHECK(missing("LD_PRELOAD", "/opt/lib/libmine.so libmine.so:libno.so") ==
        Missing{"LD_PRELOAD=libno.so"});
  CHECK(missing("LD_PRELOAD", "libodd.so").empty());
  CHECK(missing("LD_PRELOAD", "/opt/$LIB/libx.so").empty());
  CHECK(missing("UCX_CONFIG_DIR", "/etc/ucx") ==
        Missing{"UCX_CONFIG_DIR=/etc/ucx"});
  // Where nobody may look nothing is missing.
  CHECK(missing("UCC_CONFIG_FILE", "/etc/there.conf/x") ==
        Missing{"UCC_CONFIG_FILE=/etc/there.conf/x"});
  CHECK(missing("UCC_CONFIG_FILE", "auto").empty());
  // A network plugin that is named by its path is one.
  const auto own =
      collected({{"NCCL_NET_PLUGIN", "/opt/plugins/libnccl-net-own.so"}});
  REQUIRE(own.plugins);
  REQUIRE(own.plugins->size() == 1);
  CHECK(own.plugins->front().name == "libnccl-net-own.so");
  CHECK(collected({{"NCCL_NET_PLUGIN", "/opt/no.so"}}).plugins->empty());
}

TEST_CASE("variables are read that some check of them looks at") {
  const TemporaryDirectory root;
  root.write("/proc/self/environ",
             "GLOO_SOCKET_IFNAME=ib0\nPSM2_DEVICES=self\nMASTER_ADDR=w0\n"
             "HCOLL_MAIN_IB=mlx5_0:1\nNVSHMEM_HCA_LIST=mlx5_0\nPATH=/bin\n"
             "VLLM_API_KEY=secret\n");
  const auto all = collect_fabric(root.path()).environment;
  CHECK(all.size() == 5);
  CHECK(all.contains("GLOO_SOCKET_IFNAME"));
  CHECK(!all.contains("VLLM_API_KEY"));
}
