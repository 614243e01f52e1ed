// SPDX-License-Identifier: Apache-2.0
#include "fabric/facts/named_files.h"

#include <algorithm>

#include "base/text.h"
#include "fabric/facts/effective.h"
#include "fabric/facts/nccl_version.h"

namespace muster {

namespace {

enum class Kind { kFile, kUcxDirectory, kLibrary, kPlugin };

struct FileVariable {
  const char* name;
  Kind kind;
  const char* separators;  // of a list; "": one name
  const char* plugin;      // "tuner" of libnccl-tuner-NAME.so
  const char* without;
};

// lint_values.cc reports a variable that this NCCL does not read.
constexpr FileVariable kVariables[] = {
    {"NCCL_CONF_FILE", Kind::kFile, "", "",
     "NCCL goes on without it, and without ~/.nccl.conf, and says nothing"},
    {"NCCL_GRAPH_FILE", Kind::kFile, "", "", "NCCL ends with an error"},
    {"NCCL_TUNER_CONFIG_PATH", Kind::kFile, "", "",
     "the tuner goes without its tables"},
    {"NCCL_TUNER_PLUGIN", Kind::kPlugin, "", "tuner",
     "NCCL goes on without it, and says so with NCCL_DEBUG=INFO only"},
    {"NCCL_PROFILER_PLUGIN", Kind::kPlugin, "", "profiler",
     "NCCL goes on without it, and says so with NCCL_DEBUG=INFO only"},
    {"NCCL_ENV_PLUGIN", Kind::kPlugin, "", "env",
     "NCCL goes on without it, and says so with NCCL_DEBUG=INFO only"},
    {"NCCL_GIN_PLUGIN", Kind::kPlugin, "", "gin",
     "NCCL goes on without it, and says so with NCCL_DEBUG=INFO only"},
    {"NCCL_RMA_PLUGIN", Kind::kPlugin, "", "rma",
     "NCCL goes on without it, and says so with NCCL_DEBUG=INFO only"},
    {"UCX_CONFIG_DIR", Kind::kUcxDirectory, "", "",
     "UCX goes on without its settings, and says nothing"},
    {"UCC_CONFIG_FILE", Kind::kFile, "", "",
     "UCC warns and goes on without its settings"},
    {"OMPI_MCA_coll_tuned_dynamic_rules_filename", Kind::kFile, "", "",
     "Open MPI goes on with its own rules, and says nothing"},
    {"OMPI_MCA_mca_base_param_files", Kind::kFile, ":,", "",
     "Open MPI goes on without its settings, and says nothing"},
    {"OMPI_MCA_mca_param_files", Kind::kFile, ":,", "",
     "Open MPI goes on without its settings, and says nothing"},
    {"LD_PRELOAD", Kind::kLibrary, ": ", "",
     "each program starts without it, after a line of the dynamic linker"},
};

// NCCL before 2.21 takes the value of NCCL_TUNER_PLUGIN for the file alone.
constexpr NcclVersion kPluginNames{2, 21, 0};

std::vector<std::string> entries(const std::string& value,
                                 std::string_view separators) {
  std::string list = value;
  for (char& c : list) {
    if (separators.find(c) != separators.npos) c = '\n';
  }
  std::vector<std::string> out;
  for (const auto entry : split(list, '\n')) {
    if (!trim(entry).empty()) out.emplace_back(trim(entry));
  }
  return out;
}

// "none", and NCCL's word for a plugin that is linked in, or its beginning.
bool is_no_plugin(const std::string& value) {
  return to_lower(value) == "none" ||
         std::string_view("static_plugin").starts_with(to_lower(value));
}

std::vector<std::string> places_of(const FileVariable& known,
                                   const std::string& entry,
                                   const PodFabric& pod) {
  switch (known.kind) {
    case Kind::kUcxDirectory:
      return {entry + "/ucx.conf"};
    case Kind::kPlugin: {
      if (is_no_plugin(entry)) return {};
      const auto version = parse_nccl_version(pod.nccl_version);
      if (version && *version < kPluginNames) return {entry};
      return plugin_places(known.plugin, entry);
    }
    case Kind::kLibrary:
      if (entry.find('$') != entry.npos) return {};
      return {entry};
    case Kind::kFile:
      break;
  }
  // UCC's word for its own search; Open MPI's for "not at all".
  if (to_lower(entry) == "auto" || entry == "none") return {};
  return {entry};
}

}  // namespace

std::vector<std::string> plugin_places(const std::string& kind,
                                       const std::string& value) {
  const bool file = value.starts_with("lib") && value.ends_with(".so");
  if (file || value.find('/') != value.npos) return {value};
  return {value, "libnccl-" + kind + "-" + value + ".so"};
}

std::vector<NamedFile> named_files(const PodFabric& pod) {
  std::vector<NamedFile> out;
  for (const FileVariable& known : kVariables) {
    const auto users = effective(pod, known.name);
    if (!users) continue;
    for (const std::string& entry : entries(users->value, known.separators)) {
      auto places = places_of(known, entry, pod);
      if (places.empty()) continue;
      out.push_back(
          {known.name, entry, users->origin, std::move(places),
           known.kind == Kind::kLibrary || known.kind == Kind::kPlugin,
           known.without});
    }
  }
  return out;
}

bool names_files(std::string_view variable) {
  if (variable == "NCCL_TOPO_FILE" || variable == "NCCL_NET_PLUGIN") {
    return true;
  }
  return std::any_of(std::begin(kVariables), std::end(kVariables),
                     [&](auto& known) { return variable == known.name; });
}

}  // namespace muster
