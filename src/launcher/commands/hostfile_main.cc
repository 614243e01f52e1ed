// SPDX-License-Identifier: Apache-2.0
// Slots that only a worker can tell (GPUs, CPU quota) are those of the
// operator's file or 1 here: this command asks no worker.
#include "launcher/commands/hostfile_main.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/fd.h"
#include "base/read_command_line.h"
#include "job/exit_codes.h"
#include "job/pod_view.h"
#include "job/slots.h"

namespace muster {

namespace {

struct HostfileRequest {
  std::string format = "openmpi";
  std::string from;
  std::string to;
  int slots = 0;
  bool explain = false;
};

HostfileFormat format_by_name(const std::string& name) {
  if (name == "mpich") return HostfileFormat::kMpich;
  if (name == "intel") return HostfileFormat::kIntel;
  if (name == "mvapich") return HostfileFormat::kMvapich;
  if (name == "deepspeed") return HostfileFormat::kDeepSpeed;
  return HostfileFormat::kOpenMpi;
}

Result<Hostfile> read_hosts(const HostfileRequest& request) {
  PodViewOptions where = own_pod_options();
  where.hostfile = request.from;
  ContractFlags flags;
  flags.hostfile = request.from;
  Contract contract = decide_contract(read_pod_view(where), flags);
  if (contract.hostfile) return std::move(*contract.hostfile);
  const std::string path =
      request.from.empty() ? contract.hostfile_path : request.from;
  if (path.empty()) {
    return fail(Error{"no_hosts",
                      "no hostfile is here",
                      "neither the operator's variables nor /etc/mpi/hostfile "
                      "lead to one",
                      {},
                      "Pass --hostfile FILE."});
  }
  const auto text = read_file(path, 16 << 20);
  if (!text) return fail(text.error());
  return parse_hostfile(*text, path);
}

int write(const HostfileRequest& request) {
  auto hosts = read_hosts(request);
  if (!hosts) {
    std::fprintf(stderr, "muster hostfile: %s\n", hosts.error().text().c_str());
    return exit_code_for(ExitClass::kConfiguration);
  }
  for (HostEntry& host : hosts->hosts) {
    SlotsInput input;
    input.host = host.name;
    input.user = request.slots;
    input.hostfile = host.slots_given ? host.slots : 0;
    input.hostfile_source = hosts->source + ":" + std::to_string(host.line);
    const SlotsDecision decision = decide_slots(input);
    host.slots = decision.slots;
    host.slots_given = true;
    if (request.explain) {
      std::fprintf(stderr, "%s: %d slots: %s\n", host.name.c_str(),
                   decision.slots, decision.reason.c_str());
    }
  }
  const std::string text =
      write_hostfile(hosts->hosts, format_by_name(request.format));
  if (request.to.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return 0;
  }
  const auto written = write_file_atomically(request.to, text);
  if (written) return 0;
  std::fprintf(stderr, "muster hostfile: %s\n", written.error().text().c_str());
  return exit_code_for(ExitClass::kConfiguration);
}

}  // namespace

int hostfile_main(const std::vector<std::string>& args) {
  HostfileRequest request;
  CLI::App app("Writes the job's hostfile for any MPI.", "muster hostfile");
  app.add_option("--format", request.format,
                 "openmpi, mpich, intel, mvapich, deepspeed")
      ->check(
          CLI::IsMember({"openmpi", "mpich", "intel", "mvapich", "deepspeed"}));
  app.add_option("--hostfile", request.from,
                 "the file to read (default: the operator's)");
  app.add_option("--slots-per-node", request.slots, "slots of every host")
      ->transform(whole_number(1, kMaxSlots));
  app.add_option("-o,--output", request.to, "write there instead of stdout");
  app.add_flag("--explain", request.explain, "say on stderr why so many slots");
  app.footer(
      "Examples:\n  muster hostfile --format mpich\n"
      "  muster hostfile --slots-per-node 8 -o /tmp/hostfile\n"
      "  muster hostfile --explain\n"
      "Exit codes: 0, 2 usage, 100 no usable hostfile.");
  if (const auto code = read_command_line(app, args)) return *code;
  return write(request);
}

}  // namespace muster
