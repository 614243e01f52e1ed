// SPDX-License-Identifier: Apache-2.0
#include "launcher/connect/pod_ref.h"

#include <algorithm>

#include "base/text.h"
#include "job/hostfile.h"
#include "launcher/connect/dns_names.h"

namespace muster {

PodRef pod_of_host(std::string_view host, const std::string& own_space) {
  if (is_ip_address(host)) return {{}, own_space};
  const auto labels = split(host, '.');
  PodRef pod{std::string(labels[0]), own_space};
  const auto svc = std::find(labels.begin(), labels.end(), "svc");
  // A pod, its service, the namespace.
  if (svc != labels.end() && svc - labels.begin() >= 3) pod.space = *(svc - 1);
  return pod;
}

std::string list_command(const PodRef& pod) {
  return "kubectl get pods -o wide" +
         (pod.space.empty() ? std::string() : " -n " + pod.space);
}

std::string describe_command(const PodRef& pod) {
  if (pod.name.empty()) return list_command(pod);
  return "kubectl describe pod " + pod.name +
         (pod.space.empty() ? std::string() : " -n " + pod.space);
}

std::string namespace_of(std::string_view service_account,
                         std::string_view resolv_conf) {
  const auto own = trim(service_account);
  if (!own.empty()) return std::string(own);
  return search_namespace(parse_resolv_conf(resolv_conf));
}

}  // namespace muster
