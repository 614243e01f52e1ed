// SPDX-License-Identifier: Apache-2.0
// The options of `muster launch` as the command line's parser needs them, and
// their values as text until they are checked.
#pragma once

#include <string>
#include <vector>

#include "launcher/options/options.h"

namespace CLI {
class App;
}

namespace muster {

// The options as text, before they are checked.
struct OptionWords {
  std::vector<std::string> env;
  std::string local;
  std::string transport = "ssh";
  std::string bootstrap = "auto";
  std::string stdin_mode = "0";
  std::string connect_timeout;
  std::string start_timeout;
  std::string timeout;
  std::string heartbeat;
  std::string silence;
  std::string grace;
  std::string output = "text";
  std::string overflow = "block";
  std::string hang_timeout;
  std::string hang_action = "warn";
  std::string hang_signal;
  std::string exception_timeout;
  std::string timeout_action = "stop";
  std::string timeout_signal;
  std::string hold;
  int np = 0;
};

// Declares every option with its help, variable and set of words. Both
// `options` and `words` must live until `app` has parsed.
void declare_options(CLI::App& app, LaunchOptions& options, OptionWords& words);

}  // namespace muster
