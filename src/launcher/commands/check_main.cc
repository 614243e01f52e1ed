// SPDX-License-Identifier: Apache-2.0
// `muster fabric check|bench|mpi|nccl` in a launcher pod: options, discovery,
// one CheckRun on one loop, the report; or a launch of the MPI or NCCL test.
#include <signal.h>
#include <unistd.h>

#include <chrono>

#include "base/fd.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/self_path.h"
#include "fabric/prove/job_check_page.h"
#include "fabric/prove/nccl_choice.h"
#include "job/exit_codes.h"
#include "job/operator_contract.h"
#include "job/pod_view.h"
#include "launcher/commands/check_run.h"
#include "launcher/commands/launch_main.h"
#include "launcher/commands/launch_options.h"
#include "launcher/output/log_choice.h"
#include "launcher/plan/job_fabric.h"

namespace muster {

namespace {

constexpr int kConfiguration = 100;

bool wants_job(const FabricOptions& options) {
  const std::string& command = options.command;
  if (command != "check" && command != "bench" && command != "mpi" &&
      command != "nccl") {
    return false;
  }
  if (!options.peer.empty() || !options.listen.empty()) return false;
  if (!options.launch.empty()) return true;
  return decide_contract(read_pod_view(own_pod_options())).role ==
         Role::kLauncher;
}

// The job's start command.
Result<FabricRequest> request_of(const FabricOptions& fabric,
                                 const LaunchOptions& options) {
  NetworkWish wish{options.profile, fabric.app_profiles, "", options.site_file};
  if (!options.site_file.empty()) {
    auto site = read_file(options.site_file, 1 << 16);
    if (!site) return fail(site.error());
    wish.site_text = std::move(*site);
  }
  return fabric_request(wish);
}

int run(const FabricOptions& fabric, LaunchOptions options) {
  configure_log(options, "");
  auto request = request_of(fabric, options);
  if (!request) {
    log::error("{}", request.error().text());
    return kConfiguration;
  }
  const LauncherSignals heeded = check_signals();
  int stopped_by = 0;
  auto discovery = discover(options, heeded, stopped_by);
  if (!discovery) {
    log::error("{}", discovery.error().text());
    if (stopped_by != 0) return 128 + stopped_by;
    return discovery.error().code == "usage" ? 2 : kConfiguration;
  }
  Loop loop;
  const SignalWatch signals(loop, heeded.ending,
                            [&](const signalfd_siginfo& info) {
                              stopped_by = static_cast<int>(info.ssi_signo);
                              loop.stop();
                            });
  CheckRun check(loop, fabric, std::move(options), std::move(*request),
                 std::move(*discovery));
  const auto began = std::chrono::steady_clock::now();
  double seconds = 0;
  Status started;
  loop.post([&] {
    started = check.start([&] { loop.stop(); });
    if (!started) loop.stop();
  });
  loop.run();
  if (!started) {
    log::error("{}", started.error().text());
    return kConfiguration;
  }
  if (stopped_by != 0) {
    log::error("{} came before the check was done", signal_word(stopped_by));
    return 128 + stopped_by;
  }
  seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began)
          .count();
  const JobCheckReport report = judge_check(check.result());
  const std::string text =
      fabric.json
          ? check_to_json(check.result(), report, seconds)
          : printable_lines(check_to_text(check.result(), report, seconds));
  static_cast<void>(write_all(STDOUT_FILENO, text));
  if (!fabric.report.empty()) {
    const auto written = write_file_atomically(
        fabric.report, check_page(check.result(), report, seconds));
    if (!written) log::warn("{}", written.error().text());
  }
  return report.exit_class;
}

}  // namespace

std::optional<int> job_fabric_main(const std::vector<std::string>& args) {
  if (args.empty()) return std::nullopt;
  const auto fabric = parse_fabric_options(args);
  if (!fabric || !wants_job(*fabric)) return std::nullopt;
  std::vector<std::string> words = fabric->launch;
  if (fabric->connect_timeout.empty()) {
    words.insert(words.end(), {"--connect-timeout", "10s"});
  } else {
    words.insert(words.end(), {"--connect-timeout", fabric->connect_timeout});
  }
  const auto pass = [&words](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  pass("--profile", fabric->profile);
  pass("--site", fabric->site);
  const bool mpi = fabric->command == "mpi";
  words.insert(words.end(), {"--log-level", "warn", "--log-format", "plain"});
  if (mpi) {
    // As many ranks as a job would have, so that its MPI is used as the job
    // uses it; ranks 0 and 1 on different nodes.
    words.insert(words.end(), {"--mpi", "--map-by", "node", "--", self_path(),
                               "fabric", "mpi-rank"});
    if (fabric->json) words.emplace_back("json");
  } else if (fabric->command == "nccl") {
    // A rank per GPU, as the job has them; NCCL needs no MPI.
    words.insert(words.end(), {"--bootstrap", "pmix", "--", self_path(),
                               "fabric", "nccl-rank"});
    const auto more =
        nccl_rank_words({fabric->nccl, fabric->program}, fabric->json);
    words.insert(words.end(), more.begin(), more.end());
  } else {
    words.insert(words.end(), {"--", "true"});
  }
  ParsedOptions parsed = parse_launch_options(words);
  if (parsed.exit_code) return *parsed.exit_code;
  if (mpi || fabric->command == "nccl")
    return launch(std::move(parsed.options));
  ::signal(SIGPIPE, SIG_IGN);
  return run(*fabric, std::move(parsed.options));
}

}  // namespace muster
