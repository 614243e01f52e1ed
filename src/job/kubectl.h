// SPDX-License-Identifier: Apache-2.0
// Lines of kubectl for messages, about the pod of a host name of the job: with
// the pod's own name, which is not its name in DNS, and its namespace, so that
// they run where they are pasted. This file has all of them;
// tests/images/test_commands.py reads them here. Pure, except own_namespace().
#pragma once

#include <string>
#include <string_view>

namespace muster {

// Stands for an unknown namespace.
inline constexpr std::string_view kSomeNamespace = "NAMESPACE";

// "pi-worker-0.pi.ml.svc" -> "ml"; for a name without one `own`, or
// kSomeNamespace if that is empty.
std::string namespace_of(std::string_view host, std::string_view own);

std::string list_pods(std::string_view own);
// For a JobSet's pod the host name is the beginning of the pod's name; for an
// address it shows all pods with theirs.
std::string describe_pod(std::string_view host, std::string_view own);
std::string logs_of_pod(std::string_view host, std::string_view own);
// Shows the node that the pod is on.
std::string node_of_pod(std::string_view host, std::string_view own);
// The first words of a command in the pod; empty: kubectl exec takes whole
// names, and this one is unknown.
std::string exec_in_pod(std::string_view host, std::string_view own);

// The namespace of this pod: from its service account, or the search list of
// `root`/etc/resolv.conf. Empty: neither exists.
std::string own_namespace(const std::string& root = {});

}  // namespace muster
