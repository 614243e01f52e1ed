// SPDX-License-Identifier: Apache-2.0
// Each check with one thing wrong in an otherwise good pod, and silence there.
#include "doctor/checks.h"

#include <algorithm>

#include "catch.h"

using namespace muster;

namespace {

PodState good_pod() {
  PodState pod;
  pod.contract.role = Role::kWorker;
  pod.facts.uid = 1000;
  pod.facts.has_passwd_entry = true;
  pod.facts.shm_total = 8LL << 30;
  pod.facts.shm_free = 8LL << 30;
  pod.facts.memlock_hard = -1;
  pod.facts.writable = {"/tmp"};
  pod.facts.gpu.count = 8;
  pod.facts.cuda_driver = "550.54.15";
  pod.facts.cuda_runtime = "12.4";
  pod.facts.interfaces = {{"eth0", {"10.0.0.2/24"}, true, 1500}};
  pod.slots = 8;
  pod.rmem_max = 16 << 20;
  pod.facts.huge_pages = 0;
  pod.rdma_devices = {"mlx5_0"};
  pod.names = {{"pi-worker-0", "ok", "10.0.0.2"}};
  return pod;
}

const DoctorFinding* find(const DoctorFindings& all, const std::string& code) {
  const auto at = std::find_if(all.begin(), all.end(), [&](const auto& one) {
    return one.finding.code == code;
  });
  return at == all.end() ? nullptr : &*at;
}

// The finding with `code` in what the pod gives, which must be the only one.
DoctorFinding only(const PodState& pod, const std::string& code) {
  const DoctorFindings all = examine(pod);
  INFO("wanted " << code << ", found " << all.size());
  REQUIRE(all.size() == 1);
  REQUIRE(all[0].finding.code == code);
  REQUIRE_FALSE(all[0].finding.remedy.empty());
  REQUIRE_FALSE(all[0].yaml.empty());
  return all[0];
}

}  // namespace

TEST_CASE("a good pod has no findings") { CHECK(examine(good_pod()).empty()); }

TEST_CASE("service meshes are recognised by their ports") {
  PodState pod = good_pod();
  pod.listening = {15001, 15006, 15020, 15021};
  const auto istio = only(pod, "mesh_sidecar");
  CHECK(istio.finding.severity == Severity::kError);
  CHECK(istio.yaml.find("sidecar.istio.io/inject") != std::string::npos);
  pod.listening = {4143, 4191};
  CHECK(only(pod, "mesh_sidecar").yaml.find("linkerd") != std::string::npos);
  pod.listening = {15000};  // somebody's own program
  CHECK(examine(pod).empty());
}

TEST_CASE("a taken port is found, our own is not") {
  PodState pod = good_pod();
  pod.listening = {2222};
  CHECK(only(pod, "port_taken").finding.severity == Severity::kWarning);
  pod.pid1_is_muster = true;
  CHECK(examine(pod).empty());
}

TEST_CASE("the node's network is recognised by its interfaces") {
  PodState pod = good_pod();
  pod.facts.interfaces.push_back({"cni0", {}, true, 1500});
  CHECK(only(pod, "host_network").yaml.find("podAntiAffinity") !=
        std::string::npos);
  pod.listening = {2222};
  CHECK(only(pod, "port_taken").finding.severity == Severity::kError);
}

TEST_CASE("names that do not resolve are counted") {
  PodState pod = good_pod();
  for (int i = 0; i < 6; ++i) {
    pod.names.push_back({"w" + std::to_string(i), "dns_unresolved", ""});
  }
  const auto found = only(pod, "dns_unresolved");
  CHECK(found.finding.text.starts_with("6 of 7"));
  CHECK(found.finding.evidence == "w0, w1, w2, w3 and 2 more");
}

TEST_CASE("outside of a job a name is the machine's, not a Service's") {
  PodState pod = good_pod();
  pod.contract.role = Role::kManual;
  pod.facts.hostname = "desk";
  pod.names = {{"desk", "dns_unresolved", ""}};
  const auto found = only(pod, "dns_unresolved");
  CHECK(found.finding.text == "this machine's own name does not resolve");
  CHECK(found.yaml.find("127.0.1.1 desk") != std::string::npos);
  pod.contract.role = Role::kWorker;
  CHECK(only(pod, "dns_unresolved").yaml.find("Service") != std::string::npos);
}

TEST_CASE("endpoints of object stores") {
  PodState pod = good_pod();
  pod.endpoints = {{"minio:9000 of AWS_ENDPOINT_URL", "refused", ""}};
  CHECK(only(pod, "endpoint_unreachable").finding.evidence.find("refused") !=
        std::string::npos);
}

TEST_CASE("shared memory of the default size") {
  PodState pod = good_pod();
  pod.facts.shm_total = 64 << 20;
  CHECK(only(pod, "shm_small").finding.severity == Severity::kWarning);
  pod.facts.gpu.count = 1;
  pod.slots = 1;
  CHECK(only(pod, "shm_small").finding.severity == Severity::kInfo);
}

TEST_CASE("locked memory counts only where RDMA is") {
  PodState pod = good_pod();
  pod.facts.memlock_hard = 8 << 20;
  const auto user = only(pod, "memlock_small");
  CHECK(user.finding.severity == Severity::kError);
  CHECK(user.finding.remedy.find("LimitMEMLOCK") != std::string::npos);
  pod.facts.uid = 0;
  CHECK(only(pod, "memlock_small").finding.remedy.find("IPC_LOCK") !=
        std::string::npos);
  pod.rdma_devices.clear();
  CHECK(examine(pod).empty());
  pod.facts.memlock_hard = -2;  // unknown
  pod.rdma_devices = {"mlx5_0"};
  CHECK(examine(pod).empty());
}

TEST_CASE("huge pages that the pod may not use") {
  PodState pod = good_pod();
  pod.facts.huge_pages = 512;
  CHECK(examine(pod).empty());  // no limit known
  pod.facts.huge_pages_limit = 0;
  only(pod, "huge_pages_denied");
  pod.facts.huge_pages_limit = 512 << 20;
  CHECK(examine(pod).empty());
}

TEST_CASE("slots against CPUs and GPUs") {
  PodState pod = good_pod();
  pod.facts.cpu_quota = 4;
  CHECK(only(pod, "slots_over_cpus").finding.text == "8 slots share 4.00 CPUs");
  pod = good_pod();
  pod.slots = 16;
  CHECK(only(pod, "slots_not_gpus").finding.severity == Severity::kWarning);
  pod.slots = 4;
  CHECK(only(pod, "slots_not_gpus").finding.severity == Severity::kInfo);
}

TEST_CASE("a driver that is too old for the image's CUDA") {
  PodState pod = good_pod();
  pod.facts.cuda_driver = "470.82.01";
  CHECK(only(pod, "driver_too_old").finding.text.find("525") !=
        std::string::npos);
  pod.facts.cuda_driver = "4294967298.1";  // 2 in 32 bits; no version
  CHECK(examine(pod).empty());
  pod.facts.cuda_driver = "470.82.01";
  pod.facts.cuda_runtime = "11.8";  // 470 is enough for all of 11
  CHECK(examine(pod).empty());
}

TEST_CASE("a driver and no GPU") {
  PodState pod = good_pod();
  pod.facts.gpu.count = 0;
  CHECK(only(pod, "no_gpu_given").finding.severity == Severity::kInfo);
  pod.contract.role = Role::kLauncher;  // which needs none
  CHECK(examine(pod).empty());
}

TEST_CASE("socket buffers matter without RDMA only") {
  PodState pod = good_pod();
  pod.rmem_max = 212992;
  CHECK(examine(pod).empty());
  pod.rdma_devices.clear();
  CHECK(only(pod, "small_socket_buffers").finding.severity == Severity::kInfo);
}

TEST_CASE("paths") {
  PodState pod = good_pod();
  PathState path;
  path.path = "/data";
  pod.paths = {path};
  only(pod, "path_missing");
  pod.paths[0].exists = true;
  pod.paths[0].reason = "Read-only file system";
  CHECK(only(pod, "path_unwritable").yaml.find("fsGroup") != std::string::npos);
  pod.paths[0].writable = true;
  pod.paths[0].filesystem = "nfs4";
  CHECK(examine(pod).empty());
  pod.paths[0].free_bytes = 1 << 20;
  only(pod, "path_full");
  pod.paths[0].free_bytes = -1;
  pod.paths[0].free_inodes = 3;
  only(pod, "path_full");
  pod.paths[0].free_inodes = -1;
  pod.paths[0].write_ms = 900;
  only(pod, "path_slow");
  pod.paths[0].write_ms = 2;
  pod.paths[0].filesystem = "overlay";
  only(pod, "path_local");
}

TEST_CASE("programs and their libraries") {
  PodState pod = good_pod();
  pod.programs = {{"orted", "", {}}};
  only(pod, "exe_not_found");
  pod.programs = {{"orted", "/usr/bin/orted", {"libfoo.so.1"}}};
  CHECK(only(pod, "library_missing").finding.evidence ==
        "libfoo.so.1 not found");
}

TEST_CASE("a package took the place of the link that operators start") {
  PodState pod = good_pod();
  pod.foreign_sshd = "/usr/sbin/sshd";
  pod.pid1_is_muster = true;
  const auto severity = [&pod] {
    const auto all = examine(pod);
    const DoctorFinding* const one = find(all, "sshd_not_muster");
    REQUIRE(one != nullptr);
    CHECK(one->finding.remedy.find("ln -sf") != std::string::npos);
    return one->finding.severity;
  };
  CHECK(severity() == Severity::kWarning);
  pod.pid1_is_muster = false;
  CHECK(severity() == Severity::kInfo);
}

TEST_CASE("nowhere to write, and a user without a name") {
  PodState pod = good_pod();
  pod.facts.writable.clear();
  CHECK(only(pod, "no_writable_dir").finding.severity == Severity::kError);
  pod = good_pod();
  pod.facts.has_passwd_entry = false;
  only(pod, "user_unnamed");
  pod.facts.environment = {{"USER", "u"}, {"LOGNAME", "u"}};
  CHECK(examine(pod).empty());
}

TEST_CASE("errors come first") {
  PodState pod = good_pod();
  pod.rdma_devices.clear();
  pod.rmem_max = 1;            // info
  pod.facts.writable.clear();  // error
  const auto all = examine(pod);
  REQUIRE(all.size() == 2);
  CHECK(all[0].finding.severity == Severity::kError);
  CHECK(find(all, "small_socket_buffers") == &all[1]);
}
