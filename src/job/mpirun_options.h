// SPDX-License-Identifier: Apache-2.0
// The options of the launchers that muster takes over: name, number of words
// that follow, launchers that know it, meaning. One table, so that the value of
// an option is never taken for the program. Pure; constant data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

// A set of launchers; a name that several share has one bit per launcher.
using LauncherSet = uint8_t;
constexpr LauncherSet kOpenMpiLauncher = 1;    // mpirun, orterun, prterun
constexpr LauncherSet kHydraLauncher = 2;      // MPICH, MVAPICH2 mpiexec.hydra
constexpr LauncherSet kIntelLauncher = 4;      // Hydra's, and more
constexpr LauncherSet kMpirunRshLauncher = 8;  // MVAPICH2 mpirun_rsh
constexpr LauncherSet kHorovodLauncher = 16;
constexpr LauncherSet kAnyLauncher = 31;

enum class OptionMeaning {
  kOther,           // only its values matter; passed on untouched
  kProcesses,       // -np N
  kHostfile,        // file of hosts
  kHosts,           // list of hosts
  kEnv,             // -x NAME[=VALUE], this program
  kEnvPair,         // -env NAME VALUE, this program; also NAME=VALUE
  kGlobalEnvPair,   // -genv NAME VALUE, all programs; also NAME=VALUE
  kEnvNames,        // -envlist A,B, this program
  kGlobalEnvNames,  // -genvlist A,B
  kDirectory,       // working directory of the ranks
  kTimeout,         // seconds
  kMapBy,           // --map-by WHAT
  kPerNode,         // ranks per node
  kOnePerNode,      // -pernode
  kByNode,          // -bynode, -rr
  kOversubscribe,
  kParameter,    // --mca NAME VALUE
  kRemoteShell,  // the way to the nodes: ours to decide
  kRankfile,     // names hosts itself
  kAppFile,      // programs come from a file
  kStdin,
  kTagOutput,
  kAllowRoot,
  kInformation,  // prints something and starts nothing
};

struct OptionRow {
  std::string_view name;  // without dashes; case matters
  int values = 0;         // words that follow
  LauncherSet launchers = 0;
  OptionMeaning meaning = OptionMeaning::kOther;
};

// The row for `name` in the first launcher of `launchers` that knows it;
// nullptr if none does.
const OptionRow* find_option(std::string_view name, LauncherSet launchers);
// Every name that one of `launchers` knows, for "did you mean".
std::vector<std::string> option_names(LauncherSet launchers);

}  // namespace muster
