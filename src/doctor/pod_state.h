// SPDX-License-Identifier: Apache-2.0
// PodState: the facts that `muster doctor` has read of one pod, as plain
// values. Unknown values stay at -1 or empty, and the checks skip them.
// read_pod_state() does all the reading; the checks are pure.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "job/node_facts.h"
#include "job/operator_contract.h"

namespace muster {

struct PathState {
  std::string path;
  bool exists = false;
  bool writable = false;
  std::string reason;      // why it is not writable, else empty
  std::string filesystem;  // "nfs4", "overlay"; "": unknown
  int64_t free_bytes = -1;
  int64_t free_inodes = -1;  // -1: unknown, or the filesystem has no limit
  int64_t write_ms = -1;     // to write 4 KiB to the disk (fsync)
  std::vector<std::string> marks;  // pods that see this directory, too
};

struct ProgramState {
  std::string program;
  std::string path;                    // "": not on PATH
  std::vector<std::string> missing;    // shared libraries that are missing
  std::vector<std::string> libraries;  // "libmpi.so.40 libmpi.so.40.30.4 SIZE"
  // NCCL, CUDA and their kin that it will load, a sentence each.
  std::vector<std::string> loads;
};

struct NameState {
  std::string name;
  std::string outcome;  // "ok", "dns_unresolved", "timeout", …
  std::string detail;
};

struct PodState {
  NodeFacts facts;
  Contract contract;
  std::string boot_id;      // of the kernel: one per node
  std::set<int> listening;  // TCP ports in this network namespace
  bool pid1_is_muster = false;
  std::string foreign_sshd;  // target of /usr/sbin/sshd; empty: muster
  int slots = -1;            // of this pod, if declared
  int64_t rmem_max = -1;     // net.core.rmem_max, bytes
  std::vector<std::string> rdma_devices;
  std::vector<PathState> paths;
  std::vector<ProgramState> programs;
  std::vector<NameState> names;      // own name, and the hostfile's
  std::vector<NameState> endpoints;  // object stores named by the environment
};

struct DoctorOptions {
  std::string root;                   // in front of kernel files (tests)
  std::vector<std::string> paths;     // --check-path
  std::vector<std::string> programs;  // --program
  std::vector<std::string> names;     // --name
  int slots = -1;                     // --slots
  int timeout_ms = 5000;              // for names and endpoints together
  bool json = false;
  bool ask_network = true;  // names and endpoints
};

// Blocks, for names and endpoints at most options.timeout_ms, for the image's
// mpirun at most 30 s. Never fails.
PodState read_pod_state(const DoctorOptions& options);
// Only this pod's role for its operator: a few files.
Contract own_contract(const DoctorOptions& options);

// Ports in LISTEN state in the text of /proc/net/tcp or tcp6. Pure.
std::set<int> listening_ports(const std::string& proc_net_tcp);

// "https://minio.svc:9000/x" -> "minio.svc", 9000; port 443 or 80 by scheme.
// False if it is not an http(s) URL. Pure.
bool parse_endpoint(const std::string& url, std::string& host, int& port);

PathState check_path(const std::string& path);
// Looks up `program` in `search_path` and asks the dynamic linker for its
// libraries; waits at most 5 s.
ProgramState check_program(const std::string& program,
                           const std::string& search_path);

}  // namespace muster
