// SPDX-License-Identifier: Apache-2.0
// The fabric policy: facts of all pods + profile + site file + the user's own
// variables -> settings per pod, each with its reason, and findings. Order:
// unset beats set, probe beats table, table beats guess, refusing beats
// hanging; the user's own value beats all but is checked. Pure: no I/O, no
// clock, no state.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/facts/facts.h"
#include "fabric/policy/profile.h"
#include "fabric/policy/site_file.h"
#include "job/finding.h"

namespace muster {

enum class FabricConfidence { kProven, kLikely, kGuess };

struct FabricSetting {
  std::string library;  // NCCL, UCX, Open MPI, libfabric, MPICH, Intel MPI
  std::string name;
  std::string value;
  std::string reason;
  std::string evidence;  // evidence, and where
  FabricConfidence confidence = FabricConfidence::kLikely;
  std::string source;                 // of the rule
  std::string alone;                  // the library's own choice
  std::vector<std::string> rejected;  // losing alternatives, each with why
  bool tuning = false;                // the user may choose another value
  bool asked = false;  // the user's profile is for it, whatever a pod shows
};

struct PortDecision {
  std::string name;
  std::string kind;
  double rate_gbps = -1;
  bool chosen = false;
  std::string role;
  std::string reason;
};

struct PodPlan {
  std::string name;
  std::string transport;  // "InfiniBand", "RoCE", "EFA", …, "TCP", "unknown"
  std::string interface;  // for TCP; empty: unknown
  std::string interface_reason;
  std::vector<std::string> interface_rejected;  // others, each with why
  std::string alone;  // the choice of NCCL of this version by itself
  std::vector<PortDecision> ports;
  std::vector<FabricSetting> settings;  // to be set
  std::vector<FabricSetting> kept;      // the user's own, left as they are

  [[nodiscard]] std::map<std::string, std::string> env() const;
};

enum class FabricVerdict { kLeave, kSet, kWarn, kTcp, kRefuse };

struct FabricRequest {
  Profile profile = Profile::kAuto;
  std::string profile_word;      // as given: "grpo"
  std::vector<AppProfile> apps;  // MPMD only
  std::string nccl_version;      // overrides what the facts say
  SiteFile site;
};

struct FabricPlan {
  FabricVerdict verdict = FabricVerdict::kLeave;
  std::string profile;    // effective, with the word that chose it
  std::string transport;  // of the job
  std::string transport_reason;
  std::vector<std::string> transport_rejected;  // others, each with why
  std::string summary;  // one line for the first log lines
  std::vector<PodPlan> pods;
  std::vector<Finding> findings;
  std::vector<std::string> mpirun_args;  // for an mpirun line
};

std::string_view confidence_name(FabricConfidence confidence);
std::string_view verdict_name(FabricVerdict verdict);

FabricPlan plan_fabric(const std::vector<PodFabric>& pods,
                       const FabricRequest& request);
// From the checks of the user's own variables (lint/lint.cc), which hold
// without any setting of ours.
bool is_about_users_value(const Finding& finding);

}  // namespace muster
