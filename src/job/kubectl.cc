// SPDX-License-Identifier: Apache-2.0
#include "job/kubectl.h"

#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "job/hostfile.h"

namespace muster {

namespace {

constexpr std::string_view kDescribe =
    "kubectl describe pod {pod} -n {namespace}";
constexpr std::string_view kLogs = "kubectl logs {pod} -n {namespace}";
constexpr std::string_view kExec = "kubectl exec {pod} -n {namespace} --";
constexpr std::string_view kNode =
    "kubectl get pod {pod} -n {namespace} -o wide";
constexpr std::string_view kAll = "kubectl get pods -n {namespace} -o wide";
// The name of an Indexed Job's pod ends at random; these labels do not.
constexpr std::string_view kLogsOfIndex =
    "kubectl logs -n {namespace} -l batch.kubernetes.io/job-name={job},"
    "batch.kubernetes.io/job-completion-index={index}";
constexpr std::string_view kNodeOfIndex =
    "kubectl get pods -n {namespace} -o wide -l "
    "batch.kubernetes.io/job-name={job},"
    "batch.kubernetes.io/job-completion-index={index}";

struct Pod {
  std::string name;  // empty: only an address is known
  std::string name_space;
  std::string job;  // of a JobSet's pod, whose name goes on behind `name`
  std::string index;
};

bool is_number(std::string_view text) {
  return !text.empty() &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

Pod pod_of(std::string_view host, std::string_view own) {
  Pod pod;
  pod.name_space = namespace_of(host, own);
  if (host.empty() || is_ip_address(host)) return pod;
  const auto labels = split(host, '.');
  pod.name = labels[0];
  // NAME-GROUP-INDEX.NAME.NAMESPACE, without ".svc", is a LeaderWorkerSet's
  // pod; a JobSet's has a random end.
  const size_t last = pod.name.rfind('-');
  const size_t before = last == std::string::npos || last == 0
                            ? std::string::npos
                            : pod.name.rfind('-', last - 1);
  if (labels.size() == 3 || before == std::string::npos) return pod;
  const std::string_view name = pod.name;
  if (!is_number(name.substr(last + 1)) ||
      !is_number(name.substr(before + 1, last - before - 1))) {
    return pod;
  }
  pod.job = name.substr(0, last);
  pod.index = name.substr(last + 1);
  return pod;
}

std::string with(std::string_view line, const Pod& pod) {
  std::string out(line);
  const auto put = [&out](std::string_view mark, const std::string& value) {
    if (const size_t at = out.find(mark); at != std::string::npos) {
      out.replace(at, mark.size(), value);
    }
  };
  put("{pod}", pod.name);
  put("{namespace}", pod.name_space);
  put("{job}", pod.job);
  put("{index}", pod.index);
  return out;
}

}  // namespace

std::string namespace_of(std::string_view host, std::string_view own) {
  const auto labels = split(host, '.');
  const bool address = is_ip_address(host);
  const bool whole = labels.size() > 3 && labels[3] == "svc";
  if (!address && (whole || labels.size() == 3) && !labels[2].empty()) {
    return std::string(labels[2]);
  }
  return std::string(own.empty() ? kSomeNamespace : own);
}

std::string list_pods(std::string_view own) {
  return with(kAll, pod_of({}, own));
}

std::string describe_pod(std::string_view host, std::string_view own) {
  Pod pod = pod_of(host, own);
  // Not also pod 10 for pod 1; without a domain it may be the whole name.
  const bool dotted = host.find('.') != std::string_view::npos;
  if (!pod.job.empty() && dotted) pod.name += '-';
  return with(pod.name.empty() ? kAll : kDescribe, pod);
}

std::string logs_of_pod(std::string_view host, std::string_view own) {
  const Pod pod = pod_of(host, own);
  if (pod.name.empty()) return with(kAll, pod);
  return with(pod.job.empty() ? kLogs : kLogsOfIndex, pod);
}

std::string node_of_pod(std::string_view host, std::string_view own) {
  const Pod pod = pod_of(host, own);
  if (pod.name.empty()) return with(kAll, pod);
  return with(pod.job.empty() ? kNode : kNodeOfIndex, pod);
}

std::string exec_in_pod(std::string_view host, std::string_view own) {
  const Pod pod = pod_of(host, own);
  return pod.name.empty() || !pod.job.empty() ? "" : with(kExec, pod);
}

std::string own_namespace(const std::string& root) {
  constexpr size_t kMost = 64 << 10;
  const auto told = read_file(
      root + "/var/run/secrets/kubernetes.io/serviceaccount/namespace", kMost);
  if (told && !trim(*told).empty()) return std::string(trim(*told));
  const auto resolver = read_file(root + "/etc/resolv.conf", kMost);
  if (!resolver) return {};
  for (const std::string_view line : split(*resolver, '\n')) {
    const auto words = split_words(line);
    if (words.size() < 2 || words[0] != "search") continue;
    const auto labels = split(words[1], '.');
    if (labels.size() > 2 && labels[1] == "svc") return std::string(labels[0]);
  }
  return {};
}

}  // namespace muster
