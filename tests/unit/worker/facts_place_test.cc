// SPDX-License-Identifier: Apache-2.0
// Cores and GPUs and where they are, from directories made up like /sys.
#include "../base/temporary_directory.h"
#include "base/text.h"
#include "catch.h"
#include "job/cpu_list.h"
#include "worker/facts/cpu_places.h"
#include "worker/facts/facts_cpu.h"
#include "worker/facts/facts_gpu.h"

using namespace muster;

namespace {

// "0,4@0/0 1,5@1/1": the CPUs of each core, its NUMA node and package.
std::string text_of(const std::vector<CpuCore>& cores) {
  std::vector<std::string> words;
  for (const CpuCore& core : cores) {
    words.push_back(cpu_list_text(core.cpus) + "@" + std::to_string(core.numa) +
                    "/" + std::to_string(core.package));
  }
  return join(words, " ");
}

std::string text_of(const std::vector<GpuPlace>& places) {
  std::vector<std::string> words;
  for (const GpuPlace& place : places) {
    words.push_back(place.id + "@" + place.pci + "/" +
                    std::to_string(place.numa));
  }
  return join(words, " ");
}

void add_nvidia(TemporaryDirectory& tree, const std::string& pci,
                const std::string& uuid, int numa) {
  tree.write("/proc/driver/nvidia/gpus/" + pci + "/information",
             "Model: \t\t NVIDIA H100\nGPU UUID: \t " + uuid + "\n");
  tree.write("/sys/bus/pci/devices/" + pci + "/numa_node",
             std::to_string(numa) + "\n");
}

}  // namespace

TEST_CASE("cores of the allowed CPUs") {
  TemporaryDirectory tree;
  for (int cpu = 0; cpu < 8; ++cpu) {
    const int core = cpu % 4;
    const std::string base =
        "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    tree.write(base + "thread_siblings_list",
               std::to_string(core) + "," + std::to_string(core + 4) + "\n");
    tree.write(base + "physical_package_id", std::to_string(core / 2) + "\n");
  }
  tree.write("/sys/devices/system/node/node0/cpulist", "0-1,4-5\n");
  tree.write("/sys/devices/system/node/node1/cpulist", "2-3,6-7\n");
  CHECK(text_of(read_cores(tree.path(), {0, 1, 2, 3, 4, 5, 6, 7})) ==
        "0,4@0/0 1,5@0/0 2,6@1/1 3,7@1/1");
  // A cpuset: only its threads, and only its cores.
  CHECK(text_of(read_cores(tree.path(), {1, 3, 7})) == "1@0/0 3,7@1/1");
  CHECK(text_of(read_cores(tree.path(), {})).empty());
}

TEST_CASE("without topology files every CPU is a core on node 0") {
  CHECK(text_of(read_cores(TemporaryDirectory().path(), {3, 5})) ==
        "3@0/-1 5@0/-1");
}

TEST_CASE("what a CPU is part of, with and without the kernel's word") {
  TemporaryDirectory tree;
  const std::string cpu = "/sys/devices/system/cpu/cpu5/";
  tree.write(cpu + "topology/thread_siblings_list", "1,5\n");
  tree.write(cpu + "topology/physical_package_id", "1\n");
  tree.write("/sys/devices/system/node/node2/cpulist", "0-7\n");
  const auto cache = [&](int index, int level, const std::string& type,
                         const std::string& shared) {
    const std::string base = cpu + "cache/index" + std::to_string(index) + "/";
    tree.write(base + "level", std::to_string(level) + "\n");
    tree.write(base + "type", type + "\n");
    tree.write(base + "shared_cpu_list", shared + "\n");
  };
  cache(0, 1, "Data", "1,5");
  cache(1, 1, "Instruction", "5");
  cache(2, 2, "Unified", "1,5");
  cache(3, 3, "Unified", "0-7");
  cache(4, 4, "Unified", "0-7");
  const CpuPlaces places = read_cpu_places(tree.path(), {5, 6});
  CHECK(locality_text(places, {5}) == "SK1:L30:L21:L11:CR1:HT5:NM2");
  CHECK(locality_text(places, {6}) == "HT6:NM2");
}

TEST_CASE("this machine's own cores") {
  const std::vector<int> allowed = allowed_cpus();
  REQUIRE(!allowed.empty());
  size_t count = 0;
  for (const CpuCore& core : read_cores("", allowed)) count += core.cpus.size();
  CHECK(count == allowed.size());
}

TEST_CASE("NVIDIA's GPUs have names and places") {
  TemporaryDirectory tree;
  tree.write("/dev/nvidia0", "");
  tree.write("/dev/nvidia1", "");
  add_nvidia(tree, "0000:1A:00.0", "GPU-a", 0);
  add_nvidia(tree, "0000:9a:00.0", "GPU-????\?\?\?\?-????", 1);
  tree.write("/sys/bus/pci/devices/0000:1a:00.0/numa_node", "0\n");
  CHECK(text_of(find_gpus(tree.path(), "all").places) ==
        "GPU-a@0000:1a:00.0/0 1@0000:9a:00.0/1");
  // Two slices somewhere on two GPUs.
  CHECK(text_of(find_gpus(tree.path(), "MIG-x,MIG-y").places) ==
        "MIG-x@/-1 MIG-y@/-1");
  // The driver shows three, the pod has two: which is not known.
  add_nvidia(tree, "0000:ab:00.0", "GPU-c", 1);
  CHECK(text_of(find_gpus(tree.path(), "all").places) == "0@/-1 1@/-1");
}

TEST_CASE("slices of one GPU are where it is") {
  TemporaryDirectory tree;
  tree.write("/dev/nvidia0", "");
  add_nvidia(tree, "0000:1a:00.0", "GPU-a", 1);
  CHECK(text_of(find_gpus(tree.path(), "MIG-x").places) ==
        "MIG-x@0000:1a:00.0/1");
}

TEST_CASE("AMD's and Intel's GPUs are counted") {
  TemporaryDirectory tree;
  for (const char* number : {"128", "129"}) {
    const std::string name = std::string("renderD") + number;
    tree.write("/dev/dri/" + name, "");
    const std::string pci = std::string("/sys/devices/pci0000:00/0000:") +
                            (number[2] == '8' ? "03" : "83") + ":00.0";
    tree.write(pci + "/vendor", "0x1002\n");
    tree.write(pci + "/numa_node", number[2] == '8' ? "0\n" : "1\n");
    std::filesystem::create_directories(tree.path() + "/sys/class/drm/" + name);
    std::filesystem::create_symlink(
        tree.path() + pci, tree.path() + "/sys/class/drm/" + name + "/device");
    std::filesystem::create_directories(tree.path() + "/sys/bus/pci/devices");
    std::filesystem::create_symlink(
        tree.path() + pci,
        tree.path() + "/sys/bus/pci/devices" + pci.substr(pci.rfind('/')));
  }
  tree.write("/dev/kfd", "");
  CHECK(text_of(find_gpus(tree.path(), "").places) ==
        "0@0000:03:00.0/0 1@0000:83:00.0/1");
}
