// SPDX-License-Identifier: Apache-2.0
#include "worker/rank/relay_arguments.h"

#include <string_view>

#include "base/text.h"

namespace muster {

namespace {

// ssh(1): these take a value, in the same word or the next.
constexpr std::string_view kWithValue = "BbcEeFIiJlmOopPQRSDLWw";
constexpr std::string_view kFlags = "1246AaCgGKkMnqsTtVvXxYy";
// They ask for something that a relayed command does not have.
constexpr std::string_view kRefused = "DLRWwNfOQ";

tl::unexpected<Error> usage(const std::string& why) {
  return fail(Error{"usage",
                    "muster ssh",
                    why,
                    {},
                    "usage: muster ssh [ssh options] HOST COMMAND…"});
}

// Takes the options at args[at]; leaves `at` behind them.
Status take_options(const std::vector<std::string>& args, size_t& at,
                    RelayArguments& out) {
  for (; at < args.size(); ++at) {
    const std::string& word = args[at];
    if (word == "--") {
      ++at;
      return {};
    }
    if (word.size() < 2 || word[0] != '-') return {};
    for (size_t i = 1; i < word.size(); ++i) {
      const char option = word[i];
      if (kRefused.find(option) != kRefused.npos) {
        return usage(std::string("-") + option +
                     " is not possible here: commands run over the "
                     "launcher's channel, which carries nothing else");
      }
      if (option == 'n') out.no_stdin = true;
      if (kFlags.find(option) != kFlags.npos) continue;
      if (kWithValue.find(option) == kWithValue.npos) {
        return usage(std::string("unknown option -") + option);
      }
      if (i + 1 == word.size() && ++at == args.size()) {
        return usage(std::string("option -") + option + " needs a value");
      }
      break;  // the rest of the word, or the next word, was its value
    }
  }
  return {};
}

}  // namespace

Result<RelayArguments> parse_relay_arguments(
    const std::vector<std::string>& args) {
  RelayArguments out;
  size_t at = 0;
  if (auto taken = take_options(args, at, out); !taken) {
    return tl::unexpected(taken.error());
  }
  if (at == args.size()) return usage("no host given");
  out.host = args[at++];
  const size_t user_end = out.host.rfind('@');
  if (user_end != std::string::npos) out.host.erase(0, user_end + 1);
  if (out.host.empty()) return usage("the host name is empty");
  // ssh also takes options between host and command.
  if (auto taken = take_options(args, at, out); !taken) {
    return tl::unexpected(taken.error());
  }
  const auto first = args.begin() + static_cast<std::ptrdiff_t>(at);
  out.command = join(std::vector<std::string>(first, args.end()), " ");
  if (trim(out.command).empty()) {
    return usage("no command given, and there are no interactive shells");
  }
  return out;
}

}  // namespace muster
