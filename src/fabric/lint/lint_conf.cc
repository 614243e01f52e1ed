// SPDX-License-Identifier: Apache-2.0
// lint_conf(): lines of nccl.conf that do not mean what they seem to. NCCL
// takes the text before the first = for the name and all behind it for the
// value, blanks, quotation marks and "export" included (src/misc/param.cc of
// every version; a carriage return until 2.30.3). Pure.
#include "base/text.h"
#include "fabric/facts/gpu_names.h"
#include "fabric/lint/lint.h"
#include "fabric/policy/settings/nccl_variables.h"

namespace muster {

namespace {

// "export NCCL_DEBUG " -> "NCCL_DEBUG"
std::string meant_name(std::string_view name) {
  name = trim(name);
  constexpr std::string_view kExport = "export ";
  if (name.starts_with(kExport)) name = trim(name.substr(kExport.size()));
  return std::string(name);
}

void lint_line_name(FabricJob& job, const FabricPodState& pod,
                    const std::string& file, const std::string& name) {
  const std::string meant = meant_name(name);
  if (meant == name ||
      !(meant.starts_with("NCCL_") || meant.starts_with("RCCL_"))) {
    return;
  }
  lint_warn(
      job, pod, "lint_conf_line",
      file + ": the line \"" + std::string(trim(name)) + " =\" does not set " +
          meant + ": what stands before the = is the name, with " +
          (name.find("export ") != name.npos ? "\"export\"" : "its blanks"),
      "write " + meant + "=VALUE without blanks and without export");
}

// The part that does not belong into a value; "" if none.
std::string stray_mark(const FabricPodState& pod, const std::string& value) {
  if (value.empty()) return "";
  if (value.front() == '"' || value.front() == '\'') return "quotation marks";
  if (value.back() == '\r' || value.back() == '?') {
    const bool stripped = pod.assumed_version() >= kConfCrLf;
    return stripped ? "" : "the carriage return of a Windows line end";
  }
  return trim(value).size() == value.size() ? "" : "blanks";
}

void lint_line_value(FabricJob& job, const FabricPodState& pod,
                     const std::string& file, const std::string& name,
                     const std::string& value) {
  const NcclVariable* known =
      find_nccl_variable(name, has_amd_gpus(*pod.facts));
  const bool number = known != nullptr && known->high >= known->low;
  const std::string mark = stray_mark(pod, value);
  if (mark.empty() || (number && mark != "quotation marks")) return;
  lint_warn(job, pod, "lint_conf_line",
            file + ": the value of " + name + " is read with " + mark +
                ": nothing in such a file is stripped",
            mark.find("carriage") == mark.npos
                ? "write " + name + "=VALUE and nothing else on the line"
                : "save the file with Unix line ends");
}

}  // namespace

void lint_conf(FabricJob& job, FabricPodState& pod) {
  const std::string kind = has_amd_gpus(*pod.facts) ? "rccl.conf" : "nccl.conf";
  for (const auto& [file, lines] :
       {std::pair{"/etc/" + kind, &pod.facts->nccl_conf},
        std::pair{"~/." + kind, &pod.facts->nccl_user_conf}}) {
    for (const auto& [name, value] : *lines) {
      lint_line_name(job, pod, file, name);
      if (meant_name(name) == name) {
        lint_line_value(job, pod, file, name, value);
      }
    }
  }
}

}  // namespace muster
