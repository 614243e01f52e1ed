// SPDX-License-Identifier: Apache-2.0
// The absolute names that a pod's short name may stand for. getaddrinfo would
// try all of them on every look-up (ndots:5, three search domains, A and AAAA:
// 8 queries for a name that does not exist yet). We look up one at a time.
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster {

struct ResolvConf {
  std::vector<std::string> search;
  int ndots = 1;
};
ResolvConf parse_resolv_conf(std::string_view text);

// All names in /etc/hosts text: those need no DNS.
std::vector<std::string> hosts_file_names(std::string_view text);

// The cluster's domain by a kubelet's search list ("NS.svc.D svc.D D"): D;
// empty: another list.
std::string cluster_domain(const ResolvConf& conf);

struct NameForms {
  // To append to the name ("" = as it is), likeliest first. None has a dot at
  // its end.
  std::vector<std::string> suffixes;
  // A kubelet wrote the list: the first is right for every pod of the cluster.
  bool sure = false;
};
NameForms forms_of(const std::string& name, const ResolvConf& conf);

}  // namespace muster
