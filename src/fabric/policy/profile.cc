// SPDX-License-Identifier: Apache-2.0
#include "fabric/policy/profile.h"

#include "base/text.h"

namespace muster {

namespace {

struct Word {
  const char* word;
  Profile profile;
};

constexpr Word kWords[] = {
    {"auto", Profile::kAuto},      {"tcp", Profile::kTcp},
    {"socket", Profile::kTcp},     {"rdma", Profile::kRdma},
    {"rl", Profile::kRl},          {"ppo", Profile::kRl},
    {"grpo", Profile::kRl},        {"gapo", Profile::kRl},
    {"gspo", Profile::kRl},        {"dapo", Profile::kRl},
    {"rloo", Profile::kRl},        {"reinforce", Profile::kRl},
    {"reinforce++", Profile::kRl}, {"rlhf", Profile::kRl},
};

}  // namespace

std::string_view profile_name(Profile profile) {
  switch (profile) {
    case Profile::kAuto:
      return "auto";
    case Profile::kTcp:
      return "tcp";
    case Profile::kRdma:
      return "rdma";
    case Profile::kRl:
      return "rl";
  }
  return "";
}

Result<Profile> parse_profile(std::string_view word) {
  const std::string lower = to_lower(trim(word));
  if (lower.empty()) return Profile::kAuto;
  std::vector<std::string> words;
  for (const Word& known : kWords) {
    if (lower == known.word) return known.profile;
    words.emplace_back(known.word);
  }
  const auto meant = nearest(lower, words);
  return fail({.code = "unknown_profile",
               .what = "\"" + std::string(word.substr(0, 40)) +
                       "\" is not a fabric profile",
               .why = "known are auto, tcp, rdma and rl (also ppo, grpo, gapo "
                      "and the like)",
               .where = {},
               .hint = meant ? "did you mean " + *meant + "?" : ""});
}

Result<AppProfile> parse_app_profile(std::string_view text) {
  const size_t equals = text.rfind('=');
  if (equals == text.npos || equals == 0) {
    return fail({.code = "usage",
                 .what = "\"" + std::string(text.substr(0, 40)) +
                         "\" is not an application's profile",
                 .why = "it has no name before a =",
                 .where = {},
                 .hint = "write trainer=auto"});
  }
  const auto profile = parse_profile(text.substr(equals + 1));
  if (!profile) return fail(profile.error());
  return AppProfile{std::string(text.substr(0, equals)), *profile};
}

}  // namespace muster
