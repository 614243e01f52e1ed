// SPDX-License-Identifier: Apache-2.0
// `muster launch`: options, discovery, one Launch on one loop.
#include <signal.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mesh.h"
#include "diagnosis/book/rule_book.h"
#include "job/exit_codes.h"
#include "job/own_variables.h"
#include "launcher/commands/drop_in.h"
#include "launcher/commands/launch_main.h"
#include "launcher/commands/launch_options.h"
#include "launcher/output/log_choice.h"
#include "launcher/report/failed_discovery.h"
#include "launcher/run/launch.h"

namespace muster {

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
  const LauncherSignals signals = launch_signals();
  block_signals(signals);
  ::signal(SIGPIPE, SIG_IGN);
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
  const auto began = Clock::now();
  int stopped_by = 0;
  auto discovery = discover(options, signals, stopped_by);
  if (!discovery) {
    const Error& error = discovery.error();
    const bool spare = error.code == "spare_launcher";
    if (spare) log::info("{}", error.text());
    const int code =
        spare ? 0 : report_failed_discovery(error, stopped_by, options, began);
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
