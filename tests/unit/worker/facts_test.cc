// SPDX-License-Identifier: Apache-2.0
// Facts, from directories made up like /proc, /sys and /dev.
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "../base/temporary_directory.h"
#include "agent_harness.h"
#include "base/runtime_dir.h"
#include "base/self_path.h"
#include "catch.h"
#include "fabric/collect/ask_mpi.h"
#include "worker/facts/agent_health.h"
#include "worker/facts/facts_cgroup.h"
#include "worker/facts/facts_collect.h"
#include "worker/facts/facts_gpu.h"
#include "worker/facts/facts_huge_pages.h"
#include "worker/facts/facts_probe.h"

using namespace muster;
using muster::test::AgentHarness;
using wire::FrameType;

TEST_CASE("cgroup v2 in a namespace") {
  TemporaryDirectory tree;
  tree.write("/proc/self/cgroup", "0::/\n");
  tree.write("/proc/self/mountinfo",
             "30 25 0:26 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n");
  tree.write("/sys/fs/cgroup/memory.max", "34359738368\n");
  tree.write("/sys/fs/cgroup/memory.current", "1000\n");
  tree.write("/sys/fs/cgroup/memory.peak", "2000\n");
  tree.write("/sys/fs/cgroup/memory.events",
             "low 0\nhigh 0\nmax 3\noom 1\noom_kill 2\n");
  tree.write("/sys/fs/cgroup/cpu.max", "250000 100000\n");
  const CgroupPlace place = find_cgroup(tree.path());
  CHECK(place.version == 2);
  tree.write("/sys/fs/cgroup/memory.stat", "anon 300\ninactive_file 400\n");
  CHECK(read_cgroup_charge(place) == 1000);
  CHECK(read_cgroup_memory(place).usage == 600);
  tree.write("/sys/fs/cgroup/memory.stat", "anon 300\n");
  const CgroupMemory memory = read_cgroup_memory(place);
  CHECK(memory.limit == 34359738368);
  CHECK(memory.usage == 1000);
  CHECK(memory.peak == 2000);
  CHECK(memory.oom_kills == 2);
  CHECK(read_oom_kills(place) == 2);
  CHECK(read_oom_kills({}) == -1);
  CHECK(read_cpu_quota(place) == Approx(2.5));
  const auto sample = HealthSampler(tree.path()).sample();
  CHECK(sample.memory_bytes == 1000);
  CHECK(sample.oom_kills == 2);
}

TEST_CASE("IPC_LOCK lifts the limit on locked memory") {
  // The limit itself is that of the test.
  const auto hard = [](const char* effective) {
    TemporaryDirectory tree;
    tree.write("/proc/self/status",
               std::string("CapEff:\t") + effective + "\n");
    tree.write("/proc/self/uid_map", "0 0 4294967295\n");
    return collect_quick_facts(tree.path(), {}).memlock_hard;
  };
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_MEMLOCK, &limit) == 0);
  const auto own = limit.rlim_max == RLIM_INFINITY
                       ? -1
                       : static_cast<int64_t>(limit.rlim_max);
  CHECK(hard("00000000a80425fb") == own);
  CHECK(hard("00000000a80465fb") == -1);
}

TEST_CASE("huge pages, and how many of them a pod may use") {
  TemporaryDirectory tree;
  CHECK(read_huge_pages(tree.path(), {}).total == -1);
  tree.write("/proc/meminfo",
             "MemTotal: 1 kB\nHugePages_Total:     512\n"
             "Hugepagesize:       2048 kB\n");
  CgroupPlace place;
  place.version = 2;
  place.memory = tree.path() + "/pod";
  CHECK(read_huge_pages(tree.path(), place).total == 512);
  CHECK(read_huge_pages(tree.path(), place).limit == -1);
  tree.write("/pod/hugetlb.2MB.max", "0\n");
  CHECK(read_huge_pages(tree.path(), place).limit == 0);
  tree.write("/pod/hugetlb.2MB.max", "max\n");
  CHECK(read_huge_pages(tree.path(), place).limit == -1);
  place.version = 1;
  const std::string v1 = "/sys/fs/cgroup/hugetlb/hugetlb.2MB.limit_in_bytes";
  tree.write(v1, "4194304\n");
  CHECK(read_huge_pages(tree.path(), place).limit == 4194304);
  tree.write(v1, "9223372036852678656\n");
  CHECK(read_huge_pages(tree.path(), place).limit == -1);
}

TEST_CASE("cgroup v2 with the limit on a level above") {
  TemporaryDirectory tree;
  tree.write("/proc/self/cgroup", "0::/pods/pod1/box\n");
  tree.write("/proc/self/mountinfo",
             "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  tree.write("/sys/fs/cgroup/pods/pod1/box/cgroup.procs", "");
  tree.write("/sys/fs/cgroup/pods/pod1/box/memory.max", "max\n");
  tree.write("/sys/fs/cgroup/pods/pod1/box/memory.current", "5\n");
  tree.write("/sys/fs/cgroup/pods/pod1/box/cpu.max", "max 100000\n");
  tree.write("/sys/fs/cgroup/pods/pod1/memory.max", "4096\n");
  tree.write("/sys/fs/cgroup/pods/pod1/cpu.max", "50000 100000\n");
  const CgroupPlace place = find_cgroup(tree.path());
  CHECK(read_cgroup_memory(place).limit == 4096);
  CHECK(read_cgroup_memory(place).usage == 5);
  CHECK(read_cpu_quota(place) == Approx(0.5));
}

TEST_CASE("cgroup v1 as a container sees it, beside an empty v2 mount") {
  TemporaryDirectory tree;
  tree.write("/proc/self/cgroup",
             "5:memory:/kubepods/pod1/box\n4:cpu,cpuacct:/kubepods/pod1/box\n"
             "0::/kubepods/pod1/box\n");
  tree.write(
      "/proc/self/mountinfo",
      "40 30 0:30 /kubepods/pod1/box /sys/fs/cgroup/memory ro - cgroup cgroup "
      "rw,memory\n"
      "41 30 0:31 /kubepods/pod1/box /sys/fs/cgroup/cpu,cpuacct ro - cgroup "
      "cgroup rw,cpu,cpuacct\n"
      "42 30 0:32 / /sys/fs/cgroup/unified ro - cgroup2 cgroup2 rw\n");
  tree.write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n");
  tree.write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "77\n");
  tree.write("/sys/fs/cgroup/memory/memory.max_usage_in_bytes", "88\n");
  tree.write("/sys/fs/cgroup/memory/memory.oom_control",
             "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
  tree.write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "400000\n");
  tree.write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  const CgroupPlace place = find_cgroup(tree.path());
  CHECK(place.version == 1);
  const CgroupMemory memory = read_cgroup_memory(place);
  CHECK(memory.limit == 1073741824);
  CHECK(memory.usage == 77);
  CHECK(memory.peak == 88);
  CHECK(memory.oom_kills == 4);
  CHECK(read_cpu_quota(place) == Approx(4));
}

TEST_CASE("cgroup v1 without limits, and no cgroup at all") {
  TemporaryDirectory tree;
  tree.write("/proc/self/cgroup", "5:memory:/\n4:cpu:/\n");
  tree.write("/proc/self/mountinfo",
             "40 30 0:30 / /c/memory ro - cgroup cgroup rw,memory\n"
             "41 30 0:31 / /c/cpu ro - cgroup cgroup rw,cpu\n");
  tree.write("/c/memory/memory.limit_in_bytes", "9223372036854771712\n");
  tree.write("/c/cpu/cpu.cfs_quota_us", "-1\n");
  tree.write("/c/cpu/cpu.cfs_period_us", "100000\n");
  const CgroupPlace place = find_cgroup(tree.path());
  CHECK(read_cgroup_memory(place).limit == -1);
  CHECK(read_cpu_quota(place) == -1);

  const CgroupPlace none = find_cgroup(TemporaryDirectory().path());
  CHECK(none.version == 0);
  CHECK(read_cgroup_memory(none).usage == -1);
  CHECK(read_cpu_quota(none) == -1);
}

TEST_CASE("GPUs are counted by vendor") {
  TemporaryDirectory nvidia;
  for (const char* name :
       {"nvidia10", "nvidia0", "nvidia2", "nvidiactl", "nvidia-uvm"}) {
    nvidia.write(std::string("/dev/") + name, "");
  }
  const GpuFacts found = find_gpus(nvidia.path(), "all");
  CHECK(found.vendor == "nvidia");
  CHECK(found.devices == std::vector<std::string>{
                             "/dev/nvidia0", "/dev/nvidia2", "/dev/nvidia10"});
  CHECK(find_gpus(nvidia.path(), "MIG-a, MIG-b").count == 2);
  CHECK(find_gpus(nvidia.path(), "MIG-a, MIG-b").devices[1] == "MIG-b");

  TemporaryDirectory amd;
  amd.write("/dev/dri/renderD128", "");
  amd.write("/dev/dri/renderD129", "");
  amd.write("/dev/dri/card0", "");
  amd.write("/sys/class/drm/renderD128/device/vendor", "0x1002\n");
  amd.write("/sys/class/drm/renderD129/device/vendor", "0x1002\n");
  CHECK(find_gpus(amd.path(), "").count == 0);
  amd.write("/dev/kfd", "");
  CHECK(find_gpus(amd.path(), "").vendor == "amd");
  CHECK(find_gpus(amd.path(), "").count == 2);

  TemporaryDirectory intel;
  intel.write("/dev/dri/renderD128", "");
  intel.write("/sys/class/drm/renderD128/device/vendor", "0x8086\n");
  CHECK(find_gpus(intel.path(), "").vendor == "intel");

  CHECK(find_gpus(TemporaryDirectory().path(), "").vendor.empty());
}

TEST_CASE("the NVIDIA driver's version, of either kernel module") {
  TemporaryDirectory tree;
  CHECK(nvidia_driver_version(tree.path()).empty());
  tree.write("/proc/driver/nvidia/version",
             "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue "
             "Mar  5 22:23:56 UTC 2024\nGCC version:  gcc version 12.2.0\n");
  CHECK(nvidia_driver_version(tree.path()) == "550.54.15");
  tree.write("/proc/driver/nvidia/version",
             "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  560.35 "
             " Release Build\n");
  CHECK(nvidia_driver_version(tree.path()) == "560.35");
}

TEST_CASE("MPI families by what their launcher prints") {
  const auto check = [](const char* text, const char* family,
                        const char* version) {
    const MpiFacts facts = parse_mpi_version(text);
    CHECK(facts.family == family);
    CHECK(facts.version == version);
  };
  check("mpirun (Open MPI) 4.1.4\n\nReport bugs to …\n", "openmpi", "4.1.4");
  check("mpirun (Open MPI) 5.0.7\n", "openmpi", "5.0.7");
  check("mpiexec (OpenRTE) 4.0.3\n", "openmpi", "4.0.3");
  check("HYDRA build details:\n    Version:                        4.0.2\n",
        "mpich", "4.0.2");
  check("HYDRA build details:\n    Version: 3.1.4\n  '--prefix=/mvapich2'\n",
        "mvapich", "3.1.4");
  check("Intel(R) MPI Library for Linux* OS, Version 2021.13 Build 2024\n",
        "intel", "2021.13");
  check("bash: mpirun: command not found\n", "", "");
  check("", "", "");
}

TEST_CASE("whether the user has an entry in the user database") {
  TemporaryDirectory tree;
  const auto known = [&tree] {
    return collect_all_facts(tree.path(), {}).has_passwd_entry;
  };
  CHECK_FALSE(known());
  const std::string uid = std::to_string(::geteuid());
  tree.write("/etc/passwd",
             "x:x:" + uid + "7:0::/:/bin/sh\nbroken:" + uid + "\n\n");
  CHECK_FALSE(known());
  tree.write("/etc/passwd", "a:x:7777777:0::/:/bin/sh\nme:x:" + uid +
                                ":0:Me,,,:/home/me:/bin/sh\n");
  CHECK(known());
}

TEST_CASE("our own drop-in is not taken for the image's mpirun") {
  TemporaryDirectory tree;
  tree.write("/bin/muster", "");
  tree.write("/mpi/mpirun", "#!/bin/sh\necho 'mpirun (Open MPI) 4.1.9'\n");
  std::filesystem::permissions(tree.path() + "/bin/muster",
                               std::filesystem::perms::owner_all);
  std::filesystem::permissions(tree.path() + "/mpi/mpirun",
                               std::filesystem::perms::owner_all);
  std::filesystem::create_directories(tree.path() + "/dropin");
  std::filesystem::create_symlink(tree.path() + "/bin/muster",
                                  tree.path() + "/dropin/mpirun");
  const std::string path = tree.path() + "/dropin:" + tree.path() + "/mpi";
  KnownFiles nothing;
  CHECK(find_foreign_program({"mpirun", "mpiexec"}, path) ==
        tree.path() + "/mpi/mpirun");
  CHECK(ask_mpi(path, "", nothing).version == "4.1.9");
  CHECK(ask_mpi(tree.path() + "/dropin", "", nothing).family.empty());
}

TEST_CASE("an mpirun that is too slow to answer tells its family by its file") {
  using std::chrono::milliseconds;
  TemporaryDirectory tree;
  const auto ask = [&tree](const std::string& behind_sleep) {
    tree.write("/mpi/mpirun", "#!/bin/sh\nsleep 60\n" + behind_sleep + "\n");
    std::filesystem::permissions(tree.path() + "/mpi/mpirun",
                                 std::filesystem::perms::owner_all);
    KnownFiles known;
    const MpiFacts mpi =
        ask_mpi(tree.path() + "/mpi", "", known, milliseconds{100});
    CHECK(mpi.silent);
    CHECK(mpi.version.empty());
    CHECK(mpi.launcher == tree.path() + "/mpi/mpirun");
    // The next question is a new one.
    CHECK_FALSE(known.find(mpi.launcher));
    return mpi.family;
  };
  CHECK(ask("exec orterun \"$@\"") == "openmpi");
  CHECK(ask("exec prterun \"$@\"") == "openmpi");
  CHECK(ask("exec mpiexec.hydra \"$@\"") == "mpich");
  CHECK(ask(". $I_MPI_ROOT/x; exec mpiexec.hydra \"$@\"") == "intel");
  CHECK(ask("exec something-else").empty());
}

TEST_CASE("an mpirun that answers with something unknown is not called slow") {
  TemporaryDirectory tree;
  tree.write("/mpi/mpirun", "#!/bin/sh\necho 'our own orterun 7'\n");
  std::filesystem::permissions(tree.path() + "/mpi/mpirun",
                               std::filesystem::perms::owner_all);
  KnownFiles known;
  const MpiFacts mpi = ask_mpi(tree.path() + "/mpi", "", known);
  CHECK(mpi.family.empty());
  CHECK_FALSE(mpi.silent);
}

TEST_CASE("an mpirun that was asked is not asked again, unless it changed") {
  TemporaryDirectory tree;
  const std::string path = tree.path() + "/mpi/mpirun";
  tree.write("/mpi/mpirun", "#!/bin/sh\necho 'mpirun (Open MPI) 4.1.9'\n");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  KnownFiles known;
  CHECK(ask_mpi(tree.path() + "/mpi", "", known).version == "4.1.9");
  KnownFiles handed_on = KnownFiles::parse(known.text());
  REQUIRE(handed_on.find(path) == "openmpi 4.1.9");
  handed_on.remember(path, "openmpi 9");  // to be seen where nothing is asked
  const MpiFacts again = ask_mpi("", path, handed_on);
  CHECK(again.version == "9");
  CHECK(again.family == "openmpi");
  CHECK(again.launcher == path);
  tree.write("/mpi/mpirun", "#!/bin/sh\necho 'mpirun (Open MPI) 4.1.10'\n");
  CHECK(ask_mpi("", path, handed_on).version == "4.1.10");
}

TEST_CASE("nothing is known of files that are not there, or from nonsense") {
  TemporaryDirectory tree;
  KnownFiles known;
  known.remember(tree.path() + "/gone", "1");
  CHECK(known.text().empty());
  tree.write("/lib", "");
  known.remember(tree.path() + "/lib", "a\nb");
  CHECK(known.text().empty());
  CHECK(KnownFiles::parse("nonsense\n\t\n").text().empty());
}

TEST_CASE("a slow mpirun is given up") {
  TemporaryDirectory tree;
  tree.write("/mpi/mpirun", "#!/bin/sh\nsleep 100\n");
  std::filesystem::permissions(tree.path() + "/mpi/mpirun",
                               std::filesystem::perms::owner_all);
  const auto start = std::chrono::steady_clock::now();
  KnownFiles nothing;
  CHECK(ask_mpi(tree.path() + "/mpi", "", nothing).family.empty());
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(60));
}

TEST_CASE("the agent answers a facts request and keeps its heartbeat") {
  AgentHarness agent({{"SOME_SETTING", "1"}, {"IMAGE_ID", "sha256:abc"}});
  REQUIRE(agent.say_hello());
  agent.send(FrameType::kFactsRequest, 42, "");
  REQUIRE(agent.run_until(
      [&] { return !agent.frames[FrameType::kFacts].empty(); }, 20));
  CHECK(agent.frames[FrameType::kFacts][0].id == 42);
  const auto facts =
      node_facts_from_json(agent.frames[FrameType::kFacts][0].payload);
  REQUIRE(facts);
  CHECK(facts->uid == static_cast<int>(::geteuid()));
  CHECK(facts->cpus_allowed > 0);
  CHECK(facts->nofile_hard != -2);
  CHECK(facts->image_id == "sha256:abc");
  CHECK(facts->environment.at("SOME_SETTING") == "1");
  CHECK(facts->environment.count("MUSTER_LAUNCH_ID") == 0);
  CHECK_FALSE(facts->writable.empty());
  CHECK_FALSE(facts->interfaces.empty());
}

TEST_CASE("probes tell what is reachable and what is not") {
  AgentHarness agent;
  REQUIRE(agent.say_hello());
  wire::ProbeRequest listen;
  listen.listen = true;
  agent.send(FrameType::kProbe, 1, wire::to_json(listen));
  REQUIRE(agent.run_until(
      [&] { return !agent.frames[FrameType::kProbeReply].empty(); }));
  const int port = wire::from_json<wire::ProbeReply>(
                       agent.frames[FrameType::kProbeReply][0].payload)
                       ->listen_port;
  REQUIRE(port > 0);

  wire::ProbeRequest request;
  request.names = {"localhost", "no-such-host.invalid"};
  request.targets = {{"127.0.0.1", port}, {"127.0.0.1", 1}};
  request.timeout_ms = 4000;
  AgentHarness other;
  REQUIRE(other.say_hello());
  other.send(FrameType::kProbe, 2, wire::to_json(request));
  REQUIRE(other.run_until(
      [&] { return !other.frames[FrameType::kProbeReply].empty(); }));
  const auto reply = wire::from_json<wire::ProbeReply>(
      other.frames[FrameType::kProbeReply][0].payload);
  REQUIRE(reply);
  REQUIRE(reply->results.size() == 4);
  CHECK(reply->results[0].outcome == "ok");
  CHECK(reply->results[1].outcome != "ok");
  CHECK(reply->results[2].outcome == "ok");
  CHECK(reply->results[3].outcome == "refused");
  CHECK(reply->results[3].subject == "127.0.0.1:1");
}

TEST_CASE("a probe that gets no answer keeps its deadline") {
  // A listener with a full backlog swallows further connections.
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  REQUIRE(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) ==
          0);
  REQUIRE(::listen(socket.get(), 0) == 0);
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  UniqueFd filler(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
  UniqueFd filler2(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
  ::connect(filler.get(), reinterpret_cast<sockaddr*>(&address), size);
  ::connect(filler2.get(), reinterpret_cast<sockaddr*>(&address), size);

  wire::ProbeRequest request;
  request.targets = {{"127.0.0.1", ntohs(address.sin_port)}};
  request.timeout_ms = 300;
  const auto start = std::chrono::steady_clock::now();
  const auto reply = run_probe(request);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(30));
  REQUIRE(reply.results.size() == 1);
  CHECK(reply.results[0].outcome == "timeout");
}
