// SPDX-License-Identifier: Apache-2.0
#include "cli/help_request.h"

#include <algorithm>

namespace muster {

namespace {

bool has_flag(const OptionHelp& option, const std::string& flag) {
  return std::find(option.flags.begin(), option.flags.end(), flag) !=
         option.flags.end();
}

// "-np" as mpirun writes it is our "--np". nullptr: not one of ours.
const OptionHelp* find_flag(const std::vector<OptionHelp>& options,
                            const std::string& word) {
  for (const OptionHelp& option : options) {
    if (has_flag(option, word) || has_flag(option, "-" + word)) return &option;
  }
  return nullptr;
}

}  // namespace

HelpRequest asks_for_help(const std::vector<OptionHelp>& options,
                          const std::vector<std::string>& args) {
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string& word = args[i];
    if (word == "--" || !word.starts_with('-')) break;
    const size_t equals = word.find('=');
    const OptionHelp* option = find_flag(options, word.substr(0, equals));
    if (word == "--help") return HelpRequest::kPage;
    if (word == "--help-all") return HelpRequest::kAll;
    if (option == nullptr) break;  // the command reports the error
    if (has_flag(*option, "--help")) return HelpRequest::kPage;
    if (!option->value.empty() && equals == std::string::npos) ++i;
  }
  return HelpRequest::kNone;
}

}  // namespace muster
