// SPDX-License-Identifier: Apache-2.0
// Reads the pod for `muster doctor`.

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/directory.h"
#include "base/fd.h"
#include "base/self_path.h"
#include "base/spawn.h"
#include "base/text.h"
#include "doctor/pod_state.h"
#include "fabric/collect/program_libraries.h"
#include "job/pod_view.h"
#include "worker/facts/facts_collect.h"
#include "worker/facts/facts_probe.h"

namespace muster {

namespace {

constexpr int kListen = 0x0A;  // TCP_LISTEN, include/net/tcp_states.h
constexpr size_t kMostNames = 64;

std::vector<std::string> entries(const std::string& directory) {
  std::vector<std::string> names = names_in(directory);
  std::erase_if(names, [](auto& name) { return name.starts_with('.'); });
  std::sort(names.begin(), names.end());
  return names;
}

int64_t number_in(const std::string& path) {
  const auto text = read_file(path);
  return text ? parse_integer(trim(*text)).value_or(-1) : -1;
}

void read_kernel_files(const std::string& root, PodState& pod) {
  for (const char* file : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    const auto text = read_file(root + file, 16 << 20);
    if (!text) continue;
    for (const int port : listening_ports(*text)) pod.listening.insert(port);
  }
  if (const auto id = read_file(root + "/proc/sys/kernel/random/boot_id")) {
    pod.boot_id = trim(*id);
  }
  pod.rmem_max = number_in(root + "/proc/sys/net/core/rmem_max");
  pod.rdma_devices = entries(root + "/sys/class/infiniband");
  if (const auto line = read_file(root + "/proc/1/cmdline")) {
    const std::string first = line->substr(0, line->find('\0'));
    const std::string name = first.substr(first.rfind('/') + 1);
    pod.pid1_is_muster = name == "muster" || name == "sshd";
  }
}

// Endpoints that the usual clients read from the environment.
std::vector<std::pair<std::string, wire::ProbeTarget>> object_stores(
    const Environment& env) {
  std::vector<std::pair<std::string, wire::ProbeTarget>> found;
  for (const char* name :
       {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "S3_ENDPOINT_URL",
        "S3_ENDPOINT", "MLFLOW_S3_ENDPOINT_URL", "STORAGE_EMULATOR_HOST"}) {
    const std::string* url = find_env(env, name);
    wire::ProbeTarget target;
    if (url != nullptr && parse_endpoint(*url, target.host, target.port)) {
      found.emplace_back(name, std::move(target));
    }
  }
  return found;
}

void ask_network(const DoctorOptions& options, const Environment& env,
                 PodState& pod) {
  wire::ProbeRequest request;
  request.timeout_ms = options.timeout_ms;
  request.names.push_back(pod.facts.hostname);
  if (pod.contract.hostfile) {
    for (const HostEntry& host : pod.contract.hostfile->hosts) {
      if (request.names.size() < kMostNames) request.names.push_back(host.name);
    }
  }
  for (const std::string& name : options.names) {
    if (request.names.size() < kMostNames) request.names.push_back(name);
  }
  const auto stores = object_stores(env);
  for (const auto& [name, target] : stores) request.targets.push_back(target);
  const wire::ProbeReply reply = run_probe(request);
  for (size_t i = 0; i < reply.results.size(); ++i) {
    const wire::ProbeResult& one = reply.results[i];
    if (i < request.names.size()) {
      pod.names.push_back({one.subject, one.outcome, one.detail});
    } else {
      const auto& variable = stores[i - request.names.size()].first;
      pod.endpoints.push_back(
          {one.subject + " of " + variable, one.outcome, one.detail});
    }
  }
}

void read_slots(const DoctorOptions& options, PodState& pod) {
  pod.slots = options.slots;
  const Contract& contract = pod.contract;
  if (pod.slots > 0 || !contract.hostfile || contract.self_index < 0) return;
  const HostEntry& self =
      contract.hostfile->hosts[static_cast<size_t>(contract.self_index)];
  if (self.slots_given) pod.slots = self.slots;
}

// A command line may be one word of --program; a file may have blanks, too.
std::vector<std::string> words_of(const std::string& program) {
  std::vector<std::string> out;
  for (const auto word : split_words(program)) out.emplace_back(word);
  if (out.empty() || ::access(program.c_str(), F_OK) == 0) out = {program};
  if (program.find_first_of("'\"") != program.npos) {
    out = {"sh", "-c", program};
  }
  return out;
}

// For a whole command examines the program that finally runs: `sh -c` and the
// like need nothing that matters.
ProgramState look_at_program(const std::string& root, const Environment& env,
                             const std::string& program) {
  const std::vector<std::string> words = words_of(program);
  KnownFiles nothing;
  const ProgramLibraries own =
      program_libraries(root, {words, env, ""}, nothing);
  const bool command = words.size() > 1 && !own.program.empty();
  const std::string* search = find_env(env, "PATH");
  ProgramState out = check_program(command ? own.program : words[0],
                                   search != nullptr ? *search : "");
  const ProgramLibrary* const nccl = own.find("NCCL");
  if (nccl == nullptr && own.find("CUDA runtime") == nullptr) return out;
  out.loads = library_lines(own);
  if (nccl != nullptr) {
    out.libraries.push_back("NCCL " + nccl->version + " " + nccl->path);
  }
  return out;
}

}  // namespace

std::set<int> listening_ports(const std::string& proc_net_tcp) {
  std::set<int> ports;
  for (const auto line : split(proc_net_tcp, '\n')) {
    const auto words = split_words(line);
    if (words.size() < 4) continue;
    const std::string local(words[1]);
    const size_t colon = local.rfind(':');
    if (colon == std::string::npos) continue;
    const std::string state(words[3]);
    if (std::strtol(state.c_str(), nullptr, 16) != kListen) continue;
    ports.insert(
        static_cast<int>(std::strtol(local.c_str() + colon + 1, nullptr, 16)));
  }
  return ports;
}

bool parse_endpoint(const std::string& url, std::string& host, int& port) {
  const size_t mark = url.find("://");
  if (mark == std::string::npos) return false;
  const std::string scheme = to_lower(url.substr(0, mark));
  if (scheme != "http" && scheme != "https") return false;
  std::string rest = url.substr(mark + 3);
  rest = rest.substr(0, rest.find_first_of("/?#"));
  rest = rest.substr(rest.rfind('@') + 1);  // npos + 1 is 0
  port = scheme == "https" ? 443 : 80;
  const size_t bracket = rest.rfind(']');
  const size_t colon = rest.rfind(':');
  if (colon != std::string::npos &&
      (bracket == std::string::npos || colon > bracket)) {
    const auto given = parse_integer(std::string_view(rest).substr(colon + 1));
    if (!given || *given < 1 || *given > 65535) return false;
    port = static_cast<int>(*given);
    rest.erase(colon);
  }
  if (rest.starts_with('[') && rest.ends_with(']')) {
    rest = rest.substr(1, rest.size() - 2);
  }
  host = rest;
  return !host.empty();
}

Contract own_contract(const DoctorOptions& options) {
  PodViewOptions view = own_pod_options();
  view.root = options.root;
  return decide_contract(read_pod_view(view));
}

PodState read_pod_state(const DoctorOptions& options) {
  PodState pod;
  PodViewOptions view = own_pod_options();
  view.root = options.root;
  pod.contract = decide_contract(read_pod_view(view));
  std::vector<ProgramCall> programs;
  for (const std::string& program : options.programs) {
    programs.push_back({words_of(program), {}, ""});
  }
  pod.facts = collect_all_facts(options.root, find_cgroup(options.root), "", {},
                                "", std::move(programs));
  read_kernel_files(options.root, pod);
  pod.foreign_sshd = foreign_sshd(options.root);
  read_slots(options, pod);
  for (const std::string& path : options.paths) {
    pod.paths.push_back(check_path(path));
  }
  for (const std::string& program : options.programs) {
    pod.programs.push_back(look_at_program(options.root, view.env, program));
  }
  if (options.ask_network) ask_network(options, view.env, pod);
  return pod;
}

}  // namespace muster
