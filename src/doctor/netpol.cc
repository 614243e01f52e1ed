// SPDX-License-Identifier: Apache-2.0
#include "doctor/netpol.h"

#include <algorithm>

#include "base/text.h"
#include "job/hostfile.h"

namespace muster {

namespace {

tl::unexpected<Error> usage(std::string what, std::string hint) {
  return fail(Error{"usage", std::move(what), "", "", std::move(hint)});
}

// Several daemons that share a range need room: one port each, at least.
std::string port_settings(const PortRange& range) {
  const std::string first = std::to_string(range.first);
  const std::string last = std::to_string(range.last);
  const std::string size = std::to_string(range.last - range.first + 1);
  const std::string both = first + "-" + last;
  return "# Keep MPI inside ports " + both +
         ": the same environment in the "
         "launcher and the workers.\n"
         "#   MUSTER_PORT_RANGE=" +
         both +
         "    # muster's own check\n"
         "#   MASTER_PORT=" +
         last +
         "    # torch\n"
         "#   OMPI_MCA_btl_tcp_port_min_v4=" +
         first +
         "\n"
         "#   OMPI_MCA_btl_tcp_port_range_v4=" +
         size +
         "\n"
         "#   OMPI_MCA_oob_tcp_dynamic_ipv4_ports=" +
         both +
         "    # Open MPI 4\n"
         "#   PRTE_MCA_oob_tcp_dynamic_ipv4_ports=" +
         both +
         "    # Open MPI 5\n"
         "#   UCX_TCP_PORT_RANGE=" +
         both +
         "\n"
         "#   MPIR_CVAR_CH3_PORT_RANGE=" +
         first + ":" + last +
         "    # MPICH, ch3\n"
         "#   MPICH_PORT_RANGE=" +
         first + ":" + last +
         "    # Hydra\n"
         "# NCCL and Gloo take any free port; narrow that with "
         "net.ipv4.ip_local_port_range:\n"
         "#   securityContext: {sysctls: [{name: net.ipv4.ip_local_port_range, "
         "value: \"" +
         first + " " + last + "\"}]}\n";
}

// Quoted: a bare 123, on or null is not text to YAML.
std::string quoted(const std::string& text) { return '"' + text + '"'; }

std::string job_label(const NetpolRequest& request) {
  return "{" + request.label + ": " + quoted(request.job) + "}\n";
}

std::string job_peers(const NetpolRequest& request) {
  return "        - podSelector:\n"
         "            matchLabels: " +
         job_label(request);
}

std::string job_ports(const NetpolRequest& request) {
  if (request.posture == Posture::kDefault) return "";
  if (request.ports.first == 0) return "";
  return "      ports:\n"
         "        - {protocol: TCP, port: " +
         std::to_string(request.ssh_port) +
         "}\n"
         "        - {protocol: TCP, port: " +
         std::to_string(request.ports.first) +
         ", endPort: " + std::to_string(request.ports.last) +
         "}\n"
         "        - {protocol: UDP, port: " +
         std::to_string(request.ports.first) +
         ", endPort: " + std::to_string(request.ports.last) + "}\n";
}

std::string egress_rules(const NetpolRequest& request) {
  std::string out =
      "  egress:\n"
      "    - to:\n" +
      job_peers(request) + job_ports(request) +
      "    - to:  # names\n"
      "        - namespaceSelector: {}\n"
      "          podSelector:\n"
      "            matchExpressions:\n"
      "              - {key: k8s-app, operator: In, values: [kube-dns, "
      "coredns, node-local-dns]}\n"
      "        - ipBlock: {cidr: 169.254.20.10/32}  # node-local-dns: on the "
      "node's network, no pod to select\n"
      "        - namespaceSelector:\n"
      "            matchLabels: {kubernetes.io/metadata.name: openshift-dns}\n"
      "      ports:\n"
      "        - {protocol: UDP, port: 53}\n"
      "        - {protocol: TCP, port: 53}\n"
      "        - {protocol: UDP, port: 5353}\n"
      "        - {protocol: TCP, port: 5353}\n";
  for (const EgressRule& rule : request.egress) {
    out +=
        "    - to:\n"
        "        - ipBlock: {cidr: \"" +
        rule.cidr +
        "\"}\n"
        "      ports:\n"
        "        - {protocol: TCP, port: " +
        std::to_string(rule.port) + "}\n";
  }
  return out;
}

// "NAME" or "PREFIX/NAME", as in Kubernetes.
bool is_label_key(std::string_view text) {
  const size_t slash = text.find('/');
  const bool prefixed = slash != std::string_view::npos;
  if (prefixed && !is_dns_name(text.substr(0, slash))) return false;
  const std::string_view name = prefixed ? text.substr(slash + 1) : text;
  std::string plain = to_lower(name);
  std::replace(plain.begin(), plain.end(), '_', '-');
  return is_dns_name(plain);
}

bool is_cidr(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view address = text.substr(0, slash);
  const auto bits = parse_integer(text.substr(slash + 1));
  const int64_t most = address.find(':') == std::string_view::npos ? 32 : 128;
  return is_ip_address(address) && address.find('%') == address.npos && bits &&
         *bits >= 0 && *bits <= most;
}

Status check(const NetpolRequest& request) {
  if (!is_dns_name(request.job)) {
    return usage("'" + request.job + "' is not the name of a job",
                 "lower case letters, digits and dashes, as in --job pi");
  }
  if (!request.name_space.empty() && !is_dns_name(request.name_space)) {
    return usage("'" + request.name_space + "' is not a namespace",
                 "lower case letters, digits and dashes");
  }
  if (!is_label_key(request.label)) {
    return usage("'" + request.label + "' is not the key of a label",
                 "as in --label training.kubeflow.org/job-name");
  }
  // A policy that is wider than requested is worse than none.
  if (request.posture == Posture::kRestricted && request.ports.first == 0) {
    return usage("--posture restricted names no port",
                 "add --port-range, as in 40000-40999");
  }
  if (request.posture != Posture::kIsolated && !request.egress.empty()) {
    return usage("--egress closes nothing by itself",
                 "add --posture isolated, which lets out nothing else");
  }
  return {};
}

}  // namespace

Result<EgressRule> parse_egress(const std::string& text) {
  const size_t colon = text.rfind(':');
  const auto port =
      colon == std::string::npos
          ? std::nullopt
          : parse_integer(std::string_view(text).substr(colon + 1));
  if (!port || *port < 1 || *port > 65535 || !is_cidr(text.substr(0, colon))) {
    return usage("'" + text + "' is not a destination",
                 "as in 10.0.0.0/8:443: a CIDR and a TCP port");
  }
  return EgressRule{text.substr(0, colon), static_cast<int>(*port)};
}

Result<std::string> write_netpol(const NetpolRequest& request) {
  if (const auto checked = check(request); !checked) {
    return fail(checked.error());
  }
  std::string out;
  if (request.ports.first > 0) out += port_settings(request.ports);
  out +=
      "apiVersion: networking.k8s.io/v1\n"
      "kind: NetworkPolicy\n"
      "metadata:\n"
      "  name: " +
      request.job + "-mpi\n";
  if (!request.name_space.empty()) {
    out += "  namespace: " + quoted(request.name_space) + "\n";
  }
  out +=
      "spec:\n"
      "  podSelector:\n"
      "    matchLabels: " +
      job_label(request);
  const bool isolated = request.posture == Posture::kIsolated;
  out += isolated ? "  policyTypes: [Ingress, Egress]\n"
                  : "  policyTypes: [Ingress]\n";
  out +=
      "  ingress:\n"
      "    - from:\n" +
      job_peers(request) + job_ports(request);
  if (isolated) out += egress_rules(request);
  return out;
}

}  // namespace muster
