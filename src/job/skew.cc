// SPDX-License-Identifier: Apache-2.0
// Each rule groups the pods by one value and reports once. Pure.
#include "job/skew.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/text.h"

namespace muster {

namespace {

// "4.1.4" -> {4, 1}; missing or odd parts are 0.
std::pair<int, int> major_minor(std::string_view version) {
  std::array<int, 2> numbers = {0, 0};
  const std::vector<std::string_view> parts = split(version, '.');
  for (size_t i = 0; i < numbers.size() && i < parts.size(); ++i) {
    const std::string_view digits =
        parts[i].substr(0, parts[i].find_first_not_of("0123456789"));
    const auto number = parse_integer(digits);
    if (number && *number < 100000) numbers[i] = static_cast<int>(*number);
  }
  return {numbers[0], numbers[1]};
}

std::string two_parts(std::string_view version) {
  const size_t first = version.find('.');
  if (first == std::string_view::npos) return std::string(version);
  return std::string(version.substr(0, version.find('.', first + 1)));
}

// value -> names of the pods that have it.
using Groups = std::map<std::string, std::vector<std::string>>;
using Reader = std::string (*)(const NodeFacts& pod);

Groups group(const std::vector<NodeFacts>& pods, Reader read) {
  Groups groups;
  for (const NodeFacts& pod : pods) {
    const std::string value = read(pod);
    if (!value.empty()) groups[value].push_back(pod.hostname);
  }
  return groups;
}

std::string names(const std::vector<std::string>& pods) {
  if (pods.size() == 1) return pods[0];
  if (pods.size() == 2) return pods[0] + " and " + pods[1];
  return pods[0] + " and " + std::to_string(pods.size() - 1) + " others";
}

// "4.1.4 on job-worker-0 and 30 others, 5.0.7 on job-worker-31"
std::string spread(const Groups& groups) {
  std::vector<std::string> parts;
  for (const auto& [value, pods] : groups) {
    parts.push_back(value + " on " + names(pods));
  }
  return join(parts, ", ");
}

struct Rule {
  Severity severity;
  const char* code;
  const char* subject;  // "Open MPI's major.minor version"
  const char* remedy;
  Reader read;
};

std::string mpi_version(const NodeFacts& pod) {
  if (pod.mpi.family.empty() || pod.mpi.version.empty()) return {};
  return pod.mpi.family + " " + pod.mpi.version;
}

constexpr Rule kRules[] = {
    {Severity::kError, "mpi_family_skew", "the MPI implementation",
     "run one image in all pods",
     [](const NodeFacts& pod) { return pod.mpi.family; }},
    {Severity::kError, "openmpi_skew", "Open MPI's major.minor version",
     "run one image in all pods",
     [](const NodeFacts& pod) {
       return pod.mpi.family == "openmpi" ? two_parts(pod.mpi.version)
                                          : std::string();
     }},
    {Severity::kError, "nccl_skew", "NCCL's major.minor version",
     "run one image in all pods",
     [](const NodeFacts& pod) { return two_parts(pod.nccl_version); }},
    {Severity::kWarning, "mpi_version_skew", "the MPI version",
     "run one image in all pods", mpi_version},
    {Severity::kWarning, "nccl_patch_skew", "the NCCL version",
     "run one image in all pods",
     [](const NodeFacts& pod) { return pod.nccl_version; }},
    {Severity::kWarning, "cuda_skew", "the CUDA runtime",
     "run one image in all pods",
     [](const NodeFacts& pod) { return pod.cuda_runtime; }},
    {Severity::kWarning, "driver_skew", "the GPU driver",
     "ask for nodes of one kind",
     [](const NodeFacts& pod) { return pod.cuda_driver; }},
    {Severity::kWarning, "image_skew", "the image",
     "name the image by digest in launcher and workers",
     [](const NodeFacts& pod) { return pod.image_id; }},
    {Severity::kWarning, "muster_skew", "the version of muster",
     "run one image in all pods",
     [](const NodeFacts& pod) { return pod.muster_version; }},
};

// A coarser rule on the same subject has already reported.
bool already_told(const std::vector<Finding>& findings, std::string_view code) {
  const auto told = [&findings](std::string_view other) {
    return std::any_of(findings.begin(), findings.end(),
                       [other](const Finding& f) { return f.code == other; });
  };
  if (code == "openmpi_skew") return told("mpi_family_skew");
  if (code == "mpi_version_skew") {
    return told("mpi_family_skew") || told("openmpi_skew");
  }
  return code == "nccl_patch_skew" && told("nccl_skew");
}

// The first pod decides: the others have its image's version, or nccl_skew
// reports it.
void check_programs(const std::vector<NodeFacts>& pods,
                    std::vector<Finding>& findings) {
  for (const NodeFacts& pod : pods) {
    if (auto differ = nccls_differ(pod.programs)) {
      findings.push_back(std::move(*differ));
      return;
    }
  }
}

// NVIDIA's images put the user-mode part of a newer driver on this path.
bool has_cuda_compat(const NodeFacts& pod) {
  const auto path = pod.environment.find("LD_LIBRARY_PATH");
  return path != pod.environment.end() &&
         path->second.find("/compat") != std::string::npos;
}

void check_driver(const std::vector<NodeFacts>& pods,
                  std::vector<Finding>& findings) {
  std::vector<std::string> broken;
  const NodeFacts* example = nullptr;
  bool compat = true;
  for (const NodeFacts& pod : pods) {
    const int runtime = major_minor(pod.cuda_runtime).first;
    const int driver = cuda_major_of_driver(pod.cuda_driver);
    if (runtime == 0 || driver == 0 || runtime <= driver) continue;
    broken.push_back(pod.hostname);
    if (example == nullptr) example = &pod;
    compat = compat && has_cuda_compat(pod);
  }
  if (example == nullptr) return;
  findings.push_back(
      {compat ? Severity::kWarning : Severity::kError, "cuda_driver_too_old",
       "the GPU driver " + example->cuda_driver + " of " + names(broken) +
           " does not run CUDA " + example->cuda_runtime,
       "CUDA runtime " + example->cuda_runtime + ", driver " +
           example->cuda_driver,
       compat ? "a CUDA compatibility library is on LD_LIBRARY_PATH; it must "
                "suit this GPU"
              : "use an image with an older CUDA, a newer driver, or the "
                "cuda-compat package"});
}

using Row = std::array<std::string, 7>;

Row row_of(const NodeFacts& pod) {
  const auto shown = [](const std::string& value) {
    return value.empty() ? std::string("-") : value;
  };
  return {"",
          shown(pod.muster_version),
          shown(pod.mpi.family +
                (pod.mpi.version.empty() ? "" : " " + pod.mpi.version)),
          shown(pod.nccl_version),
          shown(pod.cuda_runtime),
          shown(pod.cuda_driver),
          shown(pod.image_id)};
}

std::string make_table(const std::vector<NodeFacts>& pods) {
  std::vector<Row> rows = {
      {"PODS", "MUSTER", "MPI", "NCCL", "CUDA", "DRIVER", "IMAGE"}};
  std::vector<std::vector<std::string>> members = {{}};
  for (const NodeFacts& pod : pods) {
    const Row row = row_of(pod);
    const auto same =
        std::find_if(rows.begin() + 1, rows.end(), [&row](const Row& known) {
          return std::equal(row.begin() + 1, row.end(), known.begin() + 1);
        });
    if (same == rows.end()) {
      rows.push_back(row);
      members.push_back({pod.hostname});
    } else {
      members[static_cast<size_t>(same - rows.begin())].push_back(pod.hostname);
    }
  }
  for (size_t i = 1; i < rows.size(); ++i) rows[i][0] = names(members[i]);
  std::string out;
  for (const Row& row : rows) {
    for (size_t column = 0; column < row.size(); ++column) {
      size_t width = 0;
      for (const Row& other : rows) {
        width = std::max(width, other[column].size());
      }
      out += row[column];
      if (column + 1 < row.size()) {
        out.append(width - row[column].size() + 2, ' ');
      }
    }
    out += '\n';
  }
  return out;
}

}  // namespace

std::optional<Finding> nccls_differ(const std::vector<ProgramNccl>& programs) {
  Groups by_version;
  std::string first;
  for (const ProgramNccl& one : programs) {
    if (one.version.empty()) continue;
    if (first.empty()) first = one.version;
    by_version[one.version].push_back(one.program);
  }
  if (by_version.size() < 2) return std::nullopt;
  std::vector<std::string> parts;
  for (const auto& [version, users] : by_version) {
    parts.push_back(version + " (" + join(users, ", ") + ")");
  }
  return Finding{
      Severity::kWarning, "nccl_of_programs",
      "the programs load different NCCLs: " + join(parts, ", "),
      "settings and checks are of " + first,
      "one communicator needs one NCCL in all its ranks: give both programs "
      "the same one, or let their ranks meet by other means"};
}

int cuda_major_of_driver(std::string_view driver) {
  const int branch = major_minor(driver).first;
  if (branch >= 580) return 13;
  if (branch >= 525) return 12;
  if (branch >= 450) return 11;
  return branch >= 410 ? 10 : 0;
}

SkewReport compare_pods(const std::vector<NodeFacts>& pods, bool allow_skew) {
  SkewReport report;
  report.table = make_table(pods);
  for (const Rule& rule : kRules) {
    const Groups groups = group(pods, rule.read);
    if (groups.size() < 2 || already_told(report.findings, rule.code)) continue;
    report.findings.push_back(
        {rule.severity, rule.code,
         std::string(rule.subject) + " differs between pods: " + spread(groups),
         spread(groups), rule.remedy});
  }
  check_programs(pods, report.findings);
  check_driver(pods, report.findings);
  for (Finding& finding : report.findings) {
    if (finding.severity != Severity::kError) continue;
    if (allow_skew) {
      finding.severity = Severity::kWarning;
    } else {
      finding.remedy += ", or pass --allow-skew to try all the same";
    }
  }
  return report;
}

}  // namespace muster
