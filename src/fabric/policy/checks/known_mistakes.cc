// SPDX-License-Identifier: Apache-2.0
// Mistakes of single releases of the libraries below a job, which an upgrade or
// a setting cures. A row is a warning if jobs like this one fail sooner or
// later, and a remark if only some of them do. Sources: release notes (for NCCL
// those of its tags) and the reports named in each row. Pure.
#include "fabric/policy/checks/known_mistakes.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "fabric/facts/effective.h"
#include "fabric/facts/gpu_names.h"
#include "fabric/policy/job_state.h"
#include "fabric/policy/network/plugins.h"
#include "fabric/policy/network/ucx.h"

namespace muster {

namespace {

using Versions = std::optional<NcclVersion> (*)(const FabricPodState&);
using Strikes = bool (*)(const FabricJob&, const FabricPodState&);

struct Mistake {
  Versions version;
  NcclVersion first;
  NcclVersion mended;
  Strikes strikes;
  Severity severity;
  const char* code;
  const char* text;
  const char* source;
  const char* remedy;
};

std::optional<NcclVersion> nccl(const FabricPodState& pod) {
  return has_amd_gpus(*pod.facts) ? std::nullopt : pod.version;
}

std::optional<NcclVersion> ucx(const FabricPodState& pod) {
  return parse_nccl_version(pod.facts->ucx.version);
}

std::optional<NcclVersion> open_mpi(const FabricPodState& pod) {
  return pod.facts->mpi.family == "openmpi"
             ? parse_nccl_version(pod.facts->mpi.version)
             : std::nullopt;
}

std::optional<NcclVersion> intel_mpi(const FabricPodState& pod) {
  return pod.facts->mpi.family == "intel"
             ? parse_nccl_version(pod.facts->mpi.version)
             : std::nullopt;
}

std::optional<NcclVersion> ofi_plugin(const FabricPodState& pod) {
  const auto found = find_ofi_plugin(*pod.facts);
  return found ? parse_nccl_version(found->plugin->version) : std::nullopt;
}

bool several_pods(const FabricJob& job, const FabricPodState& pod) {
  return job.pods.size() > 1 && !pod.mpi_only();
}

// The user's number for a variable of NCCL; 0 if not set.
int64_t number_of(const FabricPodState& pod, const char* name) {
  const auto users = effective(*pod.facts, name);
  return users ? parse_integer(trim(users->value)).value_or(0) : 0;
}

bool several_queues(const FabricJob& job, const FabricPodState& pod) {
  return job.uses_verbs() && number_of(pod, "NCCL_IB_QPS_PER_CONNECTION") > 1;
}

bool names_threads(const FabricJob&, const FabricPodState& pod) {
  return number_of(pod, "NCCL_SET_THREAD_NAME") != 0;
}

bool hidden_switch(const FabricJob&, const FabricPodState& pod) {
  return yes(pod.facts->virtual_machine) && no(pod.facts->nvswitch) &&
         has_nvlink_board(*pod.facts);
}

// NVLink that reaches other machines, and is in use.
bool in_rack(const FabricJob& job, const FabricPodState& pod) {
  return several_pods(job, pod) && has_rack_nvlink(*pod.facts) &&
         yes(pod.facts->imex_channel);
}

bool topology_in_rack(const FabricJob& job, const FabricPodState& pod) {
  return in_rack(job, pod) && effective(*pod.facts, "NCCL_TOPO_FILE");
}

bool on_grace(const FabricJob& job, const FabricPodState& pod) {
  const auto& gpus = pod.facts->gpus;
  return several_pods(job, pod) && gpus &&
         std::any_of(gpus->begin(), gpus->end(), is_grace);
}

bool one_gpu_each(const FabricJob& job, const FabricPodState& pod) {
  return several_pods(job, pod) &&
         std::all_of(job.pods.begin(), job.pods.end(), [](auto& any) {
           return any.facts->gpus && any.facts->gpus->size() == 1;
         });
}

// "hopper"; "" if neither number nor name shows it.
std::string generation(const FabricGpu& gpu) {
  constexpr std::pair<int, const char*> kNumbers[] = {
      {7, "volta"}, {8, "ampere"}, {9, "hopper"}, {10, "blackwell"}};
  constexpr std::pair<std::string_view, const char*> kNames[] = {
      {"V100", "volta"},  {"A100", "ampere"},    {"A800", "ampere"},
      {"H100", "hopper"}, {"H800", "hopper"},    {"H200", "hopper"},
      {"H20", "hopper"},  {"B200", "blackwell"}, {"B300", "blackwell"}};
  for (const auto& [number, name] : kNumbers) {
    if (gpu.compute_capability / 10 == number) return name;
  }
  for (const auto& [word, name] : kNames) {
    if (gpu.name.find(word) != gpu.name.npos) return name;
  }
  return "";
}

bool generations_differ(const FabricJob& job, const FabricPodState&) {
  std::set<std::string> seen;
  for (const FabricPodState& pod : job.pods) {
    if (!pod.facts->gpus) continue;
    for (const FabricGpu& gpu : *pod.facts->gpus) seen.insert(generation(gpu));
  }
  seen.erase("");
  return job.pods.size() > 1 && seen.size() > 1;
}

bool ucx_on_adapters(const FabricJob& job, const FabricPodState& pod) {
  return job.uses_verbs() && !ucx_on_tcp(*pod.facts);
}

bool ucx_of_open_mpi(const FabricJob& job, const FabricPodState& pod) {
  return ucx_on_adapters(job, pod) && pod.facts->mpi.family == "openmpi";
}

std::string variable(const FabricPodState& pod, const char* name) {
  const auto users = effective(*pod.facts, name);
  return users ? to_lower(trim(users->value)) : "";
}

// "^dc,ud": transports that are excluded, with ud among them.
bool excludes_ud(const FabricJob&, const FabricPodState& pod) {
  std::string value = variable(pod, "UCX_TLS");
  if (!value.starts_with('^')) return false;
  for (const auto word : split(std::string_view(value).substr(1), ',')) {
    if (trim(word) == "ud" || trim(word).starts_with("ud_")) return true;
  }
  return false;
}

bool opens_uct(const FabricJob& job, const FabricPodState& pod) {
  const std::string btl = variable(pod, "OMPI_MCA_btl");
  const bool named = btl.find("uct") != btl.npos;
  const auto version = ucx(pod);
  return job.uses_verbs() && version && *version >= NcclVersion{1, 17, 0} &&
         (btl.empty() || btl.starts_with('^') != named);
}

bool chooses_pml(const FabricJob& job, const FabricPodState& pod) {
  return ucx_on_adapters(job, pod) && job.pods.size() > 1 && ucx(pod) &&
         variable(pod, "OMPI_MCA_pml").empty();
}

bool old_libfabric(const FabricJob& job, const FabricPodState& pod) {
  const auto version = parse_nccl_version(pod.facts->libfabric.version);
  const std::string btl = variable(pod, "OMPI_MCA_btl");
  return job.uses_verbs() && version && *version < NcclVersion{1, 12, 0} &&
         btl.empty();
}

// Intel's mlx is UCX below libfabric.
bool mlx_with_old_ucx(const FabricJob& job, const FabricPodState& pod) {
  const auto version = ucx(pod);
  const std::string provider = variable(pod, "FI_PROVIDER") +
                               variable(pod, "I_MPI_OFI_PROVIDER") +
                               variable(pod, "UCX_TLS");
  return job.transport == FabricTransport::kInfiniBand && version &&
         *version < NcclVersion{1, 7, 0} &&
         (provider.empty() || provider == "mlx");
}

bool on_efa(const FabricJob& job, const FabricPodState& pod) {
  return several_pods(job, pod) && job.transport == FabricTransport::kEfa;
}

// RCCL's 24 channels between 64 ranks are more connections than are made.
bool many_cxi_ranks(const FabricJob& job, const FabricPodState& pod) {
  constexpr size_t kRanks = 64;
  constexpr int64_t kChannels = 20;
  const int64_t most = number_of(pod, "NCCL_MAX_NCHANNELS");
  size_t ranks = 0;
  for (const FabricPodState& any : job.pods) {
    ranks += any.facts->gpus ? any.facts->gpus->size() : 0;
  }
  return job.transport == FabricTransport::kSlingshot && ranks >= kRanks &&
         has_amd_gpus(*pod.facts) && (most <= 0 || most > kChannels);
}

constexpr Severity kFails = Severity::kWarning;
constexpr Severity kMayFail = Severity::kInfo;

constexpr std::array kMistakes = {
    Mistake{nccl,
            {2, 4, 0},
            {2, 4, 6},
            several_pods,
            kFails,
            "nccl_bug",
            "NCCL before 2.4.6 hangs in long jobs, and crashes where trees "
            "meet shared memory",
            "notes of NCCL 2.4.6; NVIDIA/nccl#238",
            "use NCCL 2.4.8"},
    Mistake{nccl,
            {2, 5, 0},
            {2, 8, 3},
            one_gpu_each,
            kMayFail,
            "nccl_bug",
            "NCCL before 2.8.3 may choose two protocols where each pod has "
            "one GPU, and hangs or crashes",
            "notes of NCCL 2.8.3; NVIDIA/nccl#394",
            "use NCCL 2.8.3 or later where jobs hang"},
    Mistake{nccl,
            {2, 7, 0},
            {2, 7, 6},
            hidden_switch,
            kFails,
            "nccl_bug",
            "NCCL before 2.7.6 crashes in a virtual machine that does not "
            "show its NVSwitch",
            "notes of NCCL 2.7.6",
            "use NCCL 2.7.8"},
    Mistake{nccl,
            {2, 12, 7},
            {2, 12, 10},
            several_queues,
            kFails,
            "nccl_bug",
            "NCCL before 2.12.10 makes mistakes with "
            "NCCL_IB_QPS_PER_CONNECTION above 1",
            "notes of NCCL 2.12.10",
            "use NCCL 2.12.12, or remove the variable"},
    Mistake{nccl,
            {2, 12, 7},
            {2, 12, 12},
            names_threads,
            kFails,
            "nccl_bug",
            "NCCL before 2.12.12 crashes with NCCL_SET_THREAD_NAME",
            "notes of NCCL 2.12.12",
            "use NCCL 2.12.12, or remove the variable"},
    Mistake{nccl,
            {2, 19, 0},
            {2, 20, 3},
            several_pods,
            kMayFail,
            "nccl_bug",
            "NCCL 2.19 may lock itself up while it connects many pods for "
            "alltoall (jobs with experts), with cuMem, which is on",
            "notes of NCCL 2.20.3; NVIDIA/nccl#1116, #1134",
            "NCCL_CUMEM_ENABLE=0 where alltoall hangs, or NCCL 2.20.3"},
    Mistake{nccl,
            {2, 18, 0},
            {2, 22, 3},
            generations_differ,
            kFails,
            "nccl_bug",
            "the GPUs of the pods are of different generations, for which "
            "NCCL before 2.22.3 chooses different algorithms: it hangs, or "
            "its sums are wrong",
            "notes of NCCL 2.21.5 and 2.22.3; NVIDIA/nccl#1184",
            "use NCCL 2.24.3 or later"},
    Mistake{nccl,
            {2, 22, 3},
            {2, 24, 3},
            generations_differ,
            kMayFail,
            "nccl_bug",
            "the GPUs of the pods are of different generations, with which "
            "NCCL before 2.24.3 may hang",
            "notes of NCCL 2.24.3",
            "use NCCL 2.24.3 or later"},
    Mistake{nccl,
            {2, 20, 0},
            {2, 27, 3},
            topology_in_rack,
            kFails,
            "nccl_bug",
            "NCCL before 2.27.3 does not start with NCCL_TOPO_FILE where "
            "NVLink joins machines",
            "notes of NCCL 2.27.3",
            "use NCCL 2.27.5, or remove NCCL_TOPO_FILE"},
    Mistake{nccl,
            {2, 27, 3},
            {2, 27, 5},
            in_rack,
            kMayFail,
            "nccl_bug",
            "NCCL 2.27.3 fails where data goes by another GPU's adapter (PXN) "
            "between machines that NVLink joins",
            "notes of NCCL 2.27.5",
            "use NCCL 2.27.5, or NCCL_PXN_DISABLE=1"},
    // If its compiler was older than gcc 10, like that of the packages.
    Mistake{nccl,
            {0, 0, 0},
            {2, 29, 3},
            on_grace,
            kMayFail,
            "nccl_bug",
            "NCCL before 2.29.3 may lose slots of its proxy on Arm, until all "
            "ranks wait without an error",
            "release notes of NCCL 2.29.3; marin-community/marin#8038",
            "use NCCL 2.29.3 or later where jobs hang"},
    Mistake{ucx,
            {1, 6, 0},
            {1, 6, 1},
            ucx_of_open_mpi,
            kFails,
            "ucx_bug",
            "UCX 1.6.0 misses memory that is given back (\"unable to handle "
            "VM_UNMAP event\"), which 1.6.1 mends: wrong data, or errors",
            "open-mpi/ompi#7009",
            "use UCX 1.6.1 or later"},
    Mistake{ucx,
            {1, 8, 0},
            {1, 8, 1},
            ucx_of_open_mpi,
            kFails,
            "ucx_bug",
            "Open MPI with UCX 1.8.0 crashes in MPI_Finalize or does not run "
            "on several nodes, which UCX 1.9 mends",
            "open-mpi/ompi#7968; UCL-ARC/rcps-buildscripts#457",
            "use UCX 1.9.0 or later"},
    Mistake{ucx,
            {1, 8, 0},
            {1, 9, 0},
            ucx_on_adapters,
            kMayFail,
            "ucx_bug",
            "programs of many threads may hang with UCX 1.8, which 1.9 mends "
            "(NAMD and others of Charm++)",
            "charmplusplus/charm#2716",
            "use UCX 1.9.0 or later where jobs hang"},
    Mistake{ucx,
            {0, 0, 0},
            {1, 14, 1},
            excludes_ud,
            kFails,
            "ucx_bug",
            "UCX before 1.14.1 connects by ud also where UCX_TLS excludes it, "
            "and does not get along without",
            "nv-legate/legate#592",
            "use UCX 1.14.1 or later, or list the transports that are wanted"},
    Mistake{open_mpi,
            {4, 1, 0},
            {4, 1, 2},
            chooses_pml,
            kMayFail,
            "mpi_bug",
            "of Open MPI before 4.1.2 some ranks of a job may take ob1 and "
            "the others UCX, and the job ends in MPI_Init",
            "open-mpi/ompi#9617",
            "OMPI_MCA_pml=ucx where that happens, or Open MPI 4.1.2"},
    Mistake{open_mpi,
            {4, 1, 0},
            {5, 0, 0},
            old_libfabric,
            kMayFail,
            "mpi_bug",
            "Open MPI 4.1 crashes in one-sided operations with libfabric "
            "before 1.12",
            "open-mpi/ompi#9123",
            "use libfabric 1.12, or OMPI_MCA_btl=^ofi where MPI_Win_ calls "
            "crash"},
    Mistake{open_mpi,
            {5, 0, 0},
            {5, 0, 5},
            opens_uct,
            kFails,
            "mpi_bug",
            "Open MPI before 5.0.5 crashes in MPI_Init where its uct BTL opens "
            "UCX 1.17 or later",
            "openhpc/ohpc#2059; open-mpi/ompi#12224",
            "OMPI_MCA_btl=^uct, or Open MPI 5.0.5"},
    Mistake{intel_mpi,
            {2019, 6, 0},
            {2019, 8, 0},
            mlx_with_old_ucx,
            kFails,
            "mpi_bug",
            "Intel MPI 2019.6 and 2019.7 do not start on InfiniBand with UCX "
            "before 1.7, which their provider mlx needs",
            "easybuilders/easybuild-easyconfigs#10213, #10280, #10314",
            "use UCX 1.7 or later, or FI_PROVIDER=verbs"},
    Mistake{ofi_plugin,
            {1, 18, 0},
            {1, 19, 0},
            on_efa,
            kFails,
            "plugin_bug",
            "large broadcasts between pods (weights, too) hang with "
            "aws-ofi-nccl 1.18, which 1.20 mends",
            "aws/deep-learning-containers#6668; NVIDIA-NeMo/RL#1961",
            "use aws-ofi-nccl 1.20.0 (EFA installer 1.49) or later"},
    Mistake{ofi_plugin,
            {1, 19, 0},
            {1, 21, 0},
            many_cxi_ranks,
            kFails,
            "plugin_bug",
            "aws-ofi-nccl 1.19 and 1.20 do not get done with connecting 64 "
            "ranks of RCCL over Slingshot with more than 20 channels "
            "(NCCL_MAX_NCHANNELS)",
            "aws/aws-ofi-nccl#1379",
            "NCCL_MAX_NCHANNELS=20"},
};

// NVLS came with 2.17, and hung now and then until 2.18.
void keep_from_first_nvls(FabricJob& job) {
  constexpr NcclVersion kFirst{2, 17, 0};
  constexpr NcclVersion kMended{2, 18, 0};
  const auto struck = [&](const FabricPodState& pod) {
    const auto version = nccl(pod);
    const auto& gpus = pod.facts->gpus;
    return version && *version >= kFirst && *version < kMended && gpus &&
           gpus->size() > 1 && has_nvlink_board(*pod.facts) &&
           !no(pod.facts->multicast) && generation(gpus->front()) == "hopper";
  };
  if (job.profile == Profile::kRl ||
      std::none_of(job.pods.begin(), job.pods.end(), struck)) {
    return;
  }
  FabricSetting setting{"NCCL",
                        "NCCL_NVLS_ENABLE",
                        "0",
                        "the first NCCL with NVLS hangs in it now and then, "
                        "which 2.18 mends",
                        "NCCL 2.17, GPUs on NVSwitch",
                        FabricConfidence::kLikely,
                        "NVIDIA/JAX-Toolbox#331"};
  setting.alone = "NVLS";
  setting.rejected = {"unset: see reason", "NCCL_P2P_DISABLE=1: takes NVLink"};
  for (FabricPodState& pod : job.pods) propose(job, pod, setting);
}

}  // namespace

void check_known_mistakes(FabricJob& job) {
  for (const FabricPodState& pod : job.pods) {
    for (const Mistake& mistake : kMistakes) {
      const auto version = mistake.version(pod);
      if (!version || *version < mistake.first || *version >= mistake.mended ||
          !mistake.strikes(job, pod)) {
        continue;
      }
      report(job, &pod,
             {mistake.severity, mistake.code, mistake.text, mistake.source,
              mistake.remedy});
    }
  }
  keep_from_first_nvls(job);
}

}  // namespace muster
