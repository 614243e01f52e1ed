// SPDX-License-Identifier: Apache-2.0
// The NetworkPolicy that a job needs, as YAML. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "job/port_range.h"

namespace muster {

enum class Posture {
  kDefault,     // the job's pods reach each other; all other traffic as before
  kRestricted,  // only the listed ports among them, nothing in from outside
  kIsolated,    // restricted, and nothing out but DNS and --egress
};

struct EgressRule {
  std::string cidr;
  int port = 0;
};

struct NetpolRequest {
  std::string job;
  std::string name_space;  // "": the current one
  // The common label of the job's pods; NAME is replaced by `job`.
  std::string label = "training.kubeflow.org/job-name";
  Posture posture = Posture::kDefault;
  int ssh_port = 2222;
  PortRange ports;  // first 0: MPI picks any port
  std::vector<EgressRule> egress;
};

// "10.0.0.0/8:443". Error code "usage".
Result<EgressRule> parse_egress(const std::string& text);

// A NetworkPolicy, and as comments the settings that keep Open MPI, UCX, PMIx
// and MPICH inside `ports`. Error code "usage": a name that Kubernetes does not
// take, or a policy that would allow more than the options say.
Result<std::string> write_netpol(const NetpolRequest& request);

}  // namespace muster
