// SPDX-License-Identifier: Apache-2.0
// PodRef: a worker's pod as kubectl names it, from the name that the hostfile
// has for it. Pure.
#pragma once

#include <string>
#include <string_view>

namespace muster {

struct PodRef {
  std::string name;   // empty: unknown, the host is an address
  std::string space;  // its namespace; empty: unknown
};

// `own_space`: the launcher's, for a host whose name does not tell
// ("pod.service.NAMESPACE.svc" does).
PodRef pod_of_host(std::string_view host, const std::string& own_space);

// What can be pasted into a shell. `kubectl describe` takes the beginning of a
// name, too: a Job adds some letters to its pods' host names.
std::string describe_command(const PodRef& pod);
std::string list_command(const PodRef& pod);

// The launcher's own namespace: what its service account's file says, else its
// search list; empty: neither does.
std::string namespace_of(std::string_view service_account,
                         std::string_view resolv_conf);

}  // namespace muster
