// SPDX-License-Identifier: Apache-2.0
// NCCL's lists and interface order, PCI distance, versions, profiles, site
// files: the small parsers.
#include "catch.h"
#include "fabric/facts/facts_expand.h"
#include "fabric/facts/name_list.h"
#include "fabric/facts/nccl_version.h"
#include "fabric/facts/pci_distance.h"
#include "fabric/policy/network/sockets.h"
#include "fabric/policy/profile.h"
#include "fabric/policy/site_file.h"

using namespace muster;

TEST_CASE("adapter lists match by prefix unless they start with =") {
  CHECK(admits(parse_name_list("mlx5_1"), "mlx5_10"));
  CHECK(!admits(parse_name_list("=mlx5_1"), "mlx5_10"));
  CHECK(!admits(parse_name_list("^mlx5_1"), "mlx5_10"));
  CHECK(admits(parse_name_list("^=mlx5_1"), "mlx5_10"));
  CHECK(admits(parse_name_list("=mlx5_1:2"), "mlx5_1", 2));
  CHECK(!admits(parse_name_list("=mlx5_1:2"), "mlx5_1", 1));
  CHECK(admits(parse_name_list(""), "anything"));
  CHECK(!admits(parse_name_list("mlx5_0,^mlx5_1"), "mlx5_1"));
}

TEST_CASE("NCCL cuts no blanks and takes ports by their number") {
  CHECK(!admits(parse_name_list("mlx5_0, mlx5_1"), "mlx5_1"));
  CHECK(!admits(parse_name_list("mlx5_0:0"), "mlx5_0", 1));
  CHECK(!admits(parse_name_list("mlx5_0:x"), "mlx5_0", 1));
  CHECK(admits(parse_name_list("mlx5_0::1"), "mlx5_0", 2));  // a rail
  CHECK(admits(parse_name_list("mlx5_0:1:0:2"), "mlx5_0", 1));
}

TEST_CASE("NCCL versions in all spellings") {
  CHECK(parse_nccl_version("2.21.5") == NcclVersion{2, 21, 5});
  CHECK(parse_nccl_version("v2.26.2+cuda12.8") == NcclVersion{2, 26, 2});
  CHECK(parse_nccl_version("22105") == NcclVersion{2, 21, 5});
  CHECK(parse_nccl_version("2804") == NcclVersion{2, 8, 4});
  CHECK(parse_nccl_version("2.7") == NcclVersion{2, 7, 0});
  CHECK(!parse_nccl_version(""));
  CHECK(!parse_nccl_version("latest"));
  CHECK(!parse_nccl_version("2"));
}

TEST_CASE("PCI distance in NCCL's words") {
  const std::string gpu =
      "pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0/0000:18:00.0";
  const auto to = [&](const char* nic, bool numa = true) {
    return pci_distance(gpu, nic, numa);
  };
  CHECK(to("pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:01.0/0000:19:00.0") ==
        "PIX");
  CHECK(to("pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:01.0/0000:1a:00.0/"
           "0000:1b:00.0/0000:1c:00.0") == "PXB");
  CHECK(to("pci0000:15/0000:15:02.0/0000:20:00.0") == "PHB");
  CHECK(to("pci0000:80/0000:80:01.0/0000:81:00.0", true) == "PHB");
  CHECK(to("pci0000:80/0000:80:01.0/0000:81:00.0", false) == "SYS");
  CHECK(to("").empty());
}

TEST_CASE("profiles by any name that users know") {
  CHECK(parse_profile("GRPO").value() == Profile::kRl);
  CHECK(parse_profile("gapo").value() == Profile::kRl);
  CHECK(parse_profile("").value() == Profile::kAuto);
  const auto wrong = parse_profile("rmda");
  REQUIRE(!wrong);
  CHECK(wrong.error().hint == "did you mean rdma?");
}

TEST_CASE("site files") {
  const auto site = parse_site_file(
      "# x\nNCCL_IB_TC=106 # class\n[ib]\nNCCL_IB_SL = 1\n", "site.conf");
  REQUIRE(site);
  REQUIRE(site->values.size() == 2);
  CHECK(site->values[0].value == "106");
  CHECK(site->values[1].section == "ib");
  CHECK(site->values[1].origin == "site.conf:4");
  CHECK(!parse_site_file("[moon]\n", "s"));
  CHECK(!parse_site_file("two words\n", "s"));
  CHECK(!parse_site_file("A=1\nA=2\n", "s"));
  CHECK(parse_site_file("A=1\nA=2\n", "s").error().where == "s:2");
}

TEST_CASE("brackets stand for several entries") {
  CHECK(expand_brackets("m[0,2-3]x").value() ==
        std::vector<std::string>{"m0x", "m2x", "m3x"});
  CHECK(expand_brackets("plain").value() == std::vector<std::string>{"plain"});
  CHECK(expand_brackets("n[09-10]").value() ==
        std::vector<std::string>{"n09", "n10"});
  CHECK(expand_brackets("fe80::[1-2] eth[3-4] [0-7]").value() ==
        std::vector<std::string>{"fe80::1 eth3 [0-7]", "fe80::2 eth4 [0-7]"});
  CHECK(!expand_brackets("m[3-1]"));
  CHECK(!expand_brackets("m[0-99999999]"));
  CHECK(!expand_brackets("m[a]"));
}

TEST_CASE("NCCL takes interfaces in its own order") {
  PodFabric pod;
  pod.netdevs.emplace();
  const auto add = [&](const char* name, const char* address) {
    FabricNetdev netdev;
    netdev.name = name;
    if (*address != 0) netdev.addresses.emplace_back(address);
    pod.netdevs->push_back(netdev);
  };
  add("lo", "127.0.0.1/8");
  add("docker0", "172.17.0.1/16");
  add("eth0", "10.0.0.1/24");
  add("bare", "");
  const NcclVersion version{2, 21, 5};
  CHECK(nccl_interfaces(pod, version) == std::vector<std::string>{"eth0"});
  CHECK(nccl_interfaces(pod, version, "^eth") ==
        std::vector<std::string>{"lo", "docker0"});
  add("ib0", "10.9.0.1/24");
  CHECK(nccl_interfaces(pod, version) == std::vector<std::string>{"ib0"});
}
