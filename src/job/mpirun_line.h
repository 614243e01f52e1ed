// SPDX-License-Identifier: Apache-2.0
// Parses a user's mpirun, mpiexec, mpirun_rsh or horovodrun command line:
// options with their values, programs, hosts, environment. Keeps the words
// themselves, so that a rewritten line differs only where it must. Refuses:
// lines without a program, impossible values (np 0). Pure; reads no file that
// the line names.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "job/env_request.h"
#include "job/hostfile.h"
#include "job/mpirun_options.h"

namespace muster {

struct LineOption {
  std::string name;  // without dashes
  OptionMeaning meaning = OptionMeaning::kOther;
  std::vector<std::string> values;
  size_t at = 0;     // index of its first word in MpirunLine::words
  size_t count = 1;  // words it takes
};

// One of Open MPI's parameters, without OMPI_MCA_.
struct MpiParameter {
  std::string name;
  std::string value;
  std::string source;  // "OMPI_MCA_x=1", "FILE:LINE"; empty: the line's --mca
};

struct UnknownOption {
  std::string word;
  size_t at = 0;
  std::string nearest;  // "--bind-to"; empty: no similar one
};

struct MpirunApp {
  std::vector<std::string> argv;  // program and its arguments
  size_t program_at = 0;          // index of the program in `words`
  std::optional<int> np;
  std::vector<EnvRequest> env;   // of this program only
  std::string directory;         // empty: not given
  std::vector<HostEntry> hosts;  // its own -H list
};

struct MpirunLine {
  std::vector<std::string> words;  // the line as given, words[0] included
  LauncherSet launchers = 0;       // those that accept this line
  std::vector<MpirunApp> apps;     // empty: information, or an app file
  std::vector<LineOption> options;
  std::vector<UnknownOption> unknown;
  std::optional<int> np;        // of all apps; nullopt: one gave none
  std::vector<EnvRequest> env;  // -genv: of every program
  std::vector<std::string> hostfiles;
  std::vector<HostEntry> hosts;  // -hosts, or -H of a line with one program
  std::string map_by;
  std::optional<int> per_node;  // -N, -ppn, -pernode, ppr:N:node
  std::optional<int64_t> timeout_s;
  std::string stdin_target;  // "0", "all", "none"; empty: not given
  std::string app_file;
  std::string rankfile;
  bool by_node = false;
  bool oversubscribe = false;
  bool tag_output = false;
  bool information = false;  // --version, --help: starts nothing
  // From variables and files, those that map ranks: apply_parameters() fills
  // it.
  std::vector<MpiParameter> parameters;
};

// `words[0]` is the launcher as called; its base name narrows `launchers`, the
// set that the caller knows the image to have. Errors: "usage", with the
// position of the word.
Result<MpirunLine> parse_mpirun_line(std::vector<std::string> words,
                                     LauncherSet launchers = kAnyLauncher);

// Whether the option's hosts are those of all programs, wherever it stands:
// `-hosts`, and for Hydra `-host` as well. It takes one of them, and not beside
// a hostfile. For Intel MPI `-host` belongs to one program.
bool names_all_hosts(const LineOption& option, LauncherSet launchers);

// The launchers with this program name.
LauncherSet launchers_by_name(std::string_view program);

}  // namespace muster
