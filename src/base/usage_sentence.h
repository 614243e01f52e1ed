// SPDX-License-Identifier: Apache-2.0
// The error of a wrong command line, for every command: one sentence, and where
// to look. For CLI::App::failure_message; needs CLI11's header before it.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

namespace muster {

// " (set by MUSTER_TIMEOUT)", if the option that `problem` names first has its
// value from there: a manifest holds it, and the command line does not.
inline std::string set_by(const CLI::App& app, const std::string& problem) {
  const size_t begin = problem.find("--");
  if (begin == std::string::npos) return {};
  const std::string name =
      problem.substr(begin, problem.find_first_of(": ", begin) - begin);
  const CLI::Option* option = app.get_option_no_throw(name);
  if (option == nullptr || option->get_envname().empty()) return {};
  const char* const value = std::getenv(option->get_envname().c_str());
  if (value == nullptr || *value == '\0' ||
      problem.find(value, begin + name.size()) == std::string::npos) {
    return {};
  }
  return " (set by " + option->get_envname() + ")";
}

inline std::string usage_sentence(const CLI::App* app,
                                  const CLI::Error& error) {
  std::string problem = error.what();
  // "--np: 1 required INT:INT from 1 to 1048576 missing"
  if (problem.find(": 1 required ") != std::string::npos) {
    problem = problem.substr(0, problem.find(':')) + " needs a value";
  }
  if (problem.find(": At Most 1 required") != std::string::npos) {
    problem = problem.substr(0, problem.find(':')) + " is given twice";
  }
  // CLI11 lists them last first, an option behind its value.
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    const std::vector<std::string> extra = app->remaining();
    if (!extra.empty()) {
      problem = extra[0].starts_with('-') ? "unknown option " + extra[0]
                                          : "'" + extra[0] + "' is too much";
    }
  }
  return app->get_name() + ": " + problem + set_by(*app, problem) + ". See `" +
         app->get_name() + " --help`.\n";
}

}  // namespace muster
