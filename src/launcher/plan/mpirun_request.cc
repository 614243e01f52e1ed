// SPDX-License-Identifier: Apache-2.0
#include "launcher/plan/mpirun_request.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"
#include "job/line_placement.h"
#include "job/output_files.h"

namespace muster {

namespace {

using Words = std::vector<std::string>;

Words count_words(int np) { return {"-n", std::to_string(np)}; }

Words mapping_words(const JobSpec& spec, LauncherSet launcher) {
  const bool open_mpi = launcher == kOpenMpiLauncher;
  const std::string count = std::to_string(spec.per_node);
  switch (spec.map_by) {
    case MapBy::kPerNode:
      return open_mpi ? Words{"--map-by", "ppr:" + count + ":node"}
                      : Words{"-ppn", count};
    case MapBy::kNode:
      return open_mpi ? Words{"--map-by", "node"} : Words{"-ppn", "1"};
    case MapBy::kSlot:
      break;
  }
  return {};
}

void append(Words& words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
}

Finding left_out(const std::string& option, const std::string& own) {
  return {Severity::kWarning, "option_left_out",
          option + " is left out: the mpirun line has its own " + own, "",
          "take one of the two away"};
}

// Of --output-filename DIR: where the files are, and how they are called.
Finding files_are_ours(const MpirunLine& line, const LineOption& option,
                       const OutputFiles& files, const LaunchOptions& options) {
  const std::string& directory =
      options.log_directory.empty() ? files.directory : options.log_directory;
  return {Severity::kInfo, "output_files",
          line.words[option.at] + " " + option.values[0] +
              ": the ranks' output is in the launcher's pod, in " + directory +
              "/rank-N.out and rank-N.err" +
              (files.only ? ", and not shown here" : ""),
          "", ""};
}

}  // namespace

MpirunBinding mpirun_binding(const LaunchOptions& options,
                             const Discovery& discovery,
                             const BindRequest& asked, bool quota) {
  MpirunBinding out;
  out.request = asked;
  const MpirunLine* line = discovery.line ? &*discovery.line : nullptr;
  const std::string own = own_binding(line, discovery.env);
  if (own.empty()) {
    // Unless told, mpirun binds by itself. For a program by itself our default
    // is not to; a line keeps mpirun's default, except under a quota, which
    // turns binding into waiting.
    const bool has_lines = line != nullptr || options.once;
    out.mpi_binds = options.bind_to.empty() && has_lines && !quota;
    return out;
  }
  out.mpi_binds = true;
  out.request.to = BindTo::kNone;
  if (!options.bind_to.empty()) {
    out.findings.push_back({Severity::kWarning, "option_left_out",
                            "--bind-to " + options.bind_to +
                                " is left out: the MPI is told to bind by " +
                                own,
                            "", "take one of the two away"});
  }
  return out;
}

Result<MpirunLine> line_for_program(const LaunchOptions& options,
                                    const Discovery& discovery,
                                    const JobSpec& spec, LauncherSet launcher) {
  Words words = {discovery.mpirun};
  if (spec.np) append(words, count_words(*spec.np));
  append(words, mapping_words(spec, launcher));
  const std::string& cwd = spec.apps[0].cwd;
  if (!cwd.empty()) append(words, {"-wdir", cwd});
  append(words, options.command);
  return parse_mpirun_line(std::move(words), launcher);
}

std::string mpirun_called(const std::string& word, const std::string& program,
                          LauncherSet launcher,
                          const std::vector<std::string>& search_paths) {
  if (word.find('/') != std::string::npos) return word;
  if (launcher != kOpenMpiLauncher) return program;
  const std::string directory = program.substr(0, program.rfind('/'));
  // "/bin/mpirun" has no prefix to give: Open MPI ends at it.
  if (directory.rfind('/') == 0) return word;
  const auto has_it = [&directory](const std::string& search_path) {
    for (std::string_view part : split(search_path, ':')) {
      while (part.size() > 1 && part.back() == '/') part.remove_suffix(1);
      if (part == directory) return true;
    }
    return false;
  };
  return std::all_of(search_paths.begin(), search_paths.end(), has_it)
             ? word
             : program;
}

std::vector<Finding> unknown_findings(const MpirunLine& line) {
  std::vector<Finding> out;
  for (const UnknownOption& option : line.unknown) {
    out.push_back({Severity::kWarning, "option_unknown",
                   option.word + " is an option that muster does not know, so "
                                 "it took it to have no value",
                   "",
                   option.nearest.empty() ? "check its spelling"
                                          : "is it " + option.nearest + "?"});
  }
  return out;
}

std::vector<Finding> output_findings(const MpirunLine& line,
                                     const LaunchOptions& options) {
  static constexpr std::array<std::string_view, 10> kFiles = {
      "output-filename", "output-directory",
      "outfile-pattern", "errfile-pattern",
      "outfile",         "errfile",
      "output",          "xml",
      "xml-file",        "prepend-pattern"};
  std::vector<Finding> out;
  for (const LineOption& option : line.options) {
    const OutputFiles files = output_files(line, option);
    if (!files.directory.empty()) {
      out.push_back(files_are_ours(line, option, files, options));
      if (!files.more) continue;
    }
    const bool labels = files.more || option.name == "timestamp-output" ||
                        option.name == "merge-stderr-to-stdout";
    if (!labels &&
        std::find(kFiles.begin(), kFiles.end(), option.name) == kFiles.end()) {
      continue;
    }
    out.push_back({Severity::kWarning, "option_left_out",
                   line.words[option.at] +
                       (files.directory.empty() ? "" : " " + option.values[0]) +
                       (files.directory.empty() ? " has no effect"
                                                : " has no other effect") +
                       ": the ranks' output goes to muster, not through mpirun",
                   "",
                   labels ? "--log-format text or json labels each line"
                          : "--log-dir DIR writes a file of each rank"});
  }
  return out;
}

LineAdditions additions_to(const MpirunLine& line, const LaunchOptions& options,
                           const JobSpec& spec, LauncherSet launcher) {
  LineAdditions out;
  const bool one = line.apps.size() == 1;
  if (options.np && (line.np || !one)) {
    if (line.np != options.np) {
      out.findings.push_back(left_out("-n " + std::to_string(*options.np),
                                      one ? "-np" : "numbers of ranks"));
    }
  } else if (options.np) {
    append(out.options, count_words(*options.np));
  }
  const std::string mapping = own_mapping(line);
  if (!options.map_by.empty() && !mapping.empty()) {
    out.findings.push_back(left_out("--map-by " + options.map_by, mapping));
  } else if (!options.map_by.empty()) {
    append(out.options, mapping_words(spec, launcher));
  }
  if (!options.cwd.empty() && (!one || !line.apps[0].directory.empty())) {
    out.findings.push_back(
        left_out("--wdir " + options.cwd, one ? "-wdir" : "programs"));
  } else if (!options.cwd.empty()) {
    append(out.options, {"-wdir", options.cwd});
  }
  return out;
}

LineAdditions stdin_additions(const MpirunLine& line,
                              const LaunchOptions& options,
                              LauncherSet launcher) {
  LineAdditions out;
  if (options.stdin_mode != StdinMode::kAll || !line.stdin_target.empty()) {
    return out;
  }
  if (launcher == kOpenMpiLauncher) {
    out.options = {"--stdin", "all"};
  } else if (launcher == kIntelLauncher) {
    out.options = {"-s", "all"};
  } else {
    out.findings.push_back(
        {Severity::kWarning, "option_left_out",
         "--stdin all is left out: this mpirun gives stdin to rank 0 only", "",
         "start with --bootstrap pmix"});
  }
  return out;
}

}  // namespace muster
