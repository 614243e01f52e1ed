// SPDX-License-Identifier: Apache-2.0
// The command line of `muster fabric`, parsed. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace muster {

struct FabricOptions {
  std::string command;  // show plan explain env check bench mpi nccl
  std::vector<std::string> facts;
  std::string sysroot;
  std::string profile;
  std::vector<std::string> app_profiles;  // "APP=PROFILE"
  std::string nccl;                       // version; of the command nccl a path
  std::string site;
  std::string pod;
  bool json = false;
  std::string listen;  // "[ADDRESS:]PORT"
  std::string peer;    // "ADDRESS:PORT"
  int timeout_ms = 10'000;
  int megabytes = 256;          // per direction, at most 4096
  int port = 0;                 // over a job: every pod listens there; 0: any
  int rounds = 64;              // over a job: at most so many
  std::string connect_timeout;  // over a job
  std::string report;           // over a job: HTML page; "": none
  std::vector<std::string> launch;  // options of muster launch: where, how
  // Behind "--": show, plan, explain, env for the NCCL that it will load (of
  // several, "A : B", the first's), and nccl through it.
  std::vector<std::string> program;
};

// Error code "usage".
Result<FabricOptions> parse_fabric_options(
    const std::vector<std::string>& args);
std::string fabric_usage();

}  // namespace muster
