// SPDX-License-Identifier: Apache-2.0
#include "sshd-lite/signal_names.h"

#include <signal.h>

#include <array>

#include "base/text.h"

namespace muster {

namespace {

struct Name {
  int number;
  std::string_view name;
  bool in_rfc;
};

constexpr std::array<Name, 18> kNames = {{{SIGABRT, "ABRT", true},
                                          {SIGALRM, "ALRM", true},
                                          {SIGFPE, "FPE", true},
                                          {SIGHUP, "HUP", true},
                                          {SIGILL, "ILL", true},
                                          {SIGINT, "INT", true},
                                          {SIGKILL, "KILL", true},
                                          {SIGPIPE, "PIPE", true},
                                          {SIGQUIT, "QUIT", true},
                                          {SIGSEGV, "SEGV", true},
                                          {SIGTERM, "TERM", true},
                                          {SIGUSR1, "USR1", true},
                                          {SIGUSR2, "USR2", true},
                                          {SIGBUS, "BUS", false},
                                          {SIGSYS, "SYS", false},
                                          {SIGTRAP, "TRAP", false},
                                          {SIGXCPU, "XCPU", false},
                                          {SIGXFSZ, "XFSZ", false}}};
constexpr std::string_view kOurs = "@muster";

}  // namespace

std::string ssh_signal_name(int signal) {
  for (const Name& known : kNames) {
    if (known.number != signal) continue;
    std::string out(known.name);
    if (!known.in_rfc) out += kOurs;
    return out;
  }
  return std::to_string(signal) + std::string(kOurs);
}

int ssh_signal_number(std::string_view name) {
  name = name.substr(0, name.find('@'));
  for (const Name& known : kNames) {
    if (known.name == name) return known.number;
  }
  const auto number = parse_integer(name);
  return number && *number > 0 && *number < NSIG ? static_cast<int>(*number)
                                                 : 0;
}

}  // namespace muster
