// SPDX-License-Identifier: Apache-2.0
// libfabric's providers: asked from a library that is made to answer, and from
// the machine's own where there is one; as people write and paste them; and
// what they mean for MPI.
#include <stdlib.h>

#include "base/text.h"
#include "catch.h"
#include "fabric/collect/collect_parts.h"
#include "fabric/facts/facts_json.h"
#include "fabric/show.h"
#include "plan_of.h"

using namespace muster;

namespace {

ProbeEnd soon() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(20);
}

FabricLibrary asked(const char* library) {
  PodFabric pod;
  ForkedProbe probe = ask_libfabric(library);
  take_libfabric(probe, soon(), pod);
  return pod.libfabric;
}

std::string text_of(const FabricLibrary& library) {
  if (!library.providers) return "unknown";
  std::vector<std::string> parts;
  for (const FabricProvider& one : *library.providers) {
    parts.push_back(one.name + "(" + join(one.domains, " ") + ")");
  }
  return join(parts, " ");
}

std::string read(const std::string& pod) {
  const auto facts = read_facts(pod, "f");
  INFO(pod);
  if (!facts) FAIL(facts.error().text());
  CHECK(facts->notes == std::vector<std::string>{});
  return text_of(facts->pods.at(0).libfabric);
}

// The mode of the library that stands in for libfabric.
class Fake {
 public:
  explicit Fake(const char* mode) { ::setenv("FAKE_LIBFABRIC", mode, 1); }
  ~Fake() { ::unsetenv("FAKE_LIBFABRIC"); }
};

}  // namespace

TEST_CASE("libfabric names its providers and their domains") {
  const auto library = asked(MUSTER_FAKE_LIBFABRIC);
  CHECK(library.version == "1.22");
  CHECK(text_of(library) == "efa(rdmap0s6-rdm rdmap0s7-rdm) tcp;ofi_rxm(eth0)");
  PodFabric pod;
  pod.libfabric = library;
  CHECK(show_pod(pod).find("libfabric: 1.22, efa (rdmap0s6-rdm rdmap0s7-rdm), "
                           "tcp;ofi_rxm (eth0)\n") != std::string::npos);
  CHECK(show_pod({}).find("libfabric") == std::string::npos);
}

TEST_CASE("a user's FI_PROVIDER does not hide what there is") {
  ::setenv("FI_PROVIDER", "tcp", 1);
  const auto library = asked(MUSTER_FAKE_LIBFABRIC);
  CHECK(std::string(::getenv("FI_PROVIDER")) == "tcp");
  ::unsetenv("FI_PROVIDER");
  CHECK(text_of(library).find("efa(") == 0);
}

TEST_CASE("a libfabric without an answer leaves its providers unknown") {
  CHECK(text_of(asked("libno-such-fabric.so.1")) == "unknown");
  const auto of = [](const char* mode) {
    const Fake fake(mode);
    return asked(MUSTER_FAKE_LIBFABRIC);
  };
  CHECK(text_of(of("die")) == "unknown");
  CHECK(of("die").version == "1.22");
  CHECK(text_of(of("fail")) == "unknown");
  CHECK(text_of(of("none")).empty());  // it looked, and there is nothing
  const auto many = of("many");
  size_t domains = 0;
  for (const auto& one : *many.providers) domains += one.domains.size();
  CHECK(domains == 256);
}

TEST_CASE("the machine's own libfabric has a way over TCP") {
  const auto library = asked("libfabric.so.1");
  if (library.version.empty()) {
    WARN("no libfabric.so.1 here");
    return;
  }
  REQUIRE(library.providers);
  const auto tcp =
      std::find_if(library.providers->begin(), library.providers->end(),
                   [](auto& one) { return one.name.starts_with("tcp"); });
  REQUIRE(tcp != library.providers->end());
  CHECK(!tcp->domains.empty());
}

TEST_CASE("providers as people write them") {
  CHECK(read(R"({"libfabric": {"providers": "efa, tcp;ofi_rxm"}})") ==
        "efa() tcp;ofi_rxm()");
  CHECK(read(R"({"libfabric": {"providers": ["cxi"]}})") == "cxi()");
  CHECK(read(R"({"libfabric": {"providers": "none"}})").empty());
  CHECK(read(R"({"libfabric": {"providers": "unknown"}})") == "unknown");
  CHECK(read(R"({"libfabric": "1.22"})") == "unknown");
  CHECK(read(R"({"libfabric": {"providers": {"cxi": ["cxi0", "cxi1"],
      "tcp": {"domains": "eth0"}}}})") == "cxi(cxi0 cxi1) tcp(eth0)");
  CHECK(read(R"({"libfabric": {"providers": [{"name": "verbs",
      "domains": ["mlx5_0"]}]}})") == "verbs(mlx5_0)");
}

TEST_CASE("what fi_info printed") {
  const std::string long_form =
      R"("provider: efa\n    fabric: efa\n    domain: rdmap0s6-rdm\n    version: 122.0\n    type: FI_EP_RDM\nprovider: efa\n    domain: rdmap0s6-dgrm\nprovider: shm\n    domain: shm\n")";
  CHECK(read(R"({"fi_info": )" + long_form + "}") ==
        "efa(rdmap0s6-rdm rdmap0s6-dgrm) shm(shm)");
  CHECK(read(R"({"libfabric": {"version": "1.22", "providers": )" + long_form +
             "}}") == "efa(rdmap0s6-rdm rdmap0s6-dgrm) shm(shm)");
  CHECK(read(R"({"fi_info -l": ["cxi:", "    version: 0.1", "tcp:",
      "    version: 122.0"]})") == "cxi() tcp()");
  // Something else is reported, not dropped.
  const auto facts = read_facts(R"({"fi_info": "fi_getinfo: -61"})", "f");
  REQUIRE(facts);
  CHECK(facts->notes.size() == 1);
}

namespace {

// Two pods of a network that NCCL reaches by a plugin only, and the image has
// none.
std::string pods(const char* hcas, const std::string& more) {
  return std::string(R"([{"name": "w[0-1]", "nccl_version": "2.26.2",
      "gpus": 4, "plugins": [], "netdevs": ["eth0 10.0.0.[4-5]/24 default",
      "docker0 172.17.0.1/16"], "hcas": [")") +
         hcas + "\"], " + more + "}]";
}

constexpr const char* kEfa = "rdmap[0-3]s0 efa ACTIVE";
constexpr const char* kCxi = "cxi[0-3]";
const std::string kHasEfa =
    R"("libfabric": {"version": "1.22", "providers": ["efa", "tcp;ofi_rxm"]})";
const std::string kHasTcp =
    R"("libfabric": {"version": "1.17", "providers": ["tcp", "shm"]})";

std::string finding(const FabricPlan& plan, const std::string& code) {
  for (const Finding& one : plan.findings) {
    if (one.code == code) return one.text;
  }
  return "";
}

}  // namespace

TEST_CASE("MPI keeps the fabric that libfabric has a provider for") {
  for (const char* mpi : {"Open MPI 4.1.7", "MPICH 4.2", "Intel MPI 2021.13"}) {
    INFO(mpi);
    const std::string with = std::string(R"("mpi": ")") + mpi + "\"";
    const FabricPlan keeps = plan(pods(kEfa, kHasEfa + ", " + with));
    CHECK(keeps.transport == "TCP");
    CHECK(value(keeps, 0, "NCCL_NET") == "Socket");
    CHECK(found(keeps, "mpi_by_libfabric"));
    for (const char* name :
         {"OMPI_MCA_pml", "OMPI_MCA_btl", "UCX_TLS", "UCX_NET_DEVICES",
          "FI_PROVIDER", "I_MPI_OFI_PROVIDER"}) {
      CHECK(value(keeps, 0, name).empty());
    }
    CHECK(keeps.mpirun_args.empty());
    // Nobody asked, or it has none: TCP for MPI as well.
    for (const std::string& other :
         {std::string(R"("libfabric": {"version": "1.22"})"), kHasTcp}) {
      const FabricPlan tcp = plan(pods(kEfa, other + ", " + with));
      CHECK(!found(tcp, "mpi_by_libfabric"));
      CHECK(!tcp.mpirun_args.empty());
    }
  }
}

TEST_CASE("what an MPI without libfabric would do is told its interface") {
  const FabricPlan open = plan(pods(kEfa, kHasEfa));
  CHECK(value(open, 0, "OMPI_MCA_btl_tcp_if_include") == "eth0");
}

TEST_CASE("MPI is left its fabric only where every pod has it") {
  const auto keeps = [](const std::string& text, const char* profile = "") {
    return found(plan(text, profile), "mpi_by_libfabric");
  };
  const auto cxi =
      std::string(R"("libfabric": {"providers": [{"name": "cxi", "domains":
      ["cxi0"]}]})");
  CHECK(keeps(pods(kCxi, cxi)));
  CHECK(keeps(pods(kCxi, cxi), "ppo"));
  CHECK(!keeps(pods(kCxi, cxi), "tcp"));
  CHECK(!keeps(pods(kCxi, kHasEfa)));
  CHECK(!keeps(pods(kCxi, cxi + R"(, "environment": "FI_PROVIDER=tcp")")));
  CHECK(keeps(pods(kCxi, cxi + R"(, "environment": "NCCL_NET=Socket")")));
  const std::string mixed =
      R"([{"name": "a", "gpus": 1, "plugins": [], "hcas": ["cxi0"], )" + cxi +
      R"(}, {"name": "b", "gpus": 1, "plugins": [], "hcas": ["cxi0"], )" +
      kHasTcp + "}]";
  CHECK(!keeps(mixed));
  const std::string one_without =
      R"([{"name": "a", "gpus": 1, "plugins": [], "hcas": ["cxi0"], )" + cxi +
      R"(}, {"name": "b", "gpus": 1, "plugins": [], "hcas": []}])";
  CHECK(!keeps(one_without));
  // A port that is down reaches nobody.
  CHECK(!keeps(pods("cxi[0-3] down", cxi)));
}

TEST_CASE("a libfabric without the provider is named") {
  const FabricPlan missing = plan(pods(kEfa, kHasTcp));
  CHECK(finding(missing, "provider_missing")
            .find("libfabric 1.17 has no provider for EFA (efa), only tcp, "
                  "shm") != std::string::npos);
  CHECK(!found(plan(pods(kEfa, kHasEfa)), "provider_missing"));
  CHECK(!found(plan(pods(kEfa, R"("ucx": "1.16")")), "provider_missing"));
  CHECK(!found(plan(pods("mlx5_0 IB", kHasTcp)), "provider_missing"));
  // With the plugin it is NCCL's network that is not found.
  const std::string plugin =
      R"([{"name": "w[0-1]", "nccl_version": "2.26.2", "gpus": 8, "hcas":
      ["rdmap[0-3]s0 efa ACTIVE"], "plugins": [{"name": "libnccl-net.so",
      "network": "AWS Libfabric"}], )" +
      kHasTcp + "}]";
  CHECK(plan(plugin).verdict == FabricVerdict::kWarn);
  CHECK(plan(plugin, "rdma").verdict == FabricVerdict::kRefuse);
  CHECK(finding(plan(plugin), "provider_missing").find("silently") !=
        std::string::npos);
}

TEST_CASE("pods of MPI alone and what their libfabric has") {
  const auto of = [](const std::string& first, const std::string& second) {
    const auto pod = [](const char* name, const std::string& libfabric) {
      return std::string(R"({"name": ")") + name + R"(", "gpus": [],
        "mpi": "Open MPI 4.1.7", "hcas": ["rdmap[0-1]s0 efa ACTIVE"],
        "netdevs": ["docker0 172.17.0.1/16", "eth0 10.0.0.4/24 default"], )" +
             libfabric + "}";
    };
    return plan("[" + pod("a", first) + ", " + pod("b", second) + "]");
  };
  const std::string nobody = R"("ucx": "1.16")";
  CHECK(of(kHasEfa, kHasEfa).verdict == FabricVerdict::kLeave);
  CHECK(of(nobody, nobody).verdict == FabricVerdict::kLeave);
  // It may bring a libfabric of its own; if not, TCP finds its way.
  const FabricPlan none = of(kHasTcp, kHasTcp);
  CHECK(found(none, "provider_missing"));
  CHECK(value(none, 0, "OMPI_MCA_pml").empty());
  CHECK(value(none, 0, "OMPI_MCA_btl_tcp_if_include") == "eth0");
  // One on EFA and one on TCP do not meet.
  const FabricPlan mixed = of(kHasEfa, kHasTcp);
  CHECK(found(mixed, "provider_missing"));
  for (const size_t pod : {0U, 1U}) {
    CHECK(value(mixed, pod, "OMPI_MCA_pml") == "ob1");
  }
  CHECK(of(kHasEfa, nobody).verdict == FabricVerdict::kLeave);
}

TEST_CASE("Omni-Path has verbs, and better ways by libfabric") {
  const auto of = [](const char* providers) {
    return plan(std::string(R"([{"name": "w[0-1]", "gpus": 2, "nccl_version":
      "2.21.5", "plugins": [], "mpi": "Open MPI 5.0.3", "hcas": [{"name":
      "hfi1_0", "driver": "hfi1", "link_layer": "InfiniBand"}], "libfabric":
      {"providers": [)") +
                providers + "]}}]");
  };
  for (const char* own : {R"("opx")", R"("psm2", "tcp")"}) {
    CHECK(of(own).transport == "InfiniBand");
    CHECK(!found(of(own), "mpi_over_tcp"));
    CHECK(!found(of(own), "provider_missing"));
  }
  CHECK(found(of(R"("tcp")"), "mpi_over_tcp"));
  CHECK(found(of(R"("tcp")"), "provider_missing"));
}

TEST_CASE("iWARP, which NCCL does not take, is left to MPI") {
  const auto of = [](const char* driver, const char* providers) {
    return plan(std::string(R"([{"name": "w[0-1]", "gpus": 2, "nccl_version":
      "2.21.5", "plugins": [], "mpi": "Intel MPI 2021.13", "hcas": [{"name":
      "rdma0", "driver": ")") +
                driver + R"(", "iwarp": true, "link_layer": "Ethernet"}],
      "libfabric": {"providers": [)" +
                providers + "]}}]");
  };
  const FabricPlan keeps = of("irdma", R"("verbs", "verbs;ofi_rxm", "tcp")");
  CHECK(keeps.transport == "TCP");
  CHECK(value(keeps, 0, "NCCL_NET") == "Socket");
  CHECK(value(keeps, 0, "I_MPI_OFI_PROVIDER").empty());
  CHECK(found(keeps, "mpi_by_libfabric"));
  // Without ofi_rxm there are no messages of any size.
  CHECK(!found(of("irdma", R"("verbs", "tcp")"), "mpi_by_libfabric"));
  CHECK(!found(of("siw", R"("verbs;ofi_rxm", "tcp")"), "mpi_by_libfabric"));
}

TEST_CASE("a provider that libfabric does not have") {
  const auto warned = [](const char* variable, const std::string& libfabric) {
    return found(plan(pods("mlx5_0 IB", libfabric + R"(, "environment": ")" +
                                            variable + "\"")),
                 "lint_fi_provider");
  };
  CHECK(warned("FI_PROVIDER=efa", kHasTcp));
  CHECK(warned("I_MPI_OFI_PROVIDER=mlx", kHasTcp));
  CHECK(!warned("FI_PROVIDER=efa,tcp", kHasTcp));
  CHECK(!warned("FI_PROVIDER=TCP", kHasTcp));
  CHECK(!warned("FI_PROVIDER=^efa", kHasTcp));
  CHECK(!warned("FI_PROVIDER=efa", R"("libfabric": {"version": "1.17"})"));
  CHECK(!warned("FI_PROVIDER=ofi_rxm;tcp", kHasEfa));
  CHECK(warned("FI_PROVIDER=verbs;ofi_rxm", kHasEfa));
  const std::string linked = R"("libfabric": {"providers": ["shm+cxi:lnx"]})";
  CHECK(!warned("FI_PROVIDER=shm+cxi:lnx", linked));
  CHECK(!warned("FI_PROVIDER=cxi", linked));
}

TEST_CASE("a provider that is neither built nor of use is told once") {
  const FabricPlan told = plan(
      pods("mlx5_0 IB", kHasTcp + R"(, "environment": "FI_PROVIDER=psm2")"));
  CHECK(std::count_if(
            told.findings.begin(), told.findings.end(),
            [](auto& one) { return one.code == "lint_fi_provider"; }) == 1);
}

TEST_CASE("releases of aws-ofi-nccl and the libfabric that they need") {
  const auto warned = [](const char* plugin, const char* libfabric,
                         const char* profile = "") {
    return found(plan(std::string(R"([{"name": "w[0-1]", "gpus": 8, "hcas":
        ["rdmap[0-3]s0 efa ACTIVE"], "plugins": [{"name": "libnccl-net.so",
        "network": "AWS Libfabric", "version": ")") +
                          plugin + R"("}], "libfabric": {"version": ")" +
                          libfabric + R"(", "providers": ["efa"]}}])",
                      profile),
                 "libfabric_too_old");
  };
  CHECK(warned("1.7.1", "1.17"));
  CHECK(warned("v1.7.1-aws", "1.17.1amzn3.0"));
  CHECK(warned("1.14.0", "1.21"));
  CHECK(warned("1.12.1", "1.17"));
  CHECK(!warned("1.12.1", "1.18"));
  CHECK(!warned("1.13.2", "1.22.0amzn4.0"));
  CHECK(!warned("1.6.0", "1.17"));
  CHECK(!warned("1.14.0", "2.1"));
  CHECK(!warned("1.14.0", ""));
  CHECK(!warned("1.14.0", "1.17", "rl"));  // over TCP anyway
}

TEST_CASE("a libfabric without any provider stops Intel MPI and oneCCL") {
  const auto text = [](const char* providers, const char* more) {
    return finding(plan(std::string(R"([{"name": "w[0-1]", "hcas": [],
        "libfabric": {"providers": [)") +
                        providers + "]}, " + more + "}]"),
                   "provider_missing");
  };
  const char* max = R"("gpus": "4x Intel Data Center GPU Max 1100")";
  const char* intel = R"("gpus": [], "mpi": "Intel MPI 2021.9")";
  CHECK(text("", max).find("not even tcp") != std::string::npos);
  CHECK(text("", intel).find("not even tcp") != std::string::npos);
  CHECK(text("\"tcp\"", intel).empty());
  CHECK(text("", R"("gpus": [], "mpi": "Open MPI 5.0.5")").empty());
}

TEST_CASE("an older libfabric is told of EFA's RDMA read on p4d") {
  const auto read = [](const char* shape, const char* version,
                       const char* more) {
    return value(plan(R"([{"name": "w[0-1]", "gpus": 8, "shape": ")" +
                      std::string(shape) + R"(", "libfabric": ")" + version +
                      R"(", "hcas": ["rdmap0s1 efa"], "plugins":
                         ["libnccl-net.so"])" +
                      more + "}]"),
                 0, "FI_EFA_USE_DEVICE_RDMA");
  };
  CHECK(read("p4d.24xlarge", "1.14.0", "") == "1");
  CHECK(read("p4d.24xlarge", "1.18.0", "").empty());
  CHECK(read("g5.48xlarge", "1.14.0", "").empty());  // it has none
  CHECK(plan(R"([{"name": "w[0-1]", "gpus": 8, "shape": "p4d.24xlarge",
      "libfabric": "1.17", "hcas": ["rdmap0s1 efa"], "plugins":
      ["aws-ofi-nccl 1.7.1"]}])")
            .pods[0]
            .settings.empty());
  CHECK(read("p4d.24xlarge", "1.14.0",
             R"(, "environment": {"FI_EFA_USE_DEVICE_RDMA": "0"})")
            .empty());
}

TEST_CASE("Open MPI is kept from psm3 where there is no adapter") {
  const auto mtl = [](const char* hcas, const char* providers,
                      const char* more) {
    return value(plan(R"({"name": "laptop", "gpus": 0, "hcas": [)" +
                      std::string(hcas) + R"(], "mpi": "Open MPI 4.1.4",
                         "libfabric": {"providers": [)" +
                      providers + "]}" + more + "}"),
                 0, "OMPI_MCA_mtl");
  };
  const char* both = R"("psm3", "tcp")";
  CHECK(mtl("", both, "") == "^ofi");
  CHECK(mtl("", R"("tcp")", "").empty());
  CHECK(mtl(R"("mlx5_0 RoCE ACTIVE")", both, "").empty());
  CHECK(mtl("", both, R"(, "environment": {"FI_PROVIDER": "tcp"})").empty());
}

TEST_CASE("PSM2 has to be told of memory of GPUs") {
  const auto told = [](const char* aware, const char* more) {
    return found(plan(R"([{"name": "w[0-1]", "hcas": ["hfi1_0 IB ACTIVE"],
        "gpus": "2x Tesla V100", "mpi": {"family": "openmpi",
        "cuda_aware": )" +
                      std::string(aware) + "}" + more + "}]"),
                 "psm2_cuda");
  };
  CHECK(told("true", ""));
  CHECK(!told("false", ""));
  CHECK(!told("true", R"(, "environment": {"PSM2_CUDA": "1"})"));
}

TEST_CASE("Omni-Path by verbs alone is slow for MPI") {
  const auto verdict = [](const char* gpus) {
    return plan(R"([{"name": "w[0-1]", "hcas": ["hfi1_0 IB ACTIVE"],
        "mpi": "Open MPI 5.0.3", "libfabric": {"providers": ["tcp", "verbs"]},
        "gpus": )" +
                std::string(gpus) + "}]")
        .verdict;
  };
  CHECK(verdict("0") == FabricVerdict::kWarn);
  CHECK(verdict("2") == FabricVerdict::kLeave);  // NCCL's way is verbs
}
