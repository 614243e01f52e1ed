// SPDX-License-Identifier: Apache-2.0
// lint_components(): words by which users choose transports of UCX, components
// of Open MPI and providers of libfabric. A word unknown to all of their
// versions silently changes the choice, or ends the program. Sources: UCX FAQ
// and ucp_context.c (aliases), Open MPI's ompi_info and help-mpi-btl-sm.txt,
// libfabric fi_provider(7) and man pages of its providers. Pure.
#include <algorithm>
#include <array>

#include "fabric/lint/lint.h"
#include "fabric/policy/user_text.h"

namespace muster {

namespace {

struct Choice {
  const char* variable;
  const char* what;
  std::string_view words;  // with blanks around each
};

constexpr std::string_view kTransports =
    " all self sm shm mm posix sysv cma knem xpmem tcp sockcm rdmacm ib rc "
    "rc_v "
    "rc_x rc_verbs rc_mlx5 ud ud_v ud_x ud_verbs ud_mlx5 dc dc_x dc_mlx5 cuda "
    "cuda_copy cuda_ipc gdr_copy rocm rocm_copy rocm_ipc rocm_gdr ze ze_copy "
    "ze_ipc ze_gdr srd srd_verbs ugni ugni_rdma ugni_smsg ugni_udt gga "
    "gga_mlx5 "
    "cm mlx5 gaudi gaudi_gdr scopy tcp_sockcm ";
constexpr std::string_view kProviders =
    " tcp udp sockets net xnet verbs mlx psm psm2 psm3 opx efa efa-direct cxi "
    "gni bgq tofu usnic shm sm2 rstream ofi_rxm ofi_rxd ofi_mrail mrail rxm "
    "rxd lnx "
    "linkx lpp ucx coll off_coll offload_coll netdir hook noop ofi_hook_noop "
    "ofi_hook_perf ofi_hook_debug ofi_hook_hmem ofi_lnx ofi_coll ";

constexpr std::array kChoices = {
    Choice{"UCX_TLS", "UCX knows no transport", kTransports},
    Choice{"FI_PROVIDER", "libfabric has no provider", kProviders},
    Choice{"I_MPI_OFI_PROVIDER", "libfabric has no provider", kProviders},
    Choice{"MPIR_CVAR_OFI_USE_PROVIDER", "libfabric has no provider",
           kProviders},
    Choice{"OMPI_MCA_pml", "Open MPI has no pml",
           " ob1 cm ucx yalla v monitoring mxm crcpw bfo dr "},
    Choice{"OMPI_MCA_mtl", "Open MPI has no mtl",
           " ofi psm psm2 portals4 portals mxm mx smdirect "},
    Choice{
        "OMPI_MCA_btl", "Open MPI has no btl",
        " self sm vader tcp openib ugni usnic ofi uct smcuda portals4 portals "
        "scif udapl mx template xpmem "},
};

bool knows(std::string_view words, const std::string& word) {
  return words.find(" " + word + " ") != words.npos;
}

// "rc" of "\rc" and of "rc:aux"; "verbs" and "ofi_rxm" of "verbs;ofi_rxm".
std::vector<std::string> words_of(std::string value) {
  std::replace_if(
      value.begin(), value.end(), [](char c) { return c == ';' || c == '+'; },
      ',');
  std::vector<std::string> out;
  for (std::string word : entries_of(value)) {
    if (word.starts_with('\\')) word.erase(0, 1);
    word = to_lower(word.substr(0, word.find(':')));
    if (!word.empty()) out.push_back(std::move(word));
  }
  return out;
}

void lint_choice(FabricJob& job, const FabricPodState& pod,
                 const Choice& choice) {
  const std::string value = value_of(pod, choice.variable);
  for (const std::string& word : words_of(value)) {
    if (knows(choice.words, word)) continue;
    lint_warn(job, pod, "lint_word",
              choice.variable + ("=" + value) + ": " + choice.what + " \"" +
                  word + "\"",
              "correct the word, or remove it");
  }
}

// Open MPI 3 and 4 have no sm: processes of one pod go through tcp.
void lint_sm(FabricJob& job, const FabricPodState& pod) {
  const std::string value = value_of(pod, "OMPI_MCA_btl");
  const std::string& version = pod.facts->mpi.version;
  if (value.starts_with('^') ||
      (!version.starts_with("3.") && !version.starts_with("4."))) {
    return;
  }
  const auto words = entries_of(value);
  const auto has = [&](const char* word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  if (!has("sm") || has("vader")) return;
  lint_warn(job, pod, "lint_btl_sm",
            "OMPI_MCA_btl=" + value +
                ": Open MPI 3 and 4 have no sm, whose place vader took: "
                "processes of one pod do without shared memory",
            "write vader for sm");
}

}  // namespace

void lint_components(FabricJob& job, const FabricPodState& pod) {
  for (const Choice& choice : kChoices) lint_choice(job, pod, choice);
  lint_sm(job, pod);
}

}  // namespace muster
