// SPDX-License-Identifier: Apache-2.0
// Lines of kubectl for messages, about the pod that has a host name of the job:
// with the pod's own name, which is not its name in DNS, and its namespace, so
// that they run where they are pasted. All of them are in this file, and
// tests/images/test_commands.py reads them here. Pure, but own_namespace().
#pragma once

#include <string>
#include <string_view>

namespace muster {

// Stands where the namespace is not known.
inline constexpr std::string_view kSomeNamespace = "NAMESPACE";

// "pi-worker-0.pi.ml.svc" -> "ml"; a name that tells none has `own`, or
// kSomeNamespace where that is empty.
std::string namespace_of(std::string_view host, std::string_view own);

std::string list_pods(std::string_view own);
// Of a JobSet's pod the host name is the beginning of the pod's name; of an
// address all pods are shown with theirs.
std::string describe_pod(std::string_view host, std::string_view own);
std::string logs_of_pod(std::string_view host, std::string_view own);
// Shows the node that the pod is on.
std::string node_of_pod(std::string_view host, std::string_view own);
// The first words of a command in the pod; empty: kubectl exec takes whole
// names, and this one is not known.
std::string exec_in_pod(std::string_view host, std::string_view own);

// The namespace of this pod: of its service account, or of the search list of
// `root`/etc/resolv.conf. Empty: neither is there.
std::string own_namespace(const std::string& root = {});

}  // namespace muster
