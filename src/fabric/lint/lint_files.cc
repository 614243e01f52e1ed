// SPDX-License-Identifier: Apache-2.0
// lint_files(): files that variables name and the collector did not find in the
// pod. Without facts about them there is nothing to report. Pure.
#include <algorithm>

#include "fabric/facts/gpu_names.h"
#include "fabric/facts/named_files.h"
#include "fabric/lint/lint.h"
#include "fabric/policy/settings/nccl_variables.h"

namespace muster {

namespace {

// Programs without NCCL, or with an older one, do not read NCCL's.
bool is_read(const FabricPodState& pod, const std::string& name) {
  if (!name.starts_with("NCCL_")) return true;
  if (pod.mpi_only()) return false;
  const NcclVariable* known =
      find_nccl_variable(name, has_amd_gpus(*pod.facts));
  return known == nullptr || !pod.version || *pod.version >= known->since;
}

std::string searched(const NamedFile& file) {
  if (file.places.size() == 1 && file.places[0] == file.entry) return "";
  std::string out;
  for (const std::string& place : file.places) {
    out += (out.empty() ? " (" : " or ") + place;
  }
  return out + ")";
}

}  // namespace

void lint_files(FabricJob& job, const FabricPodState& pod) {
  const auto& missing = pod.facts->missing_files;
  if (missing.empty()) return;
  for (const NamedFile& file : named_files(*pod.facts)) {
    if (std::count(missing.begin(), missing.end(), file.key()) == 0 ||
        !is_read(pod, file.variable)) {
      continue;
    }
    const bool elsewhere = file.origin != "environment";
    lint_warn(job, pod, "lint_missing_file",
              file.key() + (elsewhere ? " (" + file.origin + ")" : "") +
                  ": the pod has no such " +
                  (file.library ? "library" : "file") + searched(file) + ": " +
                  file.without,
              "mount it or put it into the image, or take the variable out");
  }
}

}  // namespace muster
