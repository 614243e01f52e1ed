// SPDX-License-Identifier: Apache-2.0
// lint_value(): whether the variable is NCCL's at all, whether this version
// reads it, and how it reads the value. NCCL reads numbers by strtoll with base
// 0: it silently takes "true" for 0. Pure.
#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "fabric/facts/gpu_names.h"
#include "fabric/facts/pci_distance.h"
#include "fabric/lint/lint.h"
#include "fabric/policy/network/plugins.h"
#include "fabric/policy/settings/nccl_variables.h"

namespace muster {

namespace {

constexpr NcclVersion kStrictAlgorithms{2, 24, 0};
constexpr int64_t kMaxSockets = 64;  // per connection, NCCL's net_socket.cc

struct Words {
  const char* name;
  const char* words;  // in lower case
  bool list;          // "^a,b", "allreduce:a;…"
};

constexpr Words kWords[] = {
    {"NCCL_ALGO",
     "ring tree collnet collnetdirect collnetchain nvls nvlstree pat", true},
    {"NCCL_PROTO", "ll ll128 simple", true},
    {"NCCL_DEBUG", "none error version warn info abort trace", false},
    {"NCCL_SOCKET_FAMILY", "af_inet af_inet6", false},
    {"NCCL_IB_ADDR_FAMILY", "af_inet af_inet6", false},
    {"NCCL_LAUNCH_MODE", "parallel group", false},
};

// As strtoll(…, 0) does: the number in the text, and whether it was all.
struct CNumber {
  int64_t value = 0;
  bool whole = false;
};

CNumber c_number(const std::string& text) {
  char* end = nullptr;
  CNumber out;
  out.value = std::strtoll(text.c_str(), &end, 0);
  out.whole = end != text.c_str() && trim(end).empty();
  return out;
}

int64_t number_set(const FabricPodState& pod, const char* name,
                   int64_t otherwise) {
  const auto users = effective(*pod.facts, name);
  return users ? c_number(users->value).value : otherwise;
}

// For sizes: an empty one does not count.
int64_t size_set(const FabricPodState& pod, const char* name,
                 int64_t otherwise) {
  const int64_t size = number_set(pod, name, otherwise);
  return size > 0 ? size : otherwise;
}

// Like no variable of NCCL's, up to the release whose sources were read. A
// plugin may have it, or a newer NCCL; but a user who names a timeout relies on
// it, and NCCL has those of InfiniBand only.
void lint_unheard_of(FabricJob& job, FabricPodState& pod,
                     const std::string& name) {
  constexpr NcclVersion kRead{2, 30, 7};
  if (pod.version && *pod.version > kRead) return;
  const bool timeout = name.find("TIMEOUT") != name.npos;
  if (has_amd_gpus(*pod.facts) && !timeout) return;  // RCCL's own are many
  report(job, &pod,
         {timeout ? Severity::kWarning : Severity::kInfo, "lint_unknown_name",
          name + " is not an NCCL variable" +
              (timeout ? ", which waits for its peers without end"
                       : ": it has no effect unless a plugin reads it"),
          "NCCL's sources to " + kRead.text(),
          timeout ? "remove it: the framework has the timeout of collectives "
                    "(PyTorch: init_process_group, timeout=)"
                  : "remove it"});
}

// False: NCCL of this version does not read it, and a finding says so.
bool lint_name(FabricJob& job, FabricPodState& pod, const std::string& name) {
  const NcclVariable* known =
      find_nccl_variable(name, has_amd_gpus(*pod.facts));
  if (known == nullptr) {
    if (const auto list = nccl_list_meant(name); !list.empty()) {
      const bool out = name.find("EXCLUDE") != name.npos;
      lint_warn(
          job, pod, "lint_unknown_name",
          name + " is no NCCL variable and has no effect",
          list + (out ? "=^… is the way to leave some out" : "=… is the list"));
      return false;
    }
    if (const auto meant = nearest(name, nccl_variable_names())) {
      lint_warn(job, pod, "lint_unknown_name",
                name + " is no NCCL variable and has no effect",
                "did you mean " + *meant + "?");
    } else {
      lint_unheard_of(job, pod, name);
    }
    return false;
  }
  if (known->gone > NcclVersion{} && pod.assumed_version() >= known->gone) {
    lint_warn(job, pod, "lint_obsolete",
              name + " has no effect: NCCL does not read it since " +
                  known->gone.text(),
              known->instead != nullptr
                  ? std::string("remove it; ") + known->instead +
                        " took its place, and its default is right"
                  : "remove it");
    return false;
  }
  if (!pod.version || *pod.version >= known->since) return true;
  // IBext has its own code for InfiniBand, which reads NCCL's names
  // (Mellanox/nccl-rdma-sharp-plugins, src/ib_plugin.c).
  const auto plugin = loaded_plugin(*pod.facts);
  if (plugin && plugin->kind == PluginKind::kIbExt &&
      name.starts_with("NCCL_IB_")) {
    return true;
  }
  lint_warn(job, pod, "lint_no_effect",
            name + " has no effect in NCCL " + pod.version->text() +
                ": it came with " + known->since.text(),
            "remove it, or use a newer NCCL");
  return false;
}

void lint_number(FabricJob& job, FabricPodState& pod, const std::string& name,
                 const std::string& value) {
  const NcclVariable& known =
      *find_nccl_variable(name, has_amd_gpus(*pod.facts));
  if (known.high < known.low) return;  // any text
  const CNumber number = c_number(value);
  if (!number.whole) {
    lint_warn(job, pod, "lint_range",
              name + "=" + value + " is not a number: NCCL reads it as " +
                  std::to_string(number.value),
              "write a number, for example 1 to switch on and 0 to switch off");
    return;
  }
  const int64_t high =
      known.high == kChannels
          ? max_channels(pod.assumed_version(), has_amd_gpus(*pod.facts))
          : known.high;
  if (number.value >= known.low && number.value <= high) return;
  const std::string range =
      std::to_string(known.low) + " to " +
      (high == INT64_MAX ? "any size" : std::to_string(high));
  lint_warn(job, pod, "lint_range",
            name + "=" + value + " is outside " + range +
                ": NCCL ignores it or cuts it to the field's size",
            "remove it, or write a number from " + range);
}

// With fewer than eight ranks RCCL takes no more than 64, and two in the place
// of more (rocm-systems projects/rccl, src/init.cc).
void lint_few_ranks(FabricJob& job, FabricPodState& pod,
                    const std::string& name, const std::string& value) {
  constexpr int64_t kMost = 64;
  constexpr size_t kMany = 8;
  if (name != "NCCL_MIN_NCHANNELS" || !has_amd_gpus(*pod.facts) ||
      c_number(value).value <= kMost) {
    return;
  }
  size_t ranks = 0;
  for (const FabricPodState& any : job.pods) {
    if (!any.facts->gpus) return;
    ranks += any.facts->gpus->size();
  }
  if (ranks >= kMany) return;
  lint_warn(job, pod, "lint_range",
            name + "=" + value + " is ignored with fewer than eight GPUs: " +
                "RCCL takes two channels in its place, fewer than by itself",
            "write 64 or less, or remove it");
}

// "^ring", "allreduce:tree,nvls;broadcast:ring" -> the words themselves.
std::vector<std::string> listed_words(std::string_view value, bool list) {
  std::vector<std::string> out;
  if (!list) return {to_lower(trim(value))};
  for (const auto part : split(value, ';')) {
    const size_t colon = part.find(':');
    auto elements =
        colon == std::string_view::npos ? part : part.substr(colon + 1);
    elements = trim(elements);
    if (elements.starts_with('^')) elements.remove_prefix(1);
    for (const auto word : split(elements, ',')) {
      if (!trim(word).empty()) out.push_back(to_lower(trim(word)));
    }
  }
  return out;
}

void lint_words(FabricJob& job, FabricPodState& pod, const std::string& name,
                const std::string& value) {
  for (const Words& known : kWords) {
    if (name != known.name) continue;
    std::vector<std::string> allowed;
    for (const auto word : split_words(known.words)) allowed.emplace_back(word);
    for (const std::string& word : listed_words(value, known.list)) {
      if (std::find(allowed.begin(), allowed.end(), word) != allowed.end()) {
        continue;
      }
      const bool stops =
          known.list && pod.assumed_version() >= kStrictAlgorithms;
      lint_warn(job, pod, "lint_word",
                name + "=" + value + ": NCCL does not know \"" + word + "\"" +
                    (stops ? " and stops" : " and ignores it"),
                "known are " + join(allowed, ", "));
    }
  }
}

// NCCL since 2.24 takes the list literally, even if it names no algorithm of a
// function: only all_reduce has Tree, NVLSTree and CollNetChain.
void lint_algorithms(FabricJob& job, FabricPodState& pod,
                     const std::string& name, const std::string& value) {
  if (name != "NCCL_ALGO" || pod.assumed_version() < kStrictAlgorithms) return;
  const auto text = trim(value);
  if (text.empty() || text.starts_with('^')) return;
  if (text.find(':') != std::string_view::npos) return;  // by function
  const auto words = listed_words(text, true);
  const bool partial =
      !words.empty() && std::all_of(words.begin(), words.end(), [](auto& word) {
        return word == "tree" || word == "nvlstree" || word == "collnetchain";
      });
  if (!partial) return;
  lint_warn(job, pod, "lint_algorithm",
            name + "=" + value +
                " leaves all_gather, reduce_scatter and broadcast without an "
                "algorithm: NCCL since 2.24 stops with an error there",
            "remove it, or name the function: NCCL_ALGO=allreduce:" +
                std::string(text));
}

void lint_levels(FabricJob& job, FabricPodState& pod, const std::string& name,
                 const std::string& value) {
  if (name != "NCCL_NET_GDR_LEVEL" && name != "NCCL_P2P_LEVEL") return;
  if (path_rank(value) < 0 && !parse_integer(value)) {
    lint_warn(
        job, pod, "lint_level",
        name + "=" + value + " is not a path type: NCCL ignores it silently",
        "LOC, NVL, PIX, PXB, PHB or SYS");
  } else if (path_rank(value) >= 0 && pod.version &&
             *pod.version < kLevelWords) {
    lint_warn(job, pod, "lint_level",
              name + "=" + value +
                  ": NCCL before 2.6 knows numbers only and "
                  "reads this as 0, which is never",
              "remove it, or use NCCL 2.6 or later");
  }
}

// An adapter that waits less than NCCL's first default (14, 67 ms) gives up
// where a switch is busy: error 12. Source: NCCL guide, NCCL_IB_TIMEOUT.
void lint_timeout(FabricJob& job, FabricPodState& pod, const std::string& name,
                  const std::string& value) {
  constexpr int64_t kFirstDefault = 14;
  const CNumber number = c_number(value);
  if (name != "NCCL_IB_TIMEOUT" || !number.whole || number.value < 1 ||
      number.value >= kFirstDefault || !job.uses_verbs()) {
    return;
  }
  const int64_t microseconds = (int64_t{4096} << number.value) / 1000;
  lint_warn(job, pod, "lint_timeout",
            name + "=" + value + ": adapters wait " +
                std::to_string(microseconds) +
                " µs for an answer before they send again; NCCL never waited "
                "less than 67 ms (14)",
            "remove it, or write 22 for a large or lossy network");
}

// NCCL warns, and goes on with what the pod's own /sys shows.
void lint_file(FabricJob& job, FabricPodState& pod, const std::string& name,
               const EffectiveValue& users) {
  const auto& files = pod.facts->files;
  if (name != "NCCL_TOPO_FILE" || !files ||
      std::count(files->begin(), files->end(), users.value) > 0) {
    return;
  }
  lint_warn(job, pod, "topology_file",
            name + "=" + users.value + " (" + users.origin +
                "): there is no such file in the pod, and NCCL goes on "
                "without it",
            "mount the file too, or take the variable out");
}

void lint_sockets(FabricJob& job, FabricPodState& pod,
                  const std::string& name) {
  if (name != "NCCL_NSOCKS_PERTHREAD") return;
  const int64_t threads = number_set(pod, "NCCL_SOCKET_NTHREADS", 1);
  const int64_t sockets = number_set(pod, "NCCL_NSOCKS_PERTHREAD", 1);
  if (threads < 1 || sockets < 1 || threads > kMaxSockets ||
      sockets > kMaxSockets || threads * sockets <= kMaxSockets) {
    return;
  }
  lint_warn(job, pod, "lint_range",
            "NCCL_SOCKET_NTHREADS times NCCL_NSOCKS_PERTHREAD is " +
                std::to_string(threads * sockets) +
                ": NCCL opens at most 64 sockets for a connection",
            "keep the product at 64 or below");
}

// Sends and receives go in steps, each of which has its place in a buffer. NCCL
// does not compare a chunk with that place: a longer one lies over its
// neighbours. Sources: NCCL src/enqueue.cc and computeBuffSizes() of
// src/init.cc; NVIDIA/nccl#2408, #1496.
void lint_chunk(FabricJob& job, FabricPodState& pod, const std::string& name,
                const std::string& value) {
  if (name != "NCCL_CHUNK_SIZE") return;
  constexpr int64_t kSteps = 8;
  const int64_t place = size_set(pod, "NCCL_BUFFSIZE", 4 << 20) / kSteps;
  const int64_t chunk =
      job.pods.size() > 1 ? size_set(pod, "NCCL_P2P_NET_CHUNKSIZE", 128 << 10)
                          : size_set(pod, "NCCL_P2P_NVL_CHUNKSIZE", 512 << 10);
  const int64_t step = std::min(place, chunk);
  if (c_number(value).value <= step) return;
  lint_warn(job, pod, "lint_chunk",
            name + "=" + value + " is more than a step of a send (" +
                std::to_string(step) +
                " bytes): NCCL writes over data in flight, and results are "
                "wrong without an error",
            "remove it, or keep it at " + std::to_string(step) +
                "; NCCL_BUFFSIZE and NCCL_P2P_NET_CHUNKSIZE make the step "
                "longer");
}

}  // namespace

void lint_value(FabricJob& job, FabricPodState& pod, const std::string& name,
                const EffectiveValue& users) {
  if (!lint_name(job, pod, name)) return;
  lint_number(job, pod, name, users.value);
  lint_few_ranks(job, pod, name, users.value);
  lint_words(job, pod, name, users.value);
  lint_algorithms(job, pod, name, users.value);
  lint_levels(job, pod, name, users.value);
  lint_timeout(job, pod, name, users.value);
  lint_file(job, pod, name, users);
  lint_sockets(job, pod, name);
  lint_chunk(job, pod, name, users.value);
}

}  // namespace muster
