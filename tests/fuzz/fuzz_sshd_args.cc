// SPDX-License-Identifier: Apache-2.0
// sshd's command line (one word per line) and sshd_config text.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "sshd-lite/sshd_args.h"

namespace {

void check(const muster::SshdConfig& config) {
  if (config.port && (*config.port < 1 || *config.port > 65535)) std::abort();
  for (const auto& name : config.authorized_keys) {
    const std::string file = muster::resolve_key_file(name, {"/home", "u", 7});
    if (!file.empty() && file[0] != '/') std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // A file that includes itself.
  const auto config =
      muster::parse_sshd_config(text, "fuzz", [text](const std::string& name) {
        return std::vector<muster::ConfigFile>{
            {name, muster::Result<std::string>(std::string(text))}};
      });
  if (config) {
    check(*config);
    (void)muster::unmet_limits(config->limits, {"user", {"group"}, true});
  }
  std::vector<std::string> args;
  for (const auto word : muster::split(text, '\n')) args.emplace_back(word);
  const auto parsed = muster::parse_sshd_args(args);
  if (parsed && config) check(muster::merge(parsed->given, *config));
  return 0;
}
