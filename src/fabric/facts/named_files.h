// SPDX-License-Identifier: Apache-2.0
// Variables that name a file which the pod of a rank must have: their names,
// the places where each library looks, and what it does without the file. The
// collector looks for the files; the checks of users' values report missing
// ones. NCCL_TOPO_FILE and NCCL_NET_PLUGIN have facts of their own. Sources:
// NCCL src/misc/param.cc, src/plugin/*.cc (2.19: src/misc/tuner.cc),
// src/graph/xml.cc; UCX src/ucs/config/parser.c; UCC
// src/core/ucc_constructor.c; Open MPI coll_tuned_component.c, mca_base_var.c;
// ld.so(8); Google's guide of gIB. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fabric/facts/facts.h"

namespace muster {

struct NamedFile {
  std::string variable;
  std::string entry;   // one of the variable's list, as written
  std::string origin;  // "environment", "/etc/nccl.conf"
  // Paths and names for the dynamic linker; one is enough.
  std::vector<std::string> places;
  bool library = false;  // places without a slash are the linker's
  const char* without;   // the effect if none exists

  // "NCCL_TUNER_PLUGIN=ofi", as in PodFabric::missing_files.
  [[nodiscard]] std::string key() const { return variable + "=" + entry; }
};

// All files that the pod's variables name, for the NCCL of the pod. Skips
// values that name no file ("none") and those that only the linker expands
// ($LIB).
std::vector<NamedFile> named_files(const PodFabric& pod);
// One of the variables, or one of those that lead to facts of their own.
bool names_files(std::string_view variable);
// The name that NCCL passes to the dynamic linker for a plugin "ofi" of a kind
// "net": "ofi", then "libnccl-net-ofi.so".
std::vector<std::string> plugin_places(const std::string& kind,
                                       const std::string& value);

}  // namespace muster
