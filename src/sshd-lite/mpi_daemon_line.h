// SPDX-License-Identifier: Apache-2.0
// Understands the remote command lines with which MPI launchers start their
// daemons: Open MPI 4 (orted), Open MPI 5 (prted), MPICH and MVAPICH
// (hydra_pmi_proxy, pmi_proxy), Intel MPI (hydra_bstrap_proxy). They come with
// shell text in front (`PATH=/x/bin:$PATH ; export PATH ;`, `( test ! -r
// ./.profile || . ./.profile;`). It parses the line into an argv and changes of
// the environment; no shell ever sees it. Refuses: any other program, any shell
// sign outside these shapes. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

// NAME=value, or NAME=value:$NAME where `keeps_old`.
struct EnvChange {
  std::string name;
  std::string value;
  bool keeps_old = false;
};

struct MpiDaemonLine {
  std::vector<std::string> argv;  // argv[0]: a path or a bare name
  std::vector<EnvChange> changes;
};

std::optional<MpiDaemonLine> parse_mpi_daemon_line(std::string_view command);

}  // namespace muster
