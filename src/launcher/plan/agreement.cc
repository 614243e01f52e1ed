// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/agreement.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "job/line_placement.h"
#include "job/mpirun_rewrite.h"
#include "job/native_line.h"
#include "job/placement_notes.h"
#include "job/rank_env.h"
#include "job/visible_gpus.h"
#include "launcher/plan/bootstrap_choice.h"
#include "launcher/plan/job_request.h"
#include "launcher/plan/mpirun_request.h"
#include "launcher/plan/nested_launcher.h"

namespace muster {

namespace {

void take_findings(Agreement& out, const std::vector<Finding>& more) {
  out.findings.insert(out.findings.end(), more.begin(), more.end());
}

Status compare(const AgreementInput& in, Agreement& out) {
  const SkewReport skew = compare_software(in);
  for (const Finding& finding : skew.findings) {
    if (finding.severity != Severity::kError) continue;
    return fail(Error{
        "software_skew", finding.text, finding.evidence, {}, finding.remedy});
  }
  take_findings(out, skew.findings);
  return {};
}

// "w-0.job" and "w-0.job.default.svc" in one list: its ranks would be numbered
// twice from 0 and share the first GPUs.
Status tell_apart(const AgreementInput& in) {
  std::map<std::string, const NodeSpec*> seen;
  for (const uint16_t index : in.node_of_host) {
    const NodeSpec& node = in.nodes[index];
    if (node.peer_address.empty() || node.facts.hostname.empty()) continue;
    const auto [first, fresh] =
        seen.try_emplace(node.peer_address + ' ' + node.facts.hostname, &node);
    if (fresh || first->second == &node) continue;
    return fail(Error{
        "same_pod",
        first->second->host + " and " + node.host +
            " are two names of one worker",
        "both lead to " + node.facts.hostname + " at " + node.peer_address,
        {},
        "name it once, with the sum of its slots"});
  }
  return {};
}

void count_slots(const AgreementInput& in, Agreement& out) {
  const auto& hosts = in.discovery->hosts;
  for (size_t i = 0; i < hosts.size(); ++i) {
    SlotsInput slots;
    slots.host = hosts[i].entry.name;
    slots.user = in.options->slots_per_node;
    slots.hostfile = hosts[i].entry.slots_given ? hosts[i].entry.slots : 0;
    slots.hostfile_source =
        in.discovery->hosts_source + ":" + std::to_string(hosts[i].entry.line);
    add_facts(slots, in.nodes[in.node_of_host[i]].facts);
    out.slots.push_back(decide_slots(slots));
    take_findings(out, out.slots.back().findings);
  }
}

std::vector<PlannedHost> planned_hosts(const AgreementInput& in,
                                       const Agreement& out) {
  std::vector<PlannedHost> hosts;
  for (size_t i = 0; i < in.discovery->hosts.size(); ++i) {
    const JobHost& host = in.discovery->hosts[i];
    hosts.push_back({host.entry.name, out.slots[i].slots, host.is_self});
  }
  return hosts;
}

// If /tmp is not writable (a read-only root without a volume there), MPIs and
// programs get the next place that is. A TMPDIR that is already set stays.
void choose_temporary_directory(const NodeFacts& facts, EnvMerge& env) {
  const auto& places = facts.writable;
  if (env.find("TMPDIR") != nullptr || places.empty()) return;
  if (std::find(places.begin(), places.end(), "/tmp") != places.end()) return;
  EnvDecision decision;
  decision.name = "TMPDIR";
  decision.value = places.front();
  decision.reason = "/tmp cannot be written there";
  const auto at =
      std::find_if(env.decisions.begin(), env.decisions.end(),
                   [](const EnvDecision& one) { return one.name > "TMPDIR"; });
  env.decisions.insert(at, std::move(decision));
  set_env(env.to_set, "TMPDIR", places.front());
}

// The launcher's variables that a line leaves to the ranks. Hydra's -genvnone
// and -envnone leave none, -genvlist and -envlist those that they name (which
// the line's own requests have), -genvexcl and -envexcl all but these.
Environment passed_on(const AgreementInput& in) {
  Environment env = in.discovery->env;
  if (!in.discovery->line) return env;
  for (const LineOption& option : in.discovery->line->options) {
    const bool global = option.name.starts_with('g');
    const std::string_view name =
        std::string_view(option.name).substr(global ? 1 : 0);
    if (name == "envnone" || name == "envlist") return {};
    if (name != "envexcl" || option.values.empty()) continue;
    for (const std::string_view excluded : split(option.values[0], ',')) {
      std::erase_if(env, [excluded](const auto& variable) {
        return variable.first == excluded;
      });
    }
  }
  return env;
}

void merge_env(const AgreementInput& in, Agreement& out) {
  const Environment launcher = passed_on(in);
  for (const NodeSpec& node : in.nodes) {
    const Environment own(node.facts.environment.begin(),
                          node.facts.environment.end());
    out.env.push_back(merge_environment(own, launcher, in.options->env));
    choose_temporary_directory(node.facts, out.env.back());
    out.unset.push_back(scrub_list(own));
    // Of a service that is called "master".
    const std::string* port = find_env(own, "MASTER_PORT");
    if (port != nullptr && is_service_link("MASTER_PORT", *port)) {
      out.unset.back().emplace_back("MASTER_PORT");
    }
  }
  if (!out.env.empty()) take_findings(out, out.env.back().findings);
}

Environment visible(const EnvMerge& merge, const AgreementInput& in) {
  Environment env;
  for (const EnvDecision& decision : merge.decisions) {
    env.emplace_back(decision.name, decision.value);
  }
  const auto add = [&env](const std::vector<EnvRequest>& requests) {
    for (const EnvRequest& request : requests) {
      if (request.value) set_env(env, request.name, *request.value);
    }
  };
  if (in.discovery->line) {
    add(in.discovery->line->env);
    for (const MpirunApp& app : in.discovery->line->apps) add(app.env);
  }
  return env;
}

// -x MUSTER_PROFILE=… of single programs of the line, and then of all.
std::vector<std::string> profiles_of_apps(const AgreementInput& in) {
  std::vector<std::string> out;
  if (!in.discovery->line) return out;
  bool any = false;
  for (const MpirunApp& app : in.discovery->line->apps) {
    std::string profile = in.options->profile;
    for (const EnvRequest& request : app.env) {
      if (request.name != "MUSTER_PROFILE" || !request.value) continue;
      profile = *request.value;
      any = true;
    }
    out.push_back((app.argv.empty() ? "program" : app.argv[0]) + "=" + profile);
  }
  return any ? out : std::vector<std::string>{};
}

NetworkWish network_wish(const AgreementInput& in) {
  return {in.options->profile, profiles_of_apps(in), in.site_text, in.site_path,
          in.options->force};
}

// Network settings for the nodes that run ranks. Nodes of --local are this one
// machine, which is looked at once; without a profile that was asked for only
// the user's own variables are checked.
Status choose_fabric(const AgreementInput& in, Agreement& out) {
  const NetworkWish wish = network_wish(in);
  const bool local = in.options->local.has_value();
  std::vector<FabricPod> pods;
  for (const uint16_t node : in.node_of_host) {
    const NodeSpec& spec = in.nodes[node];
    pods.push_back({spec.host, spec.facts.fabric, spec.peer_address,
                    spec.facts.mpi.family, spec.facts.mpi.version,
                    visible(out.env[node], in)});
    // A pod on its node's network has its node's name.
    pods.back().host_network =
        !local && !is_ip_address(spec.host) &&
        first_label(spec.host) != first_label(spec.facts.hostname);
    if (local) break;
  }
  const bool check_only =
      local && wish.profile == "auto" && wish.app_profiles.empty();
  auto fabric = check_only ? check_job_variables(pods, wish)
                           : plan_job_fabric(pods, wish);
  if (!fabric) return fail(fabric.error());
  out.fabric = std::move(*fabric);
  if (!pods.empty()) {
    out.fabric.env.resize(in.node_of_host.size(), out.fabric.env.front());
  }
  for (size_t i = 0; i < in.node_of_host.size(); ++i) {
    std::string names;  // so that a program can tell ours from its user's
    for (const auto& [name, value] : out.fabric.env[i]) {
      set_env(out.env[in.node_of_host[i]].to_set, name, value);
      names += (names.empty() ? "" : " ") + name;
    }
    if (!names.empty()) {
      set_env(out.env[in.node_of_host[i]].to_set, "MUSTER_NETWORK_SETTINGS",
              names);
    }
  }
  take_findings(out, out.fabric.findings);
  return {};
}

MeetingPlace meeting_place(const AgreementInput& in, const Agreement& out) {
  constexpr const char* kUsualPort = "29500";  // torchrun's default
  for (size_t i = 0; i < out.plan.nodes.size(); ++i) {
    if (out.plan.nodes[i].first_rank != 0) continue;
    const uint16_t node = in.node_of_host[i];
    const EnvMerge& env = out.env[node];
    const int free_port = in.nodes[node].meeting_port;
    MeetingPlace place;
    const EnvDecision* const address = env.find("MASTER_ADDR");
    const EnvDecision* const port = env.find("MASTER_PORT");
    // Emulated nodes have names that no resolver knows.
    place.address = address != nullptr  ? address->value
                    : in.options->local ? "127.0.0.1"
                                        : out.plan.nodes[i].name;
    place.port = port != nullptr ? port->value
                 : free_port > 0 ? std::to_string(free_port)
                                 : kUsualPort;
    return place;
  }
  return {};
}

void choose_backend(const AgreementInput& in, Agreement& out) {
  BootstrapInput input;
  input.asked = in.options->bootstrap;
  input.line = in.discovery->line ? &*in.discovery->line : nullptr;
  input.mpirun = in.discovery->mpirun;
  input.mpi = in.nodes[0].facts.mpi;
  input.has_pmix = in.nodes[0].facts.serves_pmix;
  input.uses_sessions = in.uses_sessions;
  input.spawns = in.spawns;
  BootstrapChoice choice = choose_bootstrap(input);
  if (in.options->once) {
    choice = {Bootstrap::kMpirun,
              "the command, run once, starts ranks by itself"};
  }
  out.bootstrap = choice.bootstrap;
  out.bootstrap_reason = std::move(choice.reason);
}

// Has a pod less CPU time than its CPUs could give?
bool quota_limits(const AgreementInput& in) {
  return std::any_of(
      in.node_of_host.begin(), in.node_of_host.end(), [&in](uint16_t node) {
        const NodeFacts& facts = in.nodes[node].facts;
        return facts.cpu_quota > 0 && facts.cpu_quota < facts.cpus_allowed;
      });
}

// The command line's request; a line that starts natively may have one, too.
Result<BindRequest> bind_request(const AgreementInput& in) {
  std::string bind_to = in.options->bind_to;
  if (bind_to.empty() && in.discovery->line) {
    bind_to = native_line(*in.discovery->line).bind_to;
  }
  return parse_bind_request(bind_to, in.options->gpu_bind);
}

// Where the ranks are planned to be; a script's mpirun decides by itself.
Status note_places(const AgreementInput& in, Agreement& out) {
  if (in.options->once) return {};
  std::vector<PlacedRanks> nodes;
  for (size_t i = 0; i < out.plan.nodes.size(); ++i) {
    const uint16_t node = in.node_of_host[i];
    const PlannedNode& planned = out.plan.nodes[i];
    nodes.push_back({planned.name, static_cast<int>(planned.ranks.size()),
                     &in.nodes[node].facts, visible(out.env[node], in)});
  }
  for (Finding& finding : visible_gpu_findings(nodes)) {
    if (auto may = refuse_unless_forced(finding, in.options->force); !may)
      return may;
    out.findings.push_back(std::move(finding));
  }
  take_findings(out, placement_notes(nodes, in.options->local.has_value()));
  take_findings(out, nested_launchers(out.apps, out.plan));
  return {};
}

void bind_ranks(const AgreementInput& in, const BindRequest& asked,
                Agreement& out) {
  MpirunBinding owner;
  owner.request = asked;
  if (out.bootstrap == Bootstrap::kMpirun) {
    owner = mpirun_binding(*in.options, *in.discovery, asked, quota_limits(in));
    take_findings(out, owner.findings);
  }
  std::vector<const NodeFacts*> facts;
  std::vector<Environment> seen;
  for (const uint16_t node : in.node_of_host) {
    facts.push_back(&in.nodes[node].facts);
    seen.push_back(visible(out.env[node], in));
  }
  out.binding = bind_job(owner.request, out.plan, facts, seen);
  out.binding.by_mpi = owner.mpi_binds;
  take_findings(out, binding_findings(out.binding));
}

std::string hostfile_text(const AgreementInput& in, const Agreement& out) {
  std::vector<HostEntry> hosts;
  for (size_t i = 0; i < in.discovery->hosts.size(); ++i) {
    HostEntry host = in.discovery->hosts[i].entry;
    // mpirun knows its own host by what the kernel calls it.
    if (in.discovery->hosts[i].is_self && !in.options->local) {
      host.name = in.discovery->hostname;
    }
    host.slots = out.slots[i].slots;
    host.slots_given = true;
    hosts.push_back(std::move(host));
  }
  return write_hostfile(hosts, out.mpi.launcher == kOpenMpiLauncher
                                   ? HostfileFormat::kOpenMpi
                                   : HostfileFormat::kMpich);
}

// Hydra takes one interface only, and who names it knows why.
bool names_interface(const AgreementInput& in) {
  if (find_env(in.discovery->env, "HYDRA_IFACE") != nullptr) return true;
  return in.discovery->line &&
         std::any_of(in.discovery->line->options.begin(),
                     in.discovery->line->options.end(),
                     [](const LineOption& one) { return one.name == "iface"; });
}

// Whether an MPI that compares addresses takes a worker for this pod.
bool worker_shares_address(const AgreementInput& in) {
  std::set<std::string> own;
  for (const NetInterface& interface : in.nodes[0].facts.interfaces) {
    for (const std::string& address : interface.addresses) {
      own.insert(address.substr(0, address.find('/')));
    }
  }
  return std::any_of(in.nodes.begin() + 1, in.nodes.end(),
                     [&own](const NodeSpec& node) {
                       return own.count(node.peer_address) > 0;
                     });
}

// The variables and options for the image's MPI.
Status settle_mpi(const AgreementInput& in, Agreement& out) {
  const MpiFacts& mpi = in.nodes[0].facts.mpi;
  if (in.discovery->mpirun.empty()) {
    return fail(Error{"exe_not_found",
                      "cannot start through mpirun",
                      "no mpirun is on the launcher's PATH",
                      {},
                      "Install an MPI in the image, or use --bootstrap pmix."});
  }
  MpiSettingsInput settings;
  settings.family = mpi.family;
  settings.agent = in.agent;
  settings.hostfile = out.hostfile_path;
  if (!names_interface(in)) settings.interface = in.interface;
  settings.hosts = static_cast<int>(in.discovery->hosts.size());
  settings.is_root = in.nodes[0].facts.uid == 0;
  settings.called_mpirun = in.options->drop_in;
  settings.shares_address = worker_shares_address(in);
  settings.oversubscribe = in.options->oversubscribe;
  settings.mpi_binds = out.binding.by_mpi;
  settings.passes_named =
      in.discovery->line &&
      std::any_of(
          in.discovery->line->options.begin(),
          in.discovery->line->options.end(), [](const LineOption& option) {
            return option.name.starts_with("genv") && option.name != "genv";
          });
  out.mpi = mpi_settings(settings);
  for (const uint16_t node : in.node_of_host) {
    for (const EnvDecision& decision : out.env[node].decisions) {
      if (decision.name == "PATH") out.search_paths.push_back(decision.value);
    }
  }
  if (out.mpi.launcher != 0) return {};
  if (mpi.silent || mpi.launcher.empty()) {
    return fail(Error{"mpi_silent",
                      "cannot take over " + in.discovery->mpirun + " yet",
                      mpi.silent
                          ? mpi.launcher + " --version did not answer in time"
                          : "the launcher's own pod did not say in time "
                            "which MPI it has",
                      {},
                      "Give the launcher's pod more CPU, or use --bootstrap "
                      "pmix."});
  }
  return fail(Error{"usage",
                    "cannot take over " + in.discovery->mpirun,
                    mpi.family.empty()
                        ? "it did not say which MPI it belongs to"
                        : "its family " + mpi.family + " is unknown",
                    {},
                    "Use --bootstrap pmix, or an image with Open MPI, "
                    "MPICH, MVAPICH2 or Intel MPI."});
}

// The user's names of hosts, and what they are in mpirun's hostfile. `line` has
// them as given, that of the discovery as the operator calls them.
void name_hosts(const AgreementInput& in, const Agreement& out,
                const MpirunLine& line, Replacement& replacement) {
  std::map<std::string, std::pair<std::string, int>> known;
  for (size_t i = 0; i < in.discovery->hosts.size(); ++i) {
    const JobHost& host = in.discovery->hosts[i];
    const std::string& name = host.entry.name;
    known[name] = {host.is_self ? in.discovery->hostname : name,
                   out.slots[i].slots};
    if (host.is_self) replacement.host_names[name] = known[name].first;
  }
  if (!in.discovery->line) return;
  const std::vector<MpirunApp>& apps = in.discovery->line->apps;
  for (size_t i = 0; i < std::min(apps.size(), line.apps.size()); ++i) {
    const auto& given = line.apps[i].hosts;
    for (size_t at = 0; at < given.size() && at < apps[i].hosts.size(); ++at) {
      const auto found = known.find(apps[i].hosts[at].name);
      if (found == known.end()) continue;
      replacement.host_names[given[at].name] = found->second.first;
      replacement.all_slots[given[at].name] = found->second.second;
    }
  }
}

// The user's line, or one for the program, as it is started.
Status plan_line(const AgreementInput& in, const JobSpec& spec,
                 Agreement& out) {
  // Read again as the one launcher that it turned out to be.
  auto line = in.discovery->line ? parse_mpirun_line(in.discovery->line->words,
                                                     out.mpi.launcher)
                                 : line_for_program(*in.options, *in.discovery,
                                                    spec, out.mpi.launcher);
  if (!line) return fail(line.error());
  Replacement replacement;
  replacement.program = in.discovery->mpirun;
  replacement.launcher = out.mpi.launcher;
  replacement.hostfile = out.hostfile_path;
  replacement.options = out.mpi.options;
  const auto add = [&replacement, &out](LineAdditions more) {
    replacement.options.insert(replacement.options.end(), more.options.begin(),
                               more.options.end());
    take_findings(out, more.findings);
  };
  add(stdin_additions(*line, *in.options, out.mpi.launcher));
  if (in.discovery->line) {
    add(additions_to(*line, *in.options, spec, out.mpi.launcher));
    take_findings(out, unknown_findings(*line));
  }
  replacement.wrapper = out.mpi.wrapper;
  name_hosts(in, out, *line, replacement);
  auto rewritten = rewrite_mpirun_line(*line, replacement);
  if (!rewritten) return fail(rewritten.error());
  out.words = std::move(rewritten->words);
  out.called = mpirun_called(
      in.discovery->line
          ? in.options->command[0]
          : in.discovery->mpirun.substr(in.discovery->mpirun.rfind('/') + 1),
      out.words[0], out.mpi.launcher, out.search_paths);
  out.dropped = std::move(rewritten->dropped);
  return {};
}

}  // namespace

SkewReport compare_software(const AgreementInput& in) {
  std::vector<NodeFacts> pods;
  for (const uint16_t node : in.node_of_host) {
    pods.push_back(in.nodes[node].facts);
    pods.back().hostname = in.nodes[node].host;
  }
  // The launcher's image starts the daemons: it counts too, ranks or not.
  if (std::find(in.node_of_host.begin(), in.node_of_host.end(), 0) ==
      in.node_of_host.end()) {
    pods.push_back(in.nodes[0].facts);
    pods.back().hostname = in.nodes[0].host + " (launcher)";
    // No rank loads these there.
    pods.back().nccl_version.clear();
    pods.back().cuda_runtime.clear();
  }
  return compare_pods(pods, in.options->allow_skew);
}

Result<Agreement> agree(const AgreementInput& input) {
  Agreement out;
  if (auto compared = compare(input, out); !compared) {
    return fail(compared.error());
  }
  if (auto apart = tell_apart(input); !apart) return fail(apart.error());
  count_slots(input, out);
  auto spec = job_spec(*input.options, *input.discovery,
                       input.nodes[0].facts.mpi.family);
  if (!spec) return fail(spec.error());
  merge_env(input, out);
  if (auto chosen = choose_fabric(input, out); !chosen) {
    return fail(chosen.error());
  }
  const auto bind = bind_request(input);
  if (!bind) return fail(bind.error());
  choose_backend(input, out);
  if (input.discovery->line) {
    take_findings(out, output_findings(*input.discovery->line, *input.options));
  }
  if (input.options->once) {
    spec->np.reset();
    spec->apps[0].np.reset();
  }
  auto plan = make_plan(*spec, planned_hosts(input, out));
  if (!plan) return fail(plan.error());
  out.plan = std::move(*plan);
  out.apps = spec->apps;
  out.meeting = meeting_place(input, out);
  take_findings(out, out.plan.findings);
  if (!input.options->once) {
    out.expected_ranks = static_cast<int>(out.plan.ranks.size());
  }
  if (auto noted = note_places(input, out); !noted) return fail(noted.error());
  bind_ranks(input, *bind, out);
  if (out.bootstrap == Bootstrap::kMpirun) {
    // Open MPI starts one rank per slot where no number is given.
    const auto& line = input.discovery->line;
    if (line && !line->np && !input.options->np &&
        (spec->in_turns || counts_by_itself(*line))) {
      out.expected_ranks = -1;
    }
    out.hostfile_path = input.run_directory + "/hostfile";
    if (auto settled = settle_mpi(input, out); !settled) {
      return fail(settled.error());
    }
    out.hostfile_text = hostfile_text(input, out);
    if (input.options->once) return out;
    if (auto planned = plan_line(input, *spec, out); !planned) {
      return fail(planned.error());
    }
  }
  return out;
}

}  // namespace muster
