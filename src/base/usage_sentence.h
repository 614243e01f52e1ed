// SPDX-License-Identifier: Apache-2.0
// How every command says that its command line is wrong: one sentence, and
// where to look. For CLI::App::failure_message; needs CLI11's header before it.
#pragma once

#include <string>

namespace muster {

inline std::string usage_sentence(const CLI::App* app,
                                  const CLI::Error& error) {
  return app->get_name() + ": " + error.what() + ". See " + app->get_name() +
         " --help.\n";
}

}  // namespace muster
