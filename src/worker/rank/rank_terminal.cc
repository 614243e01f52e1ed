// SPDX-License-Identifier: Apache-2.0
#include "worker/rank/rank_terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>

namespace muster {

namespace {

std::optional<Pipe> make_terminal(const termios& settings) {
  UniqueFd agent(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!agent || ::unlockpt(agent.get()) != 0) return std::nullopt;
  // By the descriptor: /dev/pts need not be mounted here.
  UniqueFd rank(
      ::ioctl(agent.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!rank || ::tcsetattr(rank.get(), TCSANOW, &settings) != 0) {
    return std::nullopt;
  }
  return Pipe{std::move(agent), std::move(rank)};
}

}  // namespace

Result<Pipe> make_output_like(int model) {
  termios settings{};
  if (::tcgetattr(model, &settings) == 0) {
    if (auto terminal = make_terminal(settings)) return std::move(*terminal);
  }
  return make_pipe();
}

}  // namespace muster
