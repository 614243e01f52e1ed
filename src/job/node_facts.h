// SPDX-License-Identifier: Apache-2.0
// NodeFacts: the facts of one pod from its agent. A plain value with a JSON
// form; unknown ones stay empty (-1, "").
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

struct NetInterface {
  std::string name;
  std::vector<std::string> addresses;  // "10.1.2.3/24", "fd00::1/64"
  bool up = false;
  int mtu = -1;
};

// One physical core, with those of its hardware threads that the pod may use.
struct CpuCore {
  std::vector<int> cpus;  // ascending
  int numa = -1;
  int package = -1;
};

struct GpuPlace {
  std::string id;   // UUID, or index without one
  std::string pci;  // empty: unknown
  int numa = -1;
};

struct GpuFacts {
  std::string vendor;  // "nvidia", "amd", "intel"; empty: none seen
  int count = 0;       // device nodes visible in the pod
  std::vector<std::string> devices;  // "/dev/nvidia0", "MIG-…"
  std::vector<GpuPlace> places;      // in the order of their ordinals
};

struct MpiFacts {
  std::string family;    // "openmpi", "mpich", "intel", "mvapich"; empty: none
  std::string version;   // "4.1.4"
  std::string launcher;  // path of the mpirun with this version
  bool silent = false;   // it did not answer in time; the family is its file's
};

// One program of a line of several, and the NCCL that it will load here.
struct ProgramNccl {
  std::string program;  // "python3 train.py"
  std::string version;  // empty: none with a known one
  std::string path;
};

struct NodeFacts {
  std::string hostname;
  int uid = -1;
  int gid = -1;
  bool has_passwd_entry = false;
  int cpus_allowed = -1;  // size of the affinity mask
  std::vector<CpuCore> cores;
  double cpu_quota = -1;      // CFS quota in CPUs; -1: none
  int64_t memory_limit = -1;  // bytes; -1: none
  int64_t memory_usage = -1;
  int cgroup_version = 0;         // 1, 2; 0: unknown
  int64_t huge_pages = -1;        // of the default size, on the node
  int64_t huge_pages_limit = -1;  // of the pod, bytes; -1: none or unknown
  int64_t memlock_soft = -2;      // bytes; -1: unlimited; -2: unknown
  int64_t memlock_hard = -2;
  int64_t nofile_hard = -2;
  int64_t shm_total = -1;  // /dev/shm, bytes
  int64_t shm_free = -1;
  std::vector<std::string> writable;  // of $TMPDIR /tmp /dev/shm, in order
  GpuFacts gpu;
  MpiFacts mpi;
  bool serves_pmix = false;  // this muster was built with a PMIx host
  std::string nccl_version;  // of the first program that has one, or the image
  std::vector<ProgramNccl> programs;  // if the line has several: those here
  std::string cuda_runtime;           // "12.4", from libcudart in the image
  std::string cuda_driver;  // "550.54", from /proc/driver/nvidia/version
  std::string image_id;     // from the environment or a file, if given
  std::string muster_version;
  std::vector<NetInterface> interfaces;
  std::map<std::string, std::string> environment;  // of the worker's pid 1
  std::string left_out;  // of it, too large for a message; for people
  // Age of the GPU drivers' answers; -1: asked for this launch.
  int64_t drivers_age_ms = -1;
  std::string fabric;  // network and GPUs: docs/facts-schema.md, as JSON text
};

std::string to_json(const NodeFacts& facts);
// The same for people and programs outside: `fabric` is an object.
std::string to_readable_json(const NodeFacts& facts);
Result<NodeFacts> node_facts_from_json(std::string_view text);

}  // namespace muster
