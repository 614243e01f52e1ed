// SPDX-License-Identifier: Apache-2.0
#include "launcher/model/launcher_signals.h"

#include <signal.h>

#include "base/forwarded_signals.h"
#include "base/ignored_signal.h"
#include "base/log.h"
#include "job/exit_codes.h"

namespace muster {

std::vector<int> LauncherSignals::all() const {
  std::vector<int> out = ending;
  out.insert(out.end(), forwarded.begin(), forwarded.end());
  out.insert(out.end(), terminal.begin(), terminal.end());
  return out;
}

LauncherSignals launch_signals() {
  LauncherSignals out;
  out.ending = {SIGTERM};
  // QUIT is Ctrl-\, and the stop signal of images made for nginx.
  for (const int signal : {SIGINT, SIGHUP, SIGQUIT}) {
    if (!is_ignored(signal)) out.ending.push_back(signal);
  }
  out.forwarded = forwarded_signals();
  out.terminal = {SIGTSTP, SIGTTOU};
  return out;
}

LauncherSignals check_signals() {
  LauncherSignals out = launch_signals();
  for (const int signal : out.forwarded) {
    if (!is_harmless(signal)) out.ending.push_back(signal);
  }
  out.forwarded.clear();
  out.terminal.clear();
  return out;
}

void note_unheard(int signal) {
  log::write(is_harmless(signal) ? log::Level::kDebug : log::Level::kInfo,
             signal_word(signal) + " came, and no rank runs that could get it");
}

void block_signals(const LauncherSignals& signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals.all()) sigaddset(&set, signal);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
}

}  // namespace muster
