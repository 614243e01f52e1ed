// SPDX-License-Identifier: Apache-2.0
#include "fabric/fabric_main.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/fd.h"
#include "base/known_files.h"
#include "base/spawn.h"
#include "base/text.h"
#include "fabric/collect/ask_mpi.h"
#include "fabric/collect/collect.h"
#include "fabric/collect/program_libraries.h"
#include "fabric/fabric_options.h"
#include "fabric/facts/facts_json.h"
#include "fabric/facts/nccl_version.h"
#include "fabric/plan_json.h"
#include "fabric/prove/mpi_test.h"
#include "fabric/prove/nccl_choice.h"
#include "fabric/prove/nccl_rank.h"
#include "fabric/prove/pair_test.h"
#include "fabric/prove/peer_protocol.h"
#include "fabric/show.h"
#include "job/skew.h"

namespace muster {

namespace {

constexpr int kUsage = 2;
constexpr int kUnreadable = 100;
constexpr int kRefused = 101;
constexpr size_t kMaxFactsFile = 16 << 20;

void print(const std::string& text) {
  static_cast<void>(write_all(STDOUT_FILENO, text));
}

int complain(const Error& error, int code) {
  static_cast<void>(write_all(STDERR_FILENO, error.text() + "\n"));
  return code;
}

struct Input {
  std::vector<PodFabric> pods;
  FabricRequest request;
  std::vector<std::string> libraries;  // of the program, a sentence each
};

Result<FactsFile> load_facts(const std::string& path) {
  const auto text = read_file(path == "-" ? "/dev/stdin" : path, kMaxFactsFile);
  if (!text) return fail(text.error());
  return read_facts(*text, path);
}

Status load_site(const FabricOptions& options, FabricRequest& request) {
  std::string path = options.site;
  const char* named = std::getenv("MUSTER_FABRIC_SITE");
  if (path.empty() && named != nullptr) path = named;
  if (path.empty()) return {};
  const auto text = read_file(path, 64 * 1024);
  if (!text) return fail(text.error());
  auto site = parse_site_file(*text, path);
  if (!site) return fail(site.error());
  request.site = std::move(*site);
  return {};
}

Status load_profiles(const FabricOptions& options, FabricRequest& request) {
  request.profile_word = options.profile;
  const char* named = std::getenv("MUSTER_PROFILE");
  if (request.profile_word.empty() && named != nullptr) {
    request.profile_word = named;
  }
  const auto profile = parse_profile(request.profile_word);
  if (!profile) return fail(profile.error());
  request.profile = *profile;
  for (const std::string& text : options.app_profiles) {
    auto app = parse_app_profile(text);
    if (!app) return fail(app.error());
    request.apps.push_back(std::move(*app));
  }
  return {};
}

// In a job the agents ask it. Of a recorded machine nothing can be asked.
void add_mpi(PodFabric& pod) {
  KnownFiles nothing;
  const Environment env = current_environment();
  const std::string* path = find_env(env, "PATH");
  MpiFacts mpi = ask_mpi(path != nullptr ? *path : "", "", nothing);
  pod.mpi.family = std::move(mpi.family);
  pod.mpi.version = std::move(mpi.version);
}

// "A : B" of an mpirun line.
std::vector<std::vector<std::string>> programs_of(
    const std::vector<std::string>& words) {
  std::vector<std::vector<std::string>> out(1);
  for (const std::string& word : words) {
    if (word != ":") {
      out.back().push_back(word);
    } else if (!out.back().empty()) {
      out.emplace_back();
    }
  }
  if (out.back().empty()) out.pop_back();
  return out;
}

// Their NCCL counts, not what else is in the image: that of the first that has
// one.
Status add_programs(const FabricOptions& options, Input& input) {
  const Environment env =
      options.sysroot.empty() ? current_environment() : Environment{};
  KnownFiles nothing;
  std::vector<ProgramNccl> nccls;
  for (const auto& program : programs_of(options.program)) {
    const ProgramLibraries own =
        program_libraries(options.sysroot, {program, env, ""}, nothing);
    if (own.program.empty()) {
      return fail({.code = "usage",
                   .what = "-- " + program.front(),
                   .why = "this pod has no such program",
                   .where = {},
                   .hint = "give its path, or correct PATH"});
    }
    for (std::string& line : library_lines(own)) {
      input.libraries.push_back(std::move(line));
    }
    const ProgramLibrary* nccl = own.find("NCCL");
    if (nccl == nullptr || nccl->version.empty()) continue;
    if (nccls.empty()) input.pods.back().nccl_version = nccl->version;
    nccls.push_back({join(program, " "), nccl->version, nccl->path});
  }
  if (const auto differ = nccls_differ(nccls)) {
    input.libraries.push_back(differ->text + "; " + differ->evidence);
  }
  return {};
}

Result<Input> load(const FabricOptions& options) {
  Input input;
  if (Status status = load_profiles(options, input.request); !status) {
    return fail(status.error());
  }
  if (Status status = load_site(options, input.request); !status) {
    return fail(status.error());
  }
  input.request.nccl_version = options.nccl;
  if (!options.nccl.empty() && !parse_nccl_version(options.nccl)) {
    return fail({.code = "usage",
                 .what = "--nccl " + options.nccl,
                 .why = "this is no NCCL version",
                 .where = {},
                 .hint = "write 2.21.5"});
  }
  for (const std::string& path : options.facts) {
    auto file = load_facts(path);
    if (!file) return fail(file.error());
    for (const std::string& note : file->notes) {
      static_cast<void>(write_all(STDERR_FILENO, path + ": " + note + "\n"));
    }
    for (PodFabric& pod : file->pods) input.pods.push_back(std::move(pod));
  }
  if (options.facts.empty()) {
    input.pods.push_back(collect_fabric(options.sysroot));
    if (options.sysroot.empty()) add_mpi(input.pods.back());
    if (Status status = add_programs(options, input); !status) {
      return fail(status.error());
    }
  }
  return input;
}

int show(const FabricOptions& options, const Input& input) {
  if (options.json) {
    print(write_facts(input.pods));
    return 0;
  }
  const FabricPlan plan = plan_fabric(input.pods, input.request);
  for (const std::string& line : input.libraries) print(line + "\n");
  for (const PodFabric& pod : input.pods) print(show_pod(pod));
  print("\n" + explain_plan(plan));
  return 0;
}

int env(const FabricOptions& options, const Input& input) {
  const FabricPlan plan = plan_fabric(input.pods, input.request);
  if (plan.verdict == FabricVerdict::kRefuse) {
    static_cast<void>(write_all(STDERR_FILENO, plan_to_text(plan)));
    return kRefused;
  }
  for (const PodPlan& pod : plan.pods) {
    if (!options.pod.empty() && pod.name != options.pod) continue;
    const bool alike =
        std::all_of(plan.pods.begin(), plan.pods.end(),
                    [&](auto& other) { return other.env() == pod.env(); });
    if (options.pod.empty() && !alike) {
      static_cast<void>(write_all(
          STDERR_FILENO, "these are the settings of " + pod.name +
                             "; other pods have others: --pod NAME\n"));
    }
    for (const auto& [name, value] : pod.env()) {
      print("export " + name + "=" + shell_quote(value) + "\n");
    }
    return 0;
  }
  return complain({.code = "usage",
                   .what = "--pod " + options.pod,
                   .why = "the facts hold no such pod",
                   .where = {},
                   .hint = {}},
                  kUsage);
}

int nccl(const NcclWish& wish, bool json) {
  auto paths = choose_nccl(wish);
  if (!paths) {
    const bool usage = paths.error().code == "usage";
    return complain(paths.error(), usage ? kUsage : kUnreadable);
  }
  NcclRankOptions rank;
  rank.json = json;
  rank.nccl = std::move(*paths);
  return nccl_rank_main(rank);
}

int run(const FabricOptions& options) {
  if (options.command == "check" || options.command == "bench") {
    return pair_main(options);
  }
  if (options.command == "nccl") {  // one rank, alone
    return nccl({options.nccl, options.program}, options.json);
  }
  if (options.command == "mpi") {
    return complain({.code = "usage",
                     .what = "muster fabric mpi",
                     .why = "this pod is not a launcher, so there is no job",
                     .where = {},
                     .hint = "name the hosts: --hostfile, -H, or --local 2x1"},
                    kUsage);
  }
  const auto input = load(options);
  if (!input) {
    const std::string& code = input.error().code;
    const bool usage = code == "usage" || code == "unknown_profile";
    return complain(input.error(), usage ? kUsage : kUnreadable);
  }
  if (options.command == "show") return show(options, *input);
  if (options.command == "env") return env(options, *input);
  const FabricPlan plan = plan_fabric(input->pods, input->request);
  if (options.json) {
    print(plan_to_json(plan));
  } else {
    print(options.command == "plan" ? plan_to_text(plan) : explain_plan(plan));
  }
  return 0;
}

}  // namespace

int fabric_main(const std::vector<std::string>& args) {
  if (!args.empty() && (args[0] == "--help" || args[0] == "-h")) {
    print(fabric_usage());
    return 0;
  }
  // What job-wide tests start in the pods; not for people.
  if (args == std::vector<std::string>{"peer"}) return peer_main();
  if (!args.empty() && args[0] == "mpi-rank") {
    return mpi_rank_main(args.size() > 1 && args[1] == "json");
  }
  if (!args.empty() && args[0] == "nccl-rank") {
    const NcclRankWords rank =
        read_nccl_rank_words({args.begin() + 1, args.end()});
    return nccl(rank.wish, rank.json);
  }
  const auto options = parse_fabric_options(
      args.empty() ? std::vector<std::string>{"show"} : args);
  if (!options) return complain(options.error(), kUsage);
  return run(*options);
}

}  // namespace muster
