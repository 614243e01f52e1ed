// SPDX-License-Identifier: Apache-2.0
// lint_contradictions(): two variables, one of which disables the other, or
// that together leave a library without a way. A table: the values of both, and
// the library's reaction. Holds only statements of the library's source or
// guide; the other checks cover the pod's network. Pure.
#include <algorithm>
#include <string_view>

#include "fabric/facts/gpu_names.h"
#include "fabric/lint/lint.h"
#include "fabric/policy/network/plugins.h"
#include "fabric/policy/settings/nccl_variables.h"
#include "fabric/policy/user_text.h"

namespace muster {

namespace {

enum class Is {
  kSet,      // to anything
  kOn,       // 1, true, yes
  kOff,      // 0, false, no
  kIndex,    // a number from 0 on
  kWord,     // one of `words`
  kNotWord,  // set, to none of them
  kOnly,     // a list of some of `words` and no others
  kWithout,  // a list that excludes all of `words`
  kListed,   // a list of what to use, without ^
  kAbove,    // a larger number than the other's
};

struct Side {
  const char* name;
  Is is;
  std::string_view words = {};  // in lower case, with blanks around each
};

struct Contradiction {
  Side one;  // that wins, if any does
  Side other;
  const char* what;
  const char* remedy;
  const char* source;
  bool ends = false;   // no job works so
  bool plugin = true;  // true also where NCCL loads a network plugin
};

constexpr std::string_view kNever = " loc 0 ";
constexpr std::string_view kSimpleOnly =
    " collnet collnetdirect collnetchain nvls nvlstree pat ";
constexpr const char* kNoWayLeft =
    "that leaves NCCL no way: it stops with \"no algorithm/protocol "
    "available\"";
constexpr const char* kFixedIndex =
    "the index is taken as it is, and NCCL chooses no address by the other";
constexpr const char* kRemoveIndex =
    "remove NCCL_IB_GID_INDEX to let NCCL choose, else the other";
constexpr const char* kNoRecord =
    "PyTorch keeps no record, and writes an empty one when it gives up";

constexpr Contradiction kTable[] = {
    {{"NCCL_IB_DISABLE", Is::kOn},
     {"NCCL_NET", Is::kWord, " ib "},
     "the network that is asked for is switched off, and NCCL stops",
     "remove NCCL_IB_DISABLE for InfiniBand and RoCE, or write NCCL_NET=Socket",
     "NCCL src/transport/net_ib/init.cc, src/plugin/net.cc",
     true},
    {{"NCCL_IB_DISABLE", Is::kOn},
     {"NCCL_IB_HCA", Is::kSet},
     "InfiniBand and RoCE are off, and the list of adapters has no effect",
     "remove NCCL_IB_DISABLE to use these adapters, else the list",
     "NCCL guide, NCCL_IB_DISABLE",
     false,
     false},
    {{"NCCL_IB_DISABLE", Is::kOn},
     {"NCCL_NET_GDR_LEVEL", Is::kNotWord, kNever},
     "InfiniBand and RoCE are off, TCP has no GPUDirect RDMA, and the level "
     "has "
     "no effect",
     "remove NCCL_IB_DISABLE to use GPUDirect RDMA, else the level",
     "NCCL guide, NCCL_IB_DISABLE",
     false,
     false},
    {{"NCCL_NET", Is::kWord, " socket "},
     {"NCCL_IB_HCA", Is::kSet},
     "NCCL uses TCP, and the list of adapters has no effect",
     "remove NCCL_NET to use these adapters, else the list",
     "NCCL guide, NCCL_NET"},
    {{"NCCL_NET", Is::kWord, " socket "},
     {"NCCL_NET_GDR_LEVEL", Is::kNotWord, kNever},
     "NCCL uses TCP, which has no GPUDirect RDMA, and the level has no effect",
     "remove NCCL_NET to use GPUDirect RDMA, else the level",
     "NCCL guide, NCCL_NET"},
    {{"NCCL_NET", Is::kWord, " socket "},
     {"NCCL_IB_DISABLE", Is::kOff},
     "NCCL uses TCP all the same",
     "remove NCCL_NET to use InfiniBand or RoCE, else NCCL_IB_DISABLE",
     "NCCL guide, NCCL_NET"},
    {{"NCCL_NET", Is::kWord, " socket "},
     {"NCCL_NET_PLUGIN", Is::kNotWord, " none "},
     "NCCL uses its own TCP, and not the plugin's network",
     "remove NCCL_NET to use the plugin, or write NCCL_NET_PLUGIN=none",
     "NCCL src/plugin/net.cc"},
    {{"NCCL_P2P_DISABLE", Is::kWord, " 1 "},
     {"NCCL_P2P_LEVEL", Is::kNotWord, kNever},
     "peer to peer is off, and NCCL does not read the level",
     "remove NCCL_P2P_DISABLE to have the level count, else the level",
     "NCCL src/graph/paths.cc"},
    {{"NCCL_ALGO", Is::kOnly, kSimpleOnly},
     {"NCCL_PROTO", Is::kWithout, " simple "},
     kNoWayLeft,
     "add Simple to NCCL_PROTO or Ring to NCCL_ALGO, or remove both",
     "NCCL src/graph/tuning.cc"},
    {{"NCCL_ALGO", Is::kOnly, " nvls nvlstree "},
     {"NCCL_NVLS_ENABLE", Is::kOff},
     kNoWayLeft,
     "remove NCCL_NVLS_ENABLE, or add Ring to NCCL_ALGO",
     "NCCL src/graph/tuning.cc"},
    {{"NCCL_ALGO", Is::kOnly, " collnet collnetdirect collnetchain "},
     {"NCCL_COLLNET_ENABLE", Is::kOff},
     kNoWayLeft,
     "write NCCL_COLLNET_ENABLE=1, or add Ring to NCCL_ALGO",
     "NCCL src/graph/tuning.cc"},
    {{"NCCL_IB_GID_INDEX", Is::kIndex},
     {"NCCL_IB_ADDR_FAMILY", Is::kSet},
     kFixedIndex,
     kRemoveIndex,
     "NCCL src/transport/net_ib/connect.cc"},
    {{"NCCL_IB_GID_INDEX", Is::kIndex},
     {"NCCL_IB_ADDR_RANGE", Is::kSet},
     kFixedIndex,
     kRemoveIndex,
     "NCCL src/transport/net_ib/connect.cc"},
    {{"NCCL_IB_GID_INDEX", Is::kIndex},
     {"NCCL_IB_ROCE_VERSION_NUM", Is::kSet},
     kFixedIndex,
     kRemoveIndex,
     "NCCL src/transport/net_ib/connect.cc"},
    {{"NCCL_MIN_CTAS", Is::kAbove},
     {"NCCL_MAX_CTAS", Is::kSet},
     "the least is more than the most, and NCCL takes the most for both",
     "correct one of them",
     "NCCL src/init.cc"},
    {{"NCCL_CUMEM_ENABLE", Is::kOff},
     {"NCCL_MNNVL_ENABLE", Is::kOn},
     "NVLink between machines needs cuMem, and stays off",
     "remove NCCL_CUMEM_ENABLE",
     "NCCL src/mnnvl.cc"},
    {{"NCCL_PXN_DISABLE", Is::kWord, " 1 "},
     {"NCCL_P2P_PXN_LEVEL", Is::kNotWord, " 0 "},
     "PXN is off, and NCCL does not read the level",
     "remove one of them",
     "NCCL src/graph/search.cc"},
    {{"TORCH_NCCL_BLOCKING_WAIT", Is::kOn},
     {"TORCH_NCCL_ASYNC_ERROR_HANDLING", Is::kNotWord, " 0 "},
     "PyTorch waits in the call and switches its handling of errors off",
     "set one of them only",
     "PyTorch's documentation of torch.distributed"},
    {{"TORCH_FR_BUFFER_SIZE", Is::kWord, " 0 "},
     {"TORCH_NCCL_DUMP_ON_TIMEOUT", Is::kOn},
     kNoRecord,
     "TORCH_FR_BUFFER_SIZE=2000",
     "PyTorch's tutorial of the flight recorder"},
    {{"TORCH_NCCL_TRACE_BUFFER_SIZE", Is::kWord, " 0 "},
     {"TORCH_NCCL_DUMP_ON_TIMEOUT", Is::kOn},
     kNoRecord,
     "TORCH_NCCL_TRACE_BUFFER_SIZE=2000",
     "PyTorch's tutorial of the flight recorder"},
    {{"OMPI_MCA_coll_tuned_use_dynamic_rules", Is::kOff},
     {"OMPI_MCA_coll_tuned_dynamic_rules_filename", Is::kSet},
     "Open MPI does not read the file",
     "OMPI_MCA_coll_tuned_use_dynamic_rules=1, or remove the file's variable",
     "Open MPI coll_tuned_component.c"},
    {{"OMPI_MCA_pml", Is::kWord, " ob1 ucx "},
     {"OMPI_MCA_mtl", Is::kListed},
     "the mtl is not used: only pml cm has one",
     "OMPI_MCA_pml=cm for that mtl, or remove OMPI_MCA_mtl",
     "Open MPI's documentation, MCA frameworks"},
    {{"OMPI_MCA_oob_tcp_if_include", Is::kSet},
     {"OMPI_MCA_oob_tcp_if_exclude", Is::kSet},
     "they exclude each other, and Open MPI's daemons do not start",
     "keep oob_tcp_if_include",
     "Open MPI help-oob-tcp.txt"},
    {{"I_MPI_FABRICS", Is::kWord, " shm "},
     {"I_MPI_OFI_PROVIDER", Is::kSet},
     "Intel MPI uses shared memory alone, and no provider of libfabric",
     "I_MPI_FABRICS=shm:ofi",
     "Intel MPI reference, I_MPI_FABRICS"},
};

bool among(std::string_view words, const std::string& word) {
  return words.find(" " + word + " ") != words.npos;
}

bool is_on(const std::string& value) {
  const auto number = parse_integer(value);
  return number ? *number != 0 : among(" true yes on t y enabled ", value);
}

bool is_off(const std::string& value) {
  return value == "0" || among(" false no off f n disabled ", value);
}

std::vector<std::string> plain_words(const std::string& value) {
  return value.starts_with('^') ? std::vector<std::string>{}
                                : entries_of(value);
}

bool leaves_out(const std::string& value, std::string_view words) {
  const auto entries = entries_of(value);
  const bool any = std::any_of(entries.begin(), entries.end(),
                               [&](auto& one) { return among(words, one); });
  return !entries.empty() && any == value.starts_with('^');
}

// `value` and `other` in lower case.
bool holds(const Side& side, const std::string& value,
           const std::string& other) {
  switch (side.is) {
    case Is::kSet:
      return true;
    case Is::kOn:
      return is_on(value);
    case Is::kOff:
      return is_off(value);
    case Is::kIndex:
      return parse_integer(value).value_or(-1) >= 0;
    case Is::kWord:
      return among(side.words, value);
    case Is::kNotWord:
      return !among(side.words, value);
    case Is::kOnly: {
      const auto entries = plain_words(value);
      return !entries.empty() &&
             std::all_of(entries.begin(), entries.end(),
                         [&](auto& one) { return among(side.words, one); });
    }
    case Is::kWithout:
      // "function:words" may have the needed word where it is needed.
      return value.find(':') == value.npos && leaves_out(value, side.words);
    case Is::kListed:
      return !plain_words(value).empty();
    case Is::kAbove: {
      const auto own = parse_integer(value);
      const auto most = parse_integer(other);
      return own && most && *own > *most;
    }
  }
  return false;
}

// false: a variable of NCCL that this version or pod does not read;
// lint_value() reports it.
bool is_read(const FabricPodState& pod, const std::string& name) {
  if (!name.starts_with("NCCL_")) return true;
  if (pod.mpi_only()) return false;
  const NcclVariable* known =
      find_nccl_variable(name, has_amd_gpus(*pod.facts));
  if (known == nullptr) return false;
  const bool gone =
      known->gone > NcclVersion{} && pod.assumed_version() >= known->gone;
  return !gone && (!pod.version || *pod.version >= known->since);
}

void lint_pair(FabricJob& job, const FabricPodState& pod,
               const Contradiction& pair) {
  const auto one = effective(*pod.facts, pair.one.name);
  const auto other = effective(*pod.facts, pair.other.name);
  if (!one || !other) return;
  const std::string first = to_lower(trim(one->value));
  const std::string second = to_lower(trim(other->value));
  if (!holds(pair.one, first, second) || !holds(pair.other, second, first) ||
      !is_read(pod, pair.one.name) || !is_read(pod, pair.other.name)) {
    return;
  }
  if (!pair.plugin && (loaded_plugin(*pod.facts) || !pod.facts->plugins)) {
    return;
  }
  const bool stops = pair.ends && pod.version;
  report(job, &pod,
         {stops ? Severity::kError : Severity::kWarning, "lint_contradiction",
          std::string(pair.one.name) + "=" + one->value + " and " +
              pair.other.name + "=" + other->value + ": " + pair.what,
          pair.source, pair.remedy});
}

}  // namespace

void lint_contradictions(FabricJob& job, const FabricPodState& pod) {
  for (const Contradiction& pair : kTable) lint_pair(job, pod, pair);
}

}  // namespace muster
