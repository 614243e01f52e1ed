// SPDX-License-Identifier: Apache-2.0
// `muster launch`: options, discovery, one Launch on one loop.
#include <signal.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mesh.h"
#include "diagnosis/book/rule_book.h"
#include "job/exit_codes.h"
#include "job/own_variables.h"
#include "job/termination_message.h"
#include "launcher/drop_in.h"
#include "launcher/launch.h"
#include "launcher/output/log_choice.h"

namespace muster {

namespace {

// Kept blocked until the loop's SignalWatch takes them over.
void block_stop_signals() {
  sigset_t stop;
  sigemptyset(&stop);
  for (const int signal : {SIGTERM, SIGINT}) sigaddset(&stop, signal);
  ::sigprocmask(SIG_BLOCK, &stop, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

int discovery_exit(const Error& error, const std::string& termination_log) {
  if (error.code == "spare_launcher") {
    log::info("{}", error.text());
    return 0;
  }
  log::error("{}", error.text());
  write_termination_message(termination_log,
                            "muster launch: " + error.text() + "\n");
  if (error.code == "stopped") return 128 + SIGTERM;
  if (error.code == "interrupted") return 128 + SIGINT;
  if (error.code == "preempted") return exit_code_for(ExitClass::kPreempted);
  if (error.code == "usage") return exit_code_for(ExitClass::kUsage);
  if (error.code == "exe_not_found") return exit_code_for(ExitClass::kNotFound);
  if (error.code == "hostfile_empty") {
    return exit_code_for(ExitClass::kWorkersNotReady);
  }
  return exit_code_for(ExitClass::kConfiguration);
}

}  // namespace

int launch_main(const std::vector<std::string>& args) {
  ParsedOptions parsed = parse_launch_options(args);
  if (parsed.exit_code) return *parsed.exit_code;
  if (parsed.options.is_line) {
    const auto printed = print_information(parsed.options.command);
    if (printed) return *printed;
  }
  return launch(std::move(parsed.options));
}

int launch(LaunchOptions options) {
  block_stop_signals();
  raise_descriptor_limit();
  configure_log(options, "");
  for (const auto& sentence : misspelled_variables(current_environment())) {
    log::warn("{}", sentence);
  }
  if (!options.rules_directory.empty()) {
    const auto rules = RuleBook::with_directory(options.rules_directory);
    if (!rules) {
      log::error("{}", rules.error().text());
      return exit_code_for(ExitClass::kUsage);
    }
  }
  const Mesh mesh = mesh_of(options.mesh);
  auto discovery = discover(options);
  if (!discovery) {
    const int code = discovery_exit(discovery.error(), options.termination_log);
    mesh_quit(mesh);
    return code;
  }
  configure_log(options, discovery->hostname);
  Loop loop;
  Launch launch(loop, std::move(options), std::move(*discovery));
  loop.post([&launch] { launch.start(); });
  loop.run();
  mesh_quit(mesh);
  return launch.exit_code();
}

}  // namespace muster
