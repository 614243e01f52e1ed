// SPDX-License-Identifier: Apache-2.0
// The common part of the commands that use CLI11: --help prints a page whatever
// the variables hold, a service link is not a value, numbers are decimal, and a
// wrong line gives one sentence. CLI11's header comes before.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "base/service_link.h"
#include "base/text.h"
#include "base/usage_sentence.h"

namespace muster {

// Decimal, unlike CLI11's own numbers, to which 010 is 8: a script that pads
// with zeros would get fewer ranks than it asks for.
inline CLI::Validator whole_number(int64_t least, int64_t most) {
  const std::string range =
      std::to_string(least) + " to " + std::to_string(most);
  return {[least, most, range](std::string& text) -> std::string {
            const auto number = parse_integer(trim(text));
            if (!number || *number < least || *number > most) {
              return "'" + text + "' is not a whole number from " + range;
            }
            text = std::to_string(*number);
            return {};
          },
          "INT from " + range, "whole number"};
}

// A Service named "muster" gives each pod MUSTER_PORT=tcp://10.0.0.1:80, one
// named "muster-metrics" MUSTER_METRICS_PORT: the user chose neither port.
inline void drop_service_links(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_envname();
    const char* const value =
        name.empty() ? nullptr : std::getenv(name.c_str());
    if (value != nullptr && is_link_url(value)) ::unsetenv(name.c_str());
  }
}

// An exit code if nothing is left to do: the user asked for help, or the line
// is wrong.
inline std::optional<int> read_command_line(
    CLI::App& app, const std::vector<std::string>& args) {
  constexpr int kUsageExit = 2;
  app.failure_message(usage_sentence);
  // CLI11 reads the variables first, and would complain about them instead.
  if (args == std::vector<std::string>{"--help"}) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  }
  drop_service_links(app);
  try {
    app.parse(std::vector<std::string>(args.rbegin(), args.rend()));
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsageExit;
  }
  return std::nullopt;
}

}  // namespace muster
