// SPDX-License-Identifier: Apache-2.0
// Service meshes, host network, ports, names, socket buffers.
#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "doctor/checks.h"

namespace muster {

namespace {

// NCCL and UCX over TCP want a window that covers a fast link; distributions
// ship 208 KiB, which is too little from about 10 Gbit/s on.
constexpr int64_t kSmallReceiveBuffer = 1 << 20;

bool listens(const PodState& pod, int port) {
  return pod.listening.contains(port);
}

// Envoy's ports in Istio: 15001 and 15006 take the pod's traffic, 15020 and
// 15021 are for health (istio.io, "Ports used by Istio").
void check_istio(const PodState& pod, DoctorFindings& out) {
  std::string ports;
  for (const int port : {15000, 15001, 15006, 15020, 15021, 15090}) {
    if (!listens(pod, port)) continue;
    if (!ports.empty()) ports += ", ";
    ports += std::to_string(port);
  }
  const bool takes_traffic = listens(pod, 15001) || listens(pod, 15006);
  const bool is_there = listens(pod, 15020) || listens(pod, 15021);
  if (!takes_traffic && !is_there) return;
  out.push_back(
      {{Severity::kError, "mesh_sidecar",
        "an Istio sidecar takes this pod's connections",
        "ports " + ports + " listen here",
        "keep the mesh out of the job's pods: it swallows the SSH banner, "
        "resets pod-to-pod MPI traffic and keeps the pod from completing"},
       "metadata:\n"
       "  labels: {sidecar.istio.io/inject: \"false\"}\n"
       "  annotations: {sidecar.istio.io/inject: \"false\"}"});
}

void check_linkerd(const PodState& pod, DoctorFindings& out) {
  if (!listens(pod, 4143) || !listens(pod, 4191)) return;
  out.push_back({{Severity::kError, "mesh_sidecar",
                  "a Linkerd proxy takes this pod's connections",
                  "ports 4143 and 4191 listen here",
                  "keep the mesh out of the job's pods"},
                 "metadata:\n"
                 "  annotations: {linkerd.io/inject: disabled}"});
}

// Interfaces that a network plugin makes on nodes and not in pods.
bool on_host_network(const PodState& pod) {
  static constexpr std::string_view kNodeOnly[] = {
      "cni",     "docker",    "veth", "cali", "flannel",
      "cilium_", "kube-ipvs", "lxc",  "azv",  "ovn-k8s"};
  const auto& interfaces = pod.facts.interfaces;
  return std::any_of(
      interfaces.begin(), interfaces.end(), [](const NetInterface& one) {
        return std::any_of(
            std::begin(kNodeOnly), std::end(kNodeOnly),
            [&](auto prefix) { return one.name.starts_with(prefix); });
      });
}

void check_port(const PodState& pod, DoctorFindings& out) {
  const int port = pod.contract.ssh_port;
  const bool host = on_host_network(pod);
  const bool taken = listens(pod, port) && !pod.pid1_is_muster;
  if (taken) {
    out.push_back(
        {{host ? Severity::kError : Severity::kWarning, "port_taken",
          "port " + std::to_string(port) + " is taken by another program",
          host ? "the pod is on the node's network" : "it listens here",
          "give the job another port"},
         "env:\n"
         "  - {name: MUSTER_PORT, value: \"22220\"}      # workers\n"
         "  - {name: MUSTER_SSH_PORT, value: \"22220\"}  # launcher"});
  } else if (host) {
    out.push_back(
        {{Severity::kWarning, "host_network",
          "the pod is on the node's network", "it sees the node's interfaces",
          "two pods of any jobs on one node then share its ports: keep them "
          "apart, and give each job a port of its own"},
         "affinity:\n"
         "  podAntiAffinity:\n"
         "    requiredDuringSchedulingIgnoredDuringExecution:\n"
         "      - topologyKey: kubernetes.io/hostname\n"
         "        labelSelector:\n"
         "          matchExpressions:\n"
         "            - {key: training.kubeflow.org/job-role, operator: "
         "Exists}"});
  }
}

// By hand, outside of a job: there is no Service to give names.
bool only_own_name(const PodState& pod) {
  return pod.contract.role == Role::kManual && pod.names.size() == 1 &&
         pod.names[0].name == pod.facts.hostname;
}

void check_names(const PodState& pod, DoctorFindings& out) {
  std::string bad;
  int count = 0;
  for (const NameState& name : pod.names) {
    if (name.outcome == "ok") continue;
    if (++count <= 4) bad += (bad.empty() ? "" : ", ") + name.name;
  }
  if (count == 0) return;
  if (only_own_name(pod)) {
    out.push_back({{Severity::kInfo, "dns_unresolved",
                    "this machine's own name does not resolve", bad,
                    "some MPIs look it up: add it to /etc/hosts"},
                   "# /etc/hosts\n127.0.1.1 " + bad});
    return;
  }
  if (count > 4) bad += " and " + std::to_string(count - 4) + " more";
  out.push_back(
      {{Severity::kWarning, "dns_unresolved",
        std::to_string(count) + " of " + std::to_string(pod.names.size()) +
            " names of this job do not resolve",
        bad,
        "a pod's name exists once the pod is ready: is it running? "
        "Does the Service select it? Does a NetworkPolicy let port "
        "53 out?"},
       "# the job's headless Service\n"
       "spec: {publishNotReadyAddresses: true}"});
}

void check_endpoints(const PodState& pod, DoctorFindings& out) {
  for (const NameState& endpoint : pod.endpoints) {
    if (endpoint.outcome == "ok") continue;
    out.push_back(
        {{Severity::kWarning, "endpoint_unreachable",
          "the object store cannot be reached",
          endpoint.name + ": " + endpoint.outcome +
              (endpoint.detail.empty() ? "" : " (" + endpoint.detail + ")"),
          "check the address, and that a NetworkPolicy lets it out"},
         "# the rule: `muster netpol --job JOB --posture isolated "
         "--egress CIDR:PORT`"});
  }
}

void check_buffers(const PodState& pod, DoctorFindings& out) {
  if (pod.rmem_max < 0 || pod.rmem_max >= kSmallReceiveBuffer) return;
  if (!pod.rdma_devices.empty()) return;
  out.push_back(
      {{Severity::kInfo, "small_socket_buffers",
        "socket buffers are limited to " +
            human_bytes(static_cast<uint64_t>(pod.rmem_max)),
        "net.core.rmem_max = " + std::to_string(pod.rmem_max),
        "a setting of the node, not of the pod; it matters for programs that "
        "set SO_RCVBUF themselves, above 10 Gbit/s"},
       "# on the node: sysctl -w net.core.rmem_max=16777216 "
       "net.core.wmem_max=16777216"});
}

}  // namespace

void check_network(const PodState& pod, DoctorFindings& out) {
  check_istio(pod, out);
  check_linkerd(pod, out);
  check_port(pod, out);
  check_names(pod, out);
  check_endpoints(pod, out);
  check_buffers(pod, out);
}

}  // namespace muster
