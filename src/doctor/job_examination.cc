// SPDX-License-Identifier: Apache-2.0
#include "doctor/job_examination.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "job/kubectl.h"
#include "job/skew.h"

namespace muster {

namespace {

using Findings = std::vector<SharedFinding>;

constexpr size_t kMostNamed = 4;

void add(Findings& out, const DoctorFinding& finding, const std::string& host) {
  for (SharedFinding& one : out) {
    if (one.what.finding.code != finding.finding.code ||
        one.what.finding.text != finding.finding.text) {
      continue;
    }
    one.hosts.push_back(host);
    return;
  }
  out.push_back({finding, {host}});
}

std::string some_of(const std::vector<std::string>& names) {
  std::vector<std::string> shown(
      names.begin(), names.begin() + static_cast<std::ptrdiff_t>(
                                         std::min(names.size(), kMostNamed)));
  const size_t more = names.size() - shown.size();
  return join(shown, ", ") +
         (more > 0 ? " and " + std::to_string(more) + " more" : "");
}

void add_absent(const PodAnswer& answer, Findings& out) {
  const bool mesh = answer.reason.find("no SSH banner") != std::string::npos;
  add(out,
      {{Severity::kError, mesh ? "banner_swallowed" : "worker_unreachable",
        mesh ? "something takes the connection and says nothing"
             : "this pod cannot be asked",
        answer.reason,
        mesh ? "a mesh sidecar in that pod is the usual cause: keep it out of "
               "the job"
             : "see whether it runs, and what its log says"},
       mesh ? "metadata:\n"
              "  labels: {sidecar.istio.io/inject: \"false\"}\n"
              "  annotations: {sidecar.istio.io/inject: \"false\"}"
            : "# " + describe_pod(answer.host, own_namespace()) + "\n# " +
                  logs_of_pod(answer.host, own_namespace())},
      answer.host);
}

// The same versions that agents compare before a launch.
void add_version_skew(const std::vector<PodAnswer>& answers, Findings& out) {
  std::vector<NodeFacts> facts;
  std::vector<std::string> hosts;
  for (const PodAnswer& answer : answers) {
    if (!answer.answered) continue;
    auto parsed = node_facts_from_json(answer.report.facts);
    if (!parsed) continue;
    facts.push_back(*std::move(parsed));
    hosts.push_back(answer.host);
  }
  const SkewReport skew = compare_pods(facts);
  for (const Finding& finding : skew.findings) {
    out.push_back({{finding,
                    "# the same image, by digest, in the launcher and the "
                    "workers\nimage: registry.example/app@sha256:DIGEST"},
                   hosts});
  }
}

// soname -> file -> hosts, of all programs together.
void add_library_skew(const std::vector<PodAnswer>& answers, Findings& out) {
  std::map<std::string, std::map<std::string, std::vector<std::string>>> seen;
  for (const PodAnswer& answer : answers) {
    for (const ProgramState& program : answer.report.programs) {
      for (const std::string& line : program.libraries) {
        const size_t blank = line.find(' ');
        auto& hosts = seen[line.substr(0, blank)][line.substr(blank + 1)];
        if (hosts.empty() || hosts.back() != answer.host) {
          hosts.push_back(answer.host);
        }
      }
    }
  }
  for (const auto& [name, files] : seen) {
    if (files.size() < 2) continue;
    std::string evidence;
    std::vector<std::string> all;
    for (const auto& [file, hosts] : files) {
      evidence +=
          (evidence.empty() ? "" : "; ") + file + " in " + some_of(hosts);
      all.insert(all.end(), hosts.begin(), hosts.end());
    }
    out.push_back({{{Severity::kWarning, "library_skew",
                     "pods have different files for " + name, evidence,
                     "one image for all pods, named by digest"},
                    "image: registry.example/app@sha256:DIGEST"},
                   all});
  }
}

using Groups = std::map<std::vector<std::string>, std::vector<std::string>>;

// Pods that see the same marks share a directory; the largest group counts as
// the right one.
void add_unshared(const std::string& path, const Groups& groups,
                  Findings& out) {
  if (groups.size() < 2) return;
  const auto most = std::max_element(groups.begin(), groups.end(),
                                     [](const auto& a, const auto& b) {
                                       return a.second.size() < b.second.size();
                                     });
  std::vector<std::string> others;
  for (auto group = groups.begin(); group != groups.end(); ++group) {
    if (group == most) continue;
    others.insert(others.end(), group->second.begin(), group->second.end());
  }
  out.push_back({{{Severity::kError, "path_not_shared",
                   path + " is not the same directory in all pods",
                   "files of " + some_of(most->second) + " are not seen in " +
                       some_of(others),
                   "mount one claim that many nodes may write in all pods"},
                  "volumes:\n"
                  "  - {name: data, persistentVolumeClaim: {claimName: "
                  "NAME}}  # accessModes: [ReadWriteMany]"},
                 others});
}

void add_unshared_paths(const std::vector<PodAnswer>& answers, Findings& out) {
  std::map<std::string, Groups> seen;
  for (const PodAnswer& answer : answers) {
    for (const PathState& path : answer.report.paths) {
      if (path.exists) seen[path.path][path.marks].push_back(answer.host);
    }
  }
  for (const auto& [path, groups] : seen) add_unshared(path, groups, out);
}

void add_launcher_beside_worker(const std::vector<PodAnswer>& answers,
                                Findings& out) {
  const std::string& node = answers[0].report.node;
  if (node.empty() || answers[0].report.role != "launcher") return;
  std::vector<std::string> beside;
  for (size_t i = 1; i < answers.size(); ++i) {
    if (answers[i].report.node == node) beside.push_back(answers[i].host);
  }
  if (beside.empty()) return;
  out.push_back({{{Severity::kInfo, "launcher_beside_worker",
                   "the launcher runs on the node of a worker",
                   "the same kernel as " + some_of(beside),
                   "its logs and its image then share that worker's disk and "
                   "CPUs: keep it elsewhere if the job is large"},
                  "affinity:\n"
                  "  podAntiAffinity:\n"
                  "    preferredDuringSchedulingIgnoredDuringExecution:\n"
                  "      - weight: 1\n"
                  "        podAffinityTerm:\n"
                  "          topologyKey: kubernetes.io/hostname\n"
                  "          labelSelector: {matchLabels: "
                  "{training.kubeflow.org/job-role: worker}}"},
                 beside});
}

}  // namespace

std::vector<SharedFinding> examine_job(const std::vector<PodAnswer>& answers) {
  Findings out;
  if (answers.empty()) return out;
  for (const PodAnswer& answer : answers) {
    if (!answer.answered) {
      add_absent(answer, out);
      continue;
    }
    for (const DoctorFinding& one : answer.report.findings) {
      add(out, one, answer.host);
    }
  }
  add_version_skew(answers, out);
  add_library_skew(answers, out);
  add_unshared_paths(answers, out);
  add_launcher_beside_worker(answers, out);
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return a.what.finding.severity > b.what.finding.severity;
  });
  return out;
}

}  // namespace muster
