// SPDX-License-Identifier: Apache-2.0
// What tools print, pasted into a facts file: the same facts as written by
// hand.
#include <nlohmann/json.hpp>

#include "catch.h"
#include "fabric/facts/facts_json.h"
#include "fabric/facts/facts_pasted.h"

using namespace muster;

namespace {

// One pod with such a field, read without a note.
PodFabric pod_with(const char* field, const std::string& text,
                   const std::string& more = "") {
  const auto pod = R"({")" + std::string(field) +
                   "\":" + nlohmann::json(text).dump() + more + "}";
  const auto facts = read_facts(pod, "f");
  INFO(pod);
  if (!facts) FAIL(facts.error().text());
  CHECK(facts->notes == std::vector<std::string>{});
  return facts->pods.at(0);
}

constexpr const char* kDevinfo = R"(Failed to open device
hca_id:	mlx5_2
	transport:			InfiniBand (0)
	fw_ver:				28.39.1002
	phys_port_cnt:			1
		port:	1
			state:			PORT_ACTIVE (4)
			max_mtu:		4096 (5)
			active_mtu:		1024 (3)
			link_layer:		Ethernet
			active_width:		4X (2)
			active_speed:		25.0 Gbps (32)
			phys_state:		LINK_UP (5)
			GID[  0]:		fe80::946d:aeff:fe1c:1, RoCE v1
			GID[  3]:		::ffff:10.0.0.4, RoCE v2

hca_id:	cxgb4_0
	transport:			iWARP (1)
		port:	1
			state:			PORT_DOWN (1)
			link_layer:		Ethernet
)";

constexpr const char* kIbstat = R"(CA 'mlx5_0'
	CA type: MT4129
	Firmware version: 28.39.1002
	Port 1:
		State: Active
		Physical state: LinkUp
		Rate: 400
		Link layer: InfiniBand
CA 'mlx5_1'
	Port 1:
		State: Down
		Physical state: Disabled
		Rate: 40
		Link layer: Ethernet)";

constexpr const char* kIbstatus = R"(Infiniband device 'mlx5_0' port 1 status:
	default gid:	 fe80:0000:0000:0000:946d:ae03:00c0:ab12
	state:		 4: ACTIVE
	phys state:	 5: LinkUp
	rate:		 400 Gb/sec (4X NDR)
	link_layer:	 InfiniBand
)";

constexpr const char* kShowGids =
    R"(DEV	PORT	INDEX	GID					IPv4  		VER	DEV
---	----	-----	---					------------  	---	---
mlx5_0	1	1	fe80:0000:0000:0000:0e42:a1ff:fe9a:6766			v2	eth2
mlx5_0	1	3	0000:0000:0000:0000:0000:ffff:0a98:000c	10.152.0.12  	v2	eth2
mlx5_1	1	3	0000:0000:0000:0000:0000:ffff:0a98:010c	10.152.1.12  	v2	eth3
n_gids_found=3)";

constexpr const char* kIpAddr =
    R"(1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN
    inet 127.0.0.1/8 scope host lo
2: eth0@if37: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1450 qdisc noqueue
    link/ether 0a:58:0a:f4:01:11 brd ff:ff:ff:ff:ff:ff link-netnsid 0
    inet 10.244.1.17/24 brd 10.244.1.255 scope global eth0
       valid_lft forever preferred_lft forever
    inet6 fe80::858:aff:fef4:111/64 scope link
3: ib0: <NO-CARRIER,BROADCAST,UP> mtu 2044
    link/infiniband 80:00)";

constexpr const char* kTopology =
    R"(	GPU0	GPU1	NIC0	NIC1	CPU Affinity	NUMA Affinity
GPU0	 X 	NV18	PIX	SYS	0-55	0
GPU1	NV18	 X 	SYS	PXB	56-111	1
NIC0	PIX	SYS	 X 	SYS
NIC1	SYS	PXB	SYS	 X

Legend:

  X    = Self

NIC Legend:

  NIC0: mlx5_0
  NIC1: mlx5_1
)";

}  // namespace

TEST_CASE("adapters from ibv_devinfo, ibstat and ibstatus") {
  const PodFabric pod = pod_with("hcas", kDevinfo);
  REQUIRE(pod.hcas->size() == 2);
  const FabricHca& first = pod.hcas->at(0);
  CHECK(first.name == "mlx5_2");
  CHECK(first.firmware == "28.39.1002");
  const FabricPort& port = first.ports.at(0);
  CHECK(port.number == 1);
  CHECK(port.state == "PORT_ACTIVE (4)");
  CHECK(port.link_layer == "Ethernet");
  CHECK(port.mtu == 1024);
  CHECK(port.rate_gbps == 100);
  REQUIRE(port.gids->size() == 2);
  CHECK(port.gids->at(1).index == 3);
  CHECK(port.gids->at(1).type == "v2");
  CHECK(pod.hcas->at(1).iwarp == true);

  const PodFabric other = pod_with("ibstat", kIbstat);
  REQUIRE(other.hcas->size() == 2);
  CHECK(other.hcas->at(0).ports.at(0).rate_gbps == 400);
  CHECK(other.hcas->at(0).ports.at(0).link_layer == "InfiniBand");
  CHECK(other.hcas->at(1).ports.at(0).state == "Down");

  const PodFabric third = pod_with("ibstatus", kIbstatus);
  CHECK(third.hcas->at(0).ports.at(0).state == "4: ACTIVE");
  CHECK(third.hcas->at(0).ports.at(0).rate_gbps == 400);
  CHECK_FALSE(third.hcas->at(0).ports.at(0).gids);
}

TEST_CASE("adapters from show_gids, ibdev2netdev and rdma link") {
  const PodFabric pod = pod_with("hcas", kShowGids);
  REQUIRE(pod.hcas->size() == 2);
  CHECK(pod.hcas->at(0).ports.at(0).gids->size() == 2);
  CHECK(pod.hcas->at(0).ports.at(0).netdev == "eth2");
  CHECK(pod.hcas->at(1).ports.at(0).gids->at(0).index == 3);

  const PodFabric links =
      pod_with("rdma link",
               "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev eth2\n"
               "1/1: mlx5_1/1: state DOWN physical_state DISABLED");
  REQUIRE(links.hcas->size() == 2);
  CHECK(links.hcas->at(0).ports.at(0).link_layer.empty());
  CHECK(links.hcas->at(0).ports.at(0).netdev == "eth2");
  CHECK(links.hcas->at(1).ports.at(0).state == "DOWN");

  const PodFabric subnet = pod_with(
      "rdma link show",
      "link mlx5_0/1 subnet_prefix fe80:0000:0000:0000 lid 13 sm_lid 1 lmc 0 "
      "state ACTIVE physical_state LINK_UP");
  CHECK(subnet.hcas->at(0).ports.at(0).link_layer == "InfiniBand");
  CHECK(subnet.hcas->at(0).ports.at(0).state == "ACTIVE");

  const PodFabric up = pod_with("ibdev2netdev",
                                "mlx5_0 port 1 ==> eth2 (Up)\n"
                                "mlx5_1 port 1 ==> eth3 (Down)\n");
  REQUIRE(up.hcas->size() == 2);
  CHECK(up.hcas->at(1).ports.at(0).state == "down");
  const PodFabric more = pod_with(
      "ibdev2netdev -v",
      "0002:00:02.0 mlx4_0 (MT4100 - NA)  fw 2.43.7008 port 1 (ACTIVE) ==> ib0 "
      "(Down)\nmlx5_1 port 1 ==> ib1 (Down)\n"
      "0000:18:00.0 mlx5_2 (MT4129 - MCX75310AAS-NEAT) ConnectX-7 fw "
      "28.39.1002 "
      "port 1 (DOWN  ) ==> eth2 (Down)");
  REQUIRE(more.hcas->size() == 3);
  CHECK(more.hcas->at(0).name == "mlx4_0");
  CHECK(more.hcas->at(0).pci == "0002:00:02.0");
  CHECK(more.hcas->at(0).ports.at(0).state == "active");
  CHECK(more.hcas->at(1).ports.at(0).state.empty());
  CHECK(more.hcas->at(2).ports.at(0).state == "down");
}

TEST_CASE("what several tools say of an adapter comes together") {
  const PodFabric pod = pod_with("show_gids", kShowGids,
                                 R"(,"hcas":["mlx5_[0-1] Ethernet ACTIVE 100"],
          "nvidia-smi topo -m":)" + nlohmann::json(kTopology).dump() +
                                     R"(,"gpus":"2x NVIDIA H100")");
  REQUIRE(pod.hcas->size() == 2);
  const FabricPort& port = pod.hcas->at(1).ports.at(0);
  CHECK(port.rate_gbps == 100);
  CHECK(port.link_layer == "ethernet");
  CHECK(port.netdev == "eth3");
  CHECK(port.gids->size() == 1);
  REQUIRE(pod.gpus->size() == 2);
  CHECK(pod.gpus->at(1).name == "NVIDIA H100");
  CHECK(pod.gpus->at(1).nics.at("mlx5_1") == "PXB");
  CHECK(pod.gpus->at(1).nvlink == true);
}

TEST_CASE("interfaces from ip and ifconfig") {
  for (const char* field : {"netdevs", "ip addr", "ip_a"}) {
    const PodFabric pod = pod_with(field, kIpAddr);
    REQUIRE(pod.netdevs->size() == 3);
    const FabricNetdev& eth0 = pod.netdevs->at(1);
    CHECK(eth0.name == "eth0");
    CHECK(eth0.mtu == 1450);
    CHECK(eth0.running == true);
    CHECK(eth0.addresses == std::vector<std::string>{
                                "10.244.1.17/24", "fe80::858:aff:fef4:111/64"});
    CHECK(pod.netdevs->at(2).kind == "ipoib");
    CHECK(pod.netdevs->at(2).running == false);
  }
  const PodFabric pod = pod_with("ip addr", kIpAddr,
                                 R"(,"ip route":"default via 10.244.1.1 dev)"
                                 R"( eth0\n10.244.0.0/16 dev eth0")");
  CHECK(pod.netdevs->at(1).default_route == true);
  CHECK_FALSE(pod.netdevs->at(0).default_route);

  const PodFabric now = pod_with(
      "netdevs",
      "eth0: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 1450\n"
      "        inet 10.244.1.17  netmask 255.255.252.0  broadcast 1.2.3.4\n"
      "        inet6 fe80::1  prefixlen 64  scopeid 0x20<link>\n");
  REQUIRE(now.netdevs->size() == 1);
  CHECK(now.netdevs->at(0).addresses ==
        std::vector<std::string>{"10.244.1.17/22", "fe80::1/64"});
  CHECK(now.netdevs->at(0).up == true);

  const PodFabric before =
      pod_with("ifconfig",
               "enp1s0    Link encap:Ethernet  HWaddr ec:0d:9a:e8:ba:a0\n"
               "          inet addr:172.30.160.6  Bcast:172.30.175.255  "
               "Mask:255.255.240.0\n"
               "          inet6 addr: fe80::1/64 Scope:Link\n"
               "          UP BROADCAST RUNNING MULTICAST  MTU:1500  Metric:1");
  REQUIRE(before.netdevs->size() == 1);
  CHECK(before.netdevs->at(0).name == "enp1s0");
  CHECK(before.netdevs->at(0).mtu == 1500);
  CHECK(before.netdevs->at(0).addresses ==
        std::vector<std::string>{"172.30.160.6/20", "fe80::1/64"});
}

TEST_CASE("GPUs from nvidia-smi") {
  const PodFabric pod = pod_with("gpus", kTopology);
  REQUIRE(pod.gpus->size() == 2);
  CHECK(pod.gpus->at(0).nics.at("mlx5_0") == "PIX");
  CHECK(pod.gpus->at(0).nics.at("mlx5_1") == "SYS");
  const PodFabric list = pod_with("nvidia-smi -L",
                                  "GPU 0: NVIDIA H100 80GB HBM3 (UUID: G-1)\n"
                                  "GPU 1: NVIDIA H100 80GB HBM3 (UUID: G-2)\n");
  REQUIRE(list.gpus->size() == 2);
  CHECK(list.gpus->at(1).name == "NVIDIA H100 80GB HBM3");
}

constexpr const char* kTable = R"(
+---------------------------------------------------------------------------+
| NVIDIA-SMI 550.54.15      Driver Version: 550.54.15      CUDA Version: 12.4 |
|--------------------------------+------------------------+------------------+
| GPU  Name        Persistence-M | Bus-Id          Disp.A | Volatile Unc. ECC |
|   0  NVIDIA H100 80GB HBM3  On |   00000000:1B:00.0 Off |                 0 |
| N/A   32C    P0    72W / 700W  |     4MiB /  81559MiB   |    0%     Default |
|   1  NVIDIA A100-SXM...  Off   |   00000000:5D:00.0 Off |                 0 |
|    0   N/A  N/A      4242      C   python                          4000MiB |
+---------------------------------------------------------------------------+)";

TEST_CASE("GPUs and driver from the table of nvidia-smi") {
  for (const char* field : {"nvidia-smi", "gpus"}) {
    const PodFabric pod = pod_with(field, kTable);
    REQUIRE(pod.gpus->size() == 2);
    CHECK(pod.gpus->at(0).name == "NVIDIA H100 80GB HBM3");
    CHECK(pod.gpus->at(0).pci == "0000:1b:00.0");
    CHECK(pod.gpus->at(1).name == "NVIDIA A100-SXM");
    CHECK(pod.gpu_driver == "550.54.15");
    CHECK(pod.cuda_version == "12.4");
  }
  const PodFabric own =
      pod_with("nvidia-smi", kTable, R"(, "gpu_driver": "570.1")");
  CHECK(own.gpu_driver == "570.1");
}

TEST_CASE("several lines are several GPUs, or none") {
  const PodFabric pod = pod_with("gpus", "NVIDIA H100\nNVIDIA H100\n");
  REQUIRE(pod.gpus->size() == 2);
  CHECK(pod.gpus->at(1).name == "NVIDIA H100");
  const auto facts = read_facts(
      R"({"gpus": "GPU[0]\t: Card Series: MI300X\nGPU[1]\t: x"})", "f");
  REQUIRE(!facts);
  CHECK(facts.error().text().find("8x NVIDIA H100") != std::string::npos);
}

TEST_CASE("fields called after a command line") {
  const char* brief = "lo UNKNOWN 127.0.0.1/8\neth0@if12 UP 10.244.1.7/24\n";
  for (const char* field : {"ip -br addr", "ip -br a", "ip -4 -br address"}) {
    const PodFabric pod = pod_with(field, brief);
    INFO(field);
    REQUIRE(pod.netdevs->size() == 2);
    CHECK(pod.netdevs->at(1).name == "eth0");
  }
  const auto notes = [](const std::string& text) {
    const auto facts = read_facts(text, "f");
    if (!facts) FAIL(facts.error().text());
    return facts->notes.empty() ? "" : facts->notes[0];
  };
  for (const char* limit : {"\"64\"", "64"}) {
    const auto pod =
        read_facts(std::string(R"({"ulimit -l": )") + limit + "}", "f");
    REQUIRE(pod);
    CHECK(pod->pods.at(0).memlock_bytes == 64 * 1024);
  }
  CHECK(notes(R"({"ulimit -l": "64"})").find("memlock_bytes") !=
        std::string::npos);
  CHECK(
      notes(R"({"env | grep NCCL": "NCCL_DEBUG=INFO"})").find("environment") !=
      std::string::npos);
  CHECK(notes(R"({"lspci -nn": "x"})").find("write pci_hcas") !=
        std::string::npos);
  CHECK(notes(R"({"ompi_info": "x"})").find("write mpi") != std::string::npos);
}

TEST_CASE("slices of GPUs from nvidia-smi") {
  const std::string whole = "GPU 0: NVIDIA A30 (UUID: GPU-1)\n";
  const std::string one = "  MIG 1g.6gb     Device  0: (UUID: MIG-1)\n";
  const std::string two = "  MIG 2g.12gb    Device  1: (UUID: MIG-2)\n";
  const auto list = [](const std::string& text) {
    return *pod_with("nvidia-smi -L", text).gpus;
  };
  const auto both = list(whole + one + two);
  REQUIRE(both.size() == 2);
  CHECK(both[1].name == "NVIDIA A30 MIG 2g.12gb");
  CHECK(both[0].mig == true);
  // One of each of two cards: which slices share a card is all that counts.
  const auto apart =
      list(whole + one + "GPU 1: NVIDIA A30 (UUID: GPU-2)\n" + two);
  REQUIRE(apart.size() == 2);
  CHECK(apart[0].name == "NVIDIA A30 MIG 1g.6gb");
  CHECK(!apart[0].mig);
}

TEST_CASE("lines of show_gids without their heading") {
  const PodFabric pod = pod_with(
      "show_gids",
      "mlx5_0  1  4  0000:0000:0000:0000:0000:ffff:0a6f:0a02  10.111.10.2  v1  "
      "eno2.100\nmlx5_0  1  5  0000:0000:0000:0000:0000:ffff:0a6f:0a02  "
      "10.111.10.2  v2  eno2.100\n",
      R"(,"hcas":["mlx5_0 Ethernet 40"])");
  REQUIRE(pod.hcas->size() == 1);
  const FabricPort& port = pod.hcas->at(0).ports.at(0);
  REQUIRE(port.gids->size() == 2);
  CHECK(port.gids->at(1).index == 5);
  CHECK(port.netdev == "eno2.100");
}

TEST_CASE("what is no tool's output is left alone") {
  for (const char* text :
       {"", "mlx5_0 IB 400", "hca_id:", "CA 'x", "link mlx5_0/", "GPU0 GPU1",
        "inet 10.0.0.1/24", "2: eth0", "DEV PORT INDEX GID\nmlx5_0 1 x y"}) {
    INFO(text);
    for (const auto& hca : pasted_hcas(text)) CHECK(hca.contains("name"));
    for (const auto& dev : pasted_netdevs(text)) CHECK(dev.contains("name"));
    CHECK(pasted_gpus(text).empty());
  }
  const auto facts =
      read_facts(R"({"topology":"rail","ip_address":"1.2.3.4"})", "f");
  REQUIRE(facts);
  CHECK_FALSE(facts->pods[0].netdevs);
  CHECK(facts->notes.size() == 2);
}

TEST_CASE("NCCL's log, whole") {
  constexpr const char* kLog =
      "a:1:1 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.4<0>\n"
      "a:1:1 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so.\n"
      "NCCL version 2.21.5+cuda12.4\n"
      "a:1:9 [0] NCCL INFO NCCL_IB_HCA set by environment to mlx5.\n"
      "a:1:9 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; "
      "OOB eth0:10.0.0.4<0>\n"
      "a:1:9 [0] NCCL INFO Using network IB\n"
      "b:1:9 [0] NCCL INFO NET/IB : Using [0]mlx5_9:1/RoCE [RO]; "
      "OOB eth0:10.0.0.5<0>\n";
  const PodFabric pod = pod_with("nccl_log", kLog);
  CHECK(pod.nccl_version == "2.21.5+cuda12.4");
  CHECK(pod.environment.at("NCCL_IB_HCA") == "mlx5");
  REQUIRE(pod.plugins);
  CHECK(pod.plugins->empty());
  REQUIRE(pod.hcas);
  REQUIRE(pod.hcas->size() == 2);
  CHECK(pod.hcas->at(1).name == "mlx5_1");
  CHECK(pod.hcas->at(1).ports.at(0).link_layer == "IB");
  REQUIRE(pod.netdevs);
  REQUIRE(pod.netdevs->size() == 1);
  CHECK(pod.netdevs->at(0).addresses == std::vector<std::string>{"10.0.0.4"});
  // What stands beside it counts.
  const PodFabric told =
      pod_with("NCCL log", kLog, R"(,"nccl_version":"2.19.3","hcas":"none")");
  CHECK(told.nccl_version == "2.19.3");
  CHECK(told.hcas->empty());
  // Nothing of NCCL's in it: an unknown field, and said so.
  const auto other = read_facts(R"({"nccl_log":"Segmentation fault"})", "f");
  REQUIRE(other);
  CHECK(other->notes.size() == 1);
}
