// SPDX-License-Identifier: Apache-2.0
// What is asked of NVML, the CUDA driver and NCCL, over a library that stands
// in for them (fake_gpu.cc): shapes, failures and deadlines. No GPU is seen.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/fd.h"
#include "catch.h"
#include "fabric/collect/collect_parts.h"
#include "fabric/collect/driver_answers.h"
#include "fabric/collect/nvml.h"
#include "fabric/facts/facts_json.h"
#include "fabric/policy/policy.h"
#include "fabric/prove/nccl_choice.h"
#include "fabric/prove/nccl_rank.h"
#include "fabric/prove/nccl_rate.h"
#include "fabric/prove/nccl_report.h"

using namespace muster;

namespace {

struct Ended {
  int code = -1;
  std::string out;
  std::string err;
};

std::string all_of(int fd) {
  std::string out;
  char chunk[4096];
  for (ssize_t n = 0; (n = ::read(fd, chunk, sizeof chunk)) > 0;) {
    out.append(chunk, static_cast<size_t>(n));
  }
  return out;
}

// `ranks` ranks of `fabric nccl`; what rank 0 said.
Ended nccl(NcclRankOptions options, const std::string& mode, int ranks = 1,
           const std::string& settings = "") {
  auto out = make_pipe();
  auto err = make_pipe();
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::signal(SIGTERM, SIG_DFL);  // Catch's handler is not for children
      if (rank == 0) {
        ::dup2(out->write.get(), STDOUT_FILENO);
        ::dup2(err->write.get(), STDERR_FILENO);
      }
      ::setenv("FAKE_GPU", mode.c_str(), 1);
      ::setenv("RANK", std::to_string(rank).c_str(), 1);
      ::setenv("WORLD_SIZE", std::to_string(ranks).c_str(), 1);
      ::setenv("MASTER_ADDR", "127.0.0.1", 1);
      ::setenv("MASTER_PORT",
               std::to_string(20000 + ::getppid() % 9000).c_str(), 1);
      ::setenv("MUSTER_NETWORK_SETTINGS", settings.c_str(), 1);
      ::_exit(nccl_rank_main(options));
    }
    children.push_back(pid);
  }
  out->write.reset();
  err->write.reset();
  Ended ended;
  ended.out = all_of(out->read.get());
  ended.err = all_of(err->read.get());
  for (const pid_t pid : children) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    if (pid == children[0]) ended.code = WEXITSTATUS(status);
  }
  return ended;
}

NcclRankOptions with_fake() {
  NcclRankOptions options;
  options.nccl = {MUSTER_FAKE_GPU};
  options.cuda = MUSTER_FAKE_GPU;
  return options;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

ProbeEnd soon() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(120);
}

}  // namespace

TEST_CASE("what drivers said a while ago, with what is true now") {
  void* const nvml = open_nvml(MUSTER_FAKE_GPU);
  REQUIRE(nvml != nullptr);
  DriverAnswers answers;
  answers.nvml = nvml_lines(nvml);
  answers.cuda = ask_cuda_in_child({MUSTER_FAKE_GPU, MUSTER_FAKE_GPU}, soon());
  answers.now = nvml_lines_now(nvml);
  answers.age_ms = 1234;
  const auto back = driver_answers_from_text(to_text(answers));
  REQUIRE(back);
  CHECK(back->age_ms == 1234);
  PodFabric asked;
  probe_gpus({MUSTER_FAKE_GPU, MUSTER_FAKE_GPU}, soon(), asked);
  PodFabric told;
  REQUIRE(take_answers(*back, told));
  CHECK(write_facts({told}) == write_facts({asked}));
  // A GPU that has gone since then; what is in use now counts.
  DriverAnswers later = *back;
  later.nvml += "gpu 0000:2b:00.0 seen 1\ngpu 0000:2b:00.0 mig 0\n";
  later.now += "gpu 0000:1a:00.0 used 77\n";
  PodFabric now;
  REQUIRE(take_answers(later, now));
  REQUIRE(now.gpus->size() == 1);
  CHECK(now.gpus->front().pci == "0000:1a:00.0");
  CHECK(now.gpus->front().memory_used_bytes == 77);
  // None is there any more: the caller asks anew.
  later.now.clear();
  PodFabric none;
  CHECK_FALSE(take_answers(later, none));
  CHECK_FALSE(none.gpus);
  const std::string text = to_text(answers);
  CHECK_FALSE(driver_answers_from_text(text.substr(0, text.size() / 2)));
  CHECK_FALSE(driver_answers_from_text(""));
  ::dlclose(nvml);  // other tests load it under another name
}

TEST_CASE("a driver that does not tell its reserve apart counts it as used") {
  ::setenv("FAKE_GPU", "old", 1);
  PodFabric pod;
  probe_gpus({MUSTER_FAKE_GPU, MUSTER_FAKE_GPU}, soon(), pod);
  ::unsetenv("FAKE_GPU");
  REQUIRE(pod.gpus->size() == 1);
  CHECK(pod.gpus->front().memory_used_bytes == 1LL << 30);
}

TEST_CASE("what NVML and the CUDA driver answer becomes facts") {
  PodFabric pod;
  pod.gpus.emplace();
  pod.gpus->push_back({});  // the node's other GPU, not the pod's
  pod.gpus->back().vendor = "nvidia";
  pod.gpus->back().pci = "0000:2b:00.0";
  probe_gpus({MUSTER_FAKE_GPU, MUSTER_FAKE_GPU}, soon(), pod);
  CHECK(pod.gpu_driver == "550.54.15");
  CHECK(pod.cuda_version == "12.4");
  REQUIRE(pod.gpus->size() == 1);
  const FabricGpu& gpu = pod.gpus->front();
  CHECK(gpu.pci == "0000:1a:00.0");
  CHECK(gpu.name == "Fake GPU 80GB");
  CHECK(gpu.compute_capability == 90);
  CHECK(gpu.memory_bytes == 80LL << 30);
  CHECK(gpu.memory_used_bytes == 409LL << 20);  // without the driver's reserve
  CHECK(gpu.utilization == 7);
  CHECK(gpu.ecc_errors == 2);
  CHECK(gpu.slowdown == std::vector<std::string>{"thermal"});
  CHECK(yes(gpu.remap_pending));
  CHECK(no(gpu.remap_failed));
  CHECK(yes(gpu.nvlink));
  CHECK(yes(gpu.gdr));
  CHECK(no(gpu.dmabuf));
  CHECK(yes(gpu.multicast));
  CHECK(gpu.fabric_state == "completed");
  CHECK(gpu.fabric_status == 0);
  CHECK(gpu.fabric_cluster == "a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5");
  CHECK(gpu.fabric_clique == 4026);
  CHECK_FALSE(gpu.mig);  // it does not say: unknown
  const auto again = read_facts(write_facts({pod}), "facts");
  REQUIRE(again);
  CHECK(again->notes.empty());
  CHECK(again->pods[0].gpus->front().memory_bytes == gpu.memory_bytes);
  CHECK(again->pods[0].gpus->front().fabric_clique == 4026);
}

TEST_CASE("an NVLink fabric that is not up, and two of them, are named") {
  const auto codes_of = [](const std::vector<PodFabric>& pods) {
    std::string out;
    for (const Finding& finding : plan_fabric(pods, {}).findings) {
      if (finding.code.find("nvlink") != std::string::npos ||
          finding.code == "gpu_fabric") {
        out += finding.code + " ";
      }
    }
    return out;
  };
  PodFabric pod;
  pod.name = "a";
  pod.gpus.emplace(4);
  for (FabricGpu& gpu : *pod.gpus) gpu.fabric_state = "Completed";
  CHECK(codes_of({pod}).empty());
  pod.gpus->back().fabric_state = "In Progress";
  CHECK(codes_of({pod}) == "gpu_fabric ");
  pod.gpus->back().fabric_state = "not supported";  // no NVSwitch: as it is
  CHECK(codes_of({pod}).empty());
  pod.gpus->back().fabric_state = "completed";
  pod.gpus->back().fabric_status = 999;
  CHECK(codes_of({pod}) == "gpu_fabric ");
  pod.gpus->back().fabric_status = 0;
  for (FabricGpu& gpu : *pod.gpus) {
    gpu.fabric_cluster = "a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5";
    gpu.fabric_clique = 1;
  }
  PodFabric other = pod;
  other.name = "b";
  CHECK(codes_of({pod, other}).empty());
  for (FabricGpu& gpu : *other.gpus) gpu.fabric_clique = 2;
  CHECK(codes_of({pod, other}) == "nvlink_domains ");
  for (PodFabric* each : {&pod, &other}) {  // one machine each: no domain
    for (FabricGpu& gpu : *each->gpus) {
      gpu.fabric_cluster = std::string(32, '0');
    }
  }
  CHECK(codes_of({pod, other}).empty());
}

TEST_CASE("GPUDirect stays unknown without a GPU or an adapter") {
  PodFabric pod;
  probe_gdr(MUSTER_FAKE_GPU, soon(), pod);
  CHECK(!pod.gdr_verified);
  pod.gpus.emplace(1);
  pod.hcas.emplace();
  probe_gdr(MUSTER_FAKE_GPU, soon(), pod);
  CHECK(!pod.gdr_verified);
  FabricHca hca;
  hca.name = "mlx5_none";
  hca.ports = {{}};
  hca.ports[0].link_layer = "InfiniBand";
  hca.ports[0].state = "ACTIVE";
  pod.hcas->push_back(hca);
  ::setenv("FAKE_GPU", "none", 1);
  probe_gdr(MUSTER_FAKE_GPU, soon(), pod);
  ::unsetenv("FAKE_GPU");
  CHECK(!pod.gdr_verified);  // no GPU: nothing is known of the adapter
}

TEST_CASE("an adapter that cannot be opened is why GPUDirect fails") {
  PodFabric pod;
  pod.gpus.emplace(1);
  FabricHca hca;
  hca.name = "mlx5_none";
  hca.ports = {{}};
  hca.ports[0].link_layer = "InfiniBand";
  hca.ports[0].state = "ACTIVE";
  pod.hcas = {hca};
  probe_gdr(MUSTER_FAKE_GPU, soon(), pod);
  CHECK(no(pod.gdr_verified));
  CHECK(pod.gdr_trouble.find("mlx5_none") != std::string::npos);
  const FabricPlan plan = plan_fabric({pod}, {});
  CHECK(std::any_of(plan.findings.begin(), plan.findings.end(),
                    [](auto& finding) { return finding.code == "gdr_fails"; }));
}

TEST_CASE("a hot GPU and one with faulty memory are named") {
  const auto codes_of = [](const FabricGpu& gpu) {
    PodFabric pod;
    pod.hcas.emplace();
    pod.gpus = {{}, gpu};
    std::string out;
    for (const Finding& finding : plan_fabric({pod}, {}).findings) {
      if (finding.code.starts_with("gpu_")) {
        out += finding.code + ": " + finding.text + "\n";
      }
    }
    return out;
  };
  FabricGpu gpu;
  gpu.pci = "0000:2b:00.0";
  CHECK(codes_of(gpu).empty());
  gpu.slowdown = {"thermal", "power brake"};
  const std::string hot = codes_of(gpu);
  CHECK(hot.find("gpu_slowdown: GPU 1 (0000:2b:00.0)") == 0);
  CHECK(hot.find("thermal, power brake") != std::string::npos);
  gpu.slowdown.clear();
  gpu.ecc_errors = 2;
  CHECK(codes_of(gpu).find("2 uncorrected memory errors") != std::string::npos);
  gpu.remap_pending = true;
  CHECK(codes_of(gpu).find("reset would replace") != std::string::npos);
  gpu.remap_failed = true;
  CHECK(codes_of(gpu).find("could not replace") != std::string::npos);
}

TEST_CASE("a driver library that is missing or dies leaves facts unknown") {
  PodFabric pod;
  probe_gpus({"libno-such-nvml.so", "libno-such-cuda.so"}, soon(), pod);
  CHECK_FALSE(pod.gpus);
  CHECK(pod.cuda_version.empty());
  ::setenv("FAKE_GPU", "die", 1);
  probe_gpus({MUSTER_FAKE_GPU, "libno-such-cuda.so"}, soon(), pod);
  ::unsetenv("FAKE_GPU");
  CHECK_FALSE(pod.gpus);
}

TEST_CASE("probes whose time is over ask nothing more") {
  PodFabric pod;
  probe_gpus({MUSTER_FAKE_GPU, MUSTER_FAKE_GPU},
             std::chrono::steady_clock::now() - std::chrono::seconds(1), pod);
  CHECK(pod.gpu_driver.empty());
  CHECK(pod.cuda_version.empty());
}

TEST_CASE("a driver library that hangs is left at the deadline") {
  PodFabric pod;
  ::setenv("FAKE_GPU", "hang", 1);
  probe_gpus({MUSTER_FAKE_GPU, MUSTER_FAKE_GPU}, soon(), pod);
  ::unsetenv("FAKE_GPU");
  CHECK(pod.gpu_driver.empty());
  CHECK(pod.cuda_version == "12.4");  // the other one was asked all the same
}

TEST_CASE("fabric nccl: what is missing is one sentence and a class") {
  NcclRankOptions options = with_fake();
  options.nccl = {"libno-such-nccl.so"};
  Ended ended = nccl(options, "");
  CHECK(ended.code == 100);
  CHECK(has(ended.err, "the job's NCCL cannot be opened"));
  options = with_fake();
  options.cuda = "libno-such-cuda.so";
  ended = nccl(options, "");
  CHECK(ended.code == 100);
  CHECK(has(ended.err, "the CUDA driver is not in the pod"));
  ended = nccl(with_fake(), "none");
  CHECK(ended.code == 100);
  CHECK(has(ended.err, "cuInit fails with code 100 (no device)"));
  ended = nccl(with_fake(), "refuse");
  CHECK(ended.code == 38);
  CHECK(has(ended.err, "ncclCommInitRank fails"));
  CHECK(has(ended.err, "no device was found"));
  ended = nccl(with_fake(), "wrong");
  CHECK(ended.code == 35);
  CHECK(has(ended.err, "an all-reduce gave a wrong sum"));
}

TEST_CASE("fabric nccl alone and with two ranks") {
  Ended ended = nccl(with_fake(), "");
  CHECK(ended.code == 0);
  CHECK(has(ended.out, "NCCL 2.21.5"));
  CHECK(has(ended.out, "One rank has nobody to talk to"));
  NcclRankOptions options = with_fake();
  options.json = true;
  ended = nccl(options, "", 2, "NCCL_IB_HCA UCX_TLS");
  CHECK(ended.err.empty());
  CHECK(ended.code == 0);
  CHECK(has(ended.out, "\"settings\":[\"NCCL_IB_HCA\"]"));
  CHECK(has(ended.out, "\"alone\":[{\"nodes\":1,\"ranks\":2,"));
  CHECK(has(ended.out, "\"set\":[{\"nodes\":1,\"ranks\":2,"));
}

TEST_CASE("fabric nccl opens the library that is asked for") {
  const NcclWish wish{"/opt/libnccl.so.2", {"python3", "x.py", "--", "json"}};
  const NcclRankWords again = read_nccl_rank_words(nccl_rank_words(wish, true));
  CHECK(again.json);
  CHECK(again.wish.path == wish.path);
  CHECK(again.wish.program == wish.program);
  CHECK(nccl_rank_words({}, false).empty());

  const auto given = choose_nccl({MUSTER_FAKE_GPU, {"nowhere"}});
  REQUIRE(given);
  CHECK(*given == std::vector<std::string>{MUSTER_FAKE_GPU});
  NcclRankOptions options = with_fake();
  options.nccl = *given;
  CHECK(has(nccl(options, "").out, std::string("(") + MUSTER_FAKE_GPU + ")"));

  CHECK(choose_nccl({"/no/such/libnccl.so.2", {}}).error().code == "usage");
  CHECK(choose_nccl({"", {"no-such-program"}}).error().code == "usage");
  // Where nothing is asked for, the images' own come last.
  const auto usual = choose_nccl({});
  REQUIRE(usual);
  CHECK(std::count(usual->begin(), usual->end(), "libnccl.so.2") == 1);
}

TEST_CASE("fabric nccl: what does not end is left at a deadline") {
  NcclRankOptions options = with_fake();
  options.phase_ms = 1;
  const Ended ended = nccl(options, "");
  CHECK(ended.code == 35);
  CHECK(has(ended.err, "NCCL gave no result in time"));
}

TEST_CASE("what nccl measured, against what models need") {
  NcclFigures figures;
  figures.version = "2.21.5";
  figures.settings = {"NCCL_IB_HCA"};
  // 64 MiB: bus rates 115, 40 and 36 GB/s.
  const double bytes = static_cast<double>(kNcclBytes) * 1e-9;
  figures.set = {{1, 8, bytes * 2 * 7 / 8 / 115},
                 {2, 16, bytes * 2 * 15 / 16 / 40},
                 {4, 32, bytes * 2 * 31 / 32 / 20}};
  figures.alone = {{2, 16, bytes * 2 * 15 / 16 / 4}};
  const std::string text = nccl_figures_text(figures);
  CHECK(has(text, "1 node, 8 ranks: 115.0 GB/s, NCCL alone -\n"));
  CHECK(has(text, "2 nodes, 16 ranks: 40.0 GB/s, NCCL alone 4.0 GB/s\n"));
  CHECK(has(text, "50 % of two nodes"));
  CHECK(has(text, "7B parameters: enough"));
  CHECK(has(text, "70B parameters: too slow"));
  CHECK(nccl_version_text(2804) == "2.8.4");
}

namespace {

PodFabric cuda_aware(const char* mode, const std::string& ucx) {
  ::setenv("FAKE_GPU", mode, 1);
  PodFabric pod;
  probe_cuda_aware({MUSTER_FAKE_GPU, ucx},
                   std::chrono::steady_clock::now() + std::chrono::seconds(20),
                   pod);
  ::unsetenv("FAKE_GPU");
  return pod;
}

}  // namespace

TEST_CASE("MPI and UCX are asked whether they take GPU memory") {
  char folder[] = "/tmp/muster-ucx-XXXXXX";
  REQUIRE(::mkdtemp(folder) != nullptr);
  const std::filesystem::path place = folder;
  const std::string ucx = place / "libucp.so.0";
  std::filesystem::create_symlink(MUSTER_FAKE_GPU, ucx);
  const PodFabric plain = cuda_aware("", ucx);
  CHECK(plain.mpi.cuda_aware == Known(false));
  CHECK(plain.ucx.version == "1.15.0");
  CHECK(plain.ucx.cuda_aware == std::nullopt);  // no modules: nobody knows
  std::filesystem::create_directory(place / "ucx");
  CHECK(cuda_aware("", ucx).ucx.cuda_aware == Known(false));
  std::ofstream(place / "ucx/libuct_cuda.so.0") << "module";
  const PodFabric aware = cuda_aware("aware", ucx);
  CHECK(aware.mpi.cuda_aware == Known(true));
  CHECK(aware.ucx.cuda_aware == Known(true));
  // A library that dies takes its own answer with it, and no other.
  const PodFabric dies = cuda_aware("die", ucx);
  CHECK(dies.mpi.cuda_aware == std::nullopt);
  CHECK(dies.ucx.cuda_aware == Known(true));
  const PodFabric none = cuda_aware("", "libnothere.so.0");
  CHECK(none.ucx.version.empty());
  std::filesystem::remove_all(place);
}

TEST_CASE("what is out of range is no number of a GPU") {
  FabricGpu gpu;
  take_gpu_field(gpu, "busy", "4294967301");
  take_gpu_field(gpu, "capability", "99999999999");
  take_gpu_field(gpu, "fabric_clique", "-1");
  take_gpu_field(gpu, "fabric_status", "99999999999999999999");
  take_gpu_field(gpu, "memory", "-5");
  CHECK(gpu.utilization == -1);
  CHECK(gpu.compute_capability == -1);
  CHECK(gpu.fabric_clique == -1);
  CHECK(gpu.fabric_status == -1);
  CHECK(gpu.memory_bytes == -1);
  take_gpu_field(gpu, "capability", "90");
  take_gpu_field(gpu, "mig", "1");
  CHECK(gpu.compute_capability == 90);
  CHECK(gpu.mig == true);
}

TEST_CASE("a step of NCCL has three numbers, in range") {
  const auto step = nccl_step_in("step 2 16 1000000");
  REQUIRE(step);
  CHECK(step->nodes == 2);
  CHECK(step->ranks == 16);
  for (const char* const bad :
       {"step 4294967297 16 1", "step 2 99999999999 1", "step 2 16 -1",
        "step 2 16", "step 0 0 1", "step a b c", "over", ""}) {
    INFO(bad);
    CHECK_FALSE(nccl_step_in(bad));
  }
}
