// SPDX-License-Identifier: Apache-2.0
#include "worker/facts/facts_collect.h"

#include "fabric/collect/collect.h"

#include <pwd.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdlib>

#include "base/fd.h"
#include "base/hostname.h"
#include "base/runtime_dir.h"
#include "base/spawn.h"
#include "base/text.h"
#include "fabric/collect/ask_mpi.h"
#include "fabric/collect/locked_memory.h"
#include "fabric/collect/program_libraries.h"
#include "job/env_merge.h"
#include "worker/facts/facts_cgroup.h"
#include "worker/facts/facts_cpu.h"
#include "worker/facts/facts_gpu.h"
#include "worker/facts/facts_huge_pages.h"
#include "worker/facts/facts_network.h"
#include "worker/facts/gpu_facts.h"

namespace muster {

namespace {

int64_t limit_value(rlim_t value) {
  return value == RLIM_INFINITY ? -1 : static_cast<int64_t>(value);
}

void add_limits(NodeFacts& facts, const std::string& root) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) == 0) {
    facts.memlock_soft = limit_value(limit.rlim_cur);
    facts.memlock_hard = limit_value(limit.rlim_max);
  }
  if (may_lock_all(root)) facts.memlock_soft = facts.memlock_hard = -1;
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    facts.nofile_hard = limit_value(limit.rlim_max);
  }
}

void add_shared_memory(NodeFacts& facts, const std::string& root) {
  struct statvfs shm {};
  if (::statvfs((root + "/dev/shm").c_str(), &shm) != 0) return;
  const auto block = static_cast<int64_t>(shm.f_frsize);
  facts.shm_total = static_cast<int64_t>(shm.f_blocks) * block;
  facts.shm_free = static_cast<int64_t>(shm.f_bavail) * block;
}

// The pod's own variables, without those that muster set, and without the links
// of services: Kubernetes gives each pod its own, they never travel, and a
// namespace may have thousands of services.
void add_environment(NodeFacts& facts) {
  for (auto& [name, value] : current_environment()) {
    if (is_service_link(name, value)) continue;
    if (name == "MUSTER_LAUNCH_ID" || name == "MUSTER_AGENT" ||
        name == "MUSTER_RUN_DIR" || name == "MUSTER_RANK") {
      continue;
    }
    facts.environment.emplace(std::move(name), std::move(value));
  }
  for (const char* name : {"MUSTER_IMAGE_ID", "IMAGE_ID", "IMAGE_DIGEST"}) {
    const auto found = facts.environment.find(name);
    if (found != facts.environment.end() && facts.image_id.empty()) {
      facts.image_id = found->second;
    }
  }
}

// The file first: other sources of users may be slow, and start libraries.
bool has_passwd_entry(const std::string& root, uid_t uid) {
  const std::string text =
      read_file(root + "/etc/passwd", 1 << 20).value_or(std::string());
  const std::string wanted = std::to_string(uid);
  for (const auto line : split(text, '\n')) {
    const auto fields = split(line, ':');
    if (fields.size() == 7 && fields[2] == wanted) return true;
  }
  return root.empty() && ::getpwuid(uid) != nullptr;
}

std::string environment_value(const NodeFacts& facts, const char* name) {
  const auto found = facts.environment.find(name);
  return found == facts.environment.end() ? "" : found->second;
}

std::string short_words(const std::vector<std::string>& argv) {
  constexpr size_t kMost = 60;
  std::string out = join(argv, " ");
  if (out.size() <= kMost) return out;
  out.resize(kMost);
  return out + "…";
}

// The libraries that a program will load count, not others in the image. Of
// several the first that is here and has an NCCL.
void take_programs(const std::string& root,
                   const std::vector<ProgramCall>& programs, KnownFiles& known,
                   NodeFacts& facts, LaunchAdds& adds) {
  for (const ProgramCall& program : programs) {
    if (program.argv.empty()) continue;
    const ProgramLibraries own = program_libraries(root, program, known);
    if (own.program.empty()) continue;
    const ProgramLibrary* nccl = own.find("NCCL");
    const bool tells = nccl != nullptr && !nccl->version.empty();
    if (programs.size() > 1) {
      facts.programs.push_back({short_words(program.argv),
                                tells ? nccl->version : "",
                                nccl != nullptr ? nccl->path : ""});
    }
    const bool first = adds.nccl_path.empty();
    if (first && tells) {
      facts.nccl_version = nccl->version;
      adds.nccl_path = nccl->path;
    }
    const ProgramLibrary* cuda = own.find("CUDA runtime");
    if (!first || cuda == nullptr) continue;
    const auto parts = split(cuda->version, '.');
    if (parts.size() < 2) continue;
    facts.cuda_runtime = std::string(parts[0]) + "." + std::string(parts[1]);
  }
}

}  // namespace

NodeFacts collect_quick_facts(const std::string& root,
                              const CgroupPlace& place) {
  NodeFacts facts;
  facts.hostname = own_hostname();
  facts.uid = static_cast<int>(::geteuid());
  facts.gid = static_cast<int>(::getegid());
  const std::vector<int> cpus = allowed_cpus();
  facts.cpus_allowed = cpus.empty() ? -1 : static_cast<int>(cpus.size());
  facts.cores = read_cores(root, cpus);
  const CgroupMemory memory = read_cgroup_memory(place);
  facts.cgroup_version = place.version;
  facts.memory_limit = memory.limit;
  facts.memory_usage = memory.usage;
  facts.cpu_quota = read_cpu_quota(place);
  const HugePages huge = read_huge_pages(root, place);
  facts.huge_pages = huge.total;
  facts.huge_pages_limit = huge.limit;
  add_limits(facts, root);
  add_shared_memory(facts, root);
  add_environment(facts);
  facts.writable = writable_directories();
  facts.gpu =
      find_gpus(root, environment_value(facts, "NVIDIA_VISIBLE_DEVICES"));
  facts.cuda_driver = nvidia_driver_version(root);
  facts.muster_version = MUSTER_VERSION;
  facts.interfaces = network_interfaces();
  return facts;
}

NodeFacts collect_all_facts(const std::string& root, const CgroupPlace& place,
                            const std::string& mpirun, KnownFiles known,
                            const std::string& gpu_facts,
                            std::vector<ProgramCall> programs, bool drivers) {
  NodeFacts facts = collect_quick_facts(root, place);
  facts.has_passwd_entry = has_passwd_entry(root, ::geteuid());
  const ImageLibraries libraries =
      find_libraries(root, environment_value(facts, "LD_LIBRARY_PATH"), known);
  facts.nccl_version = nccl_version(libraries, known);
  facts.cuda_runtime = cuda_runtime_version(libraries, known);
  LaunchAdds adds;
  adds.drivers = drivers;
  adds.library_path = environment_value(facts, "LD_LIBRARY_PATH");
  if (!programs.empty()) {
    adds.env = programs.front().env;
    adds.cwd = programs.front().cwd;
  }
  for (ProgramCall& program : programs) {
    Environment env(facts.environment.begin(), facts.environment.end());
    for (auto& [name, value] : program.env) {
      set_env(env, name, std::move(value));
    }
    program.env = std::move(env);
  }
  if (!programs.empty()) {
    const std::string* search =
        find_env(programs.front().env, "LD_LIBRARY_PATH");
    if (search != nullptr) adds.library_path = *search;
  }
  take_programs(root, programs, known, facts, adds);
  facts.mpi = ask_mpi(environment_value(facts, "PATH"), mpirun, known);
  adds.nccl = facts.nccl_version;
  auto answers = ask_gpu_facts(gpu_facts);
  facts.fabric = collect_fabric_json(root, libraries, known, answers, adds);
  if (answers) facts.drivers_age_ms = answers->age_ms;
  facts.serves_pmix = MUSTER_SERVES_PMIX != 0;
  return facts;
}

KnownFiles learn_image(const std::string& root) {
  const auto value = [](const char* name) {
    const char* found = ::getenv(name);
    return std::string(found != nullptr ? found : "");
  };
  KnownFiles known;
  const ImageLibraries libraries =
      find_libraries(root, value("LD_LIBRARY_PATH"), known);
  (void)nccl_version(libraries, known);
  (void)cuda_runtime_version(libraries, known);
  (void)ask_mpi(value("PATH"), "", known);
  return known;
}

}  // namespace muster
