// SPDX-License-Identifier: Apache-2.0
// One pass over the words. The set of possible launchers of the line shrinks
// with every option that only some of them have. An option that none knows
// counts as one without a value, and is reported: the caller must not rely on
// where the program starts then. Pure.
#include "job/mpirun_line.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace muster {

namespace {

tl::unexpected<Error> usage(const MpirunLine& line, size_t at, std::string why,
                            std::string hint = {}) {
  const std::string place = at < line.words.size()
                                ? "word " + std::to_string(at) + " (" +
                                      shell_quote(line.words[at]) + ")"
                                : "the end";
  return fail(Error{
      "usage",
      "could not understand " + place + " of the " + line.words[0] + " line",
      std::move(why),
      {},
      std::move(hint)});
}

EnvRequest env_request(std::string_view text) {
  const size_t equals = text.find('=');
  EnvRequest request;
  request.name = std::string(text.substr(0, equals));
  if (equals != std::string_view::npos) {
    request.value = std::string(text.substr(equals + 1));
  }
  return request;
}

bool is_assignment(std::string_view word) {
  const size_t equals = word.find('=');
  if (equals == 0 || equals == std::string_view::npos) return false;
  return word.substr(0, equals).find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
             "0123456789_") == std::string_view::npos;
}

// "ppr:8:node", "ppr:8:node:PE=4", "ppr:2:socket"; `map_by` in lower case.
struct RanksPer {
  std::optional<int> count;  // null: not a number of ranks
  bool node = false;         // … of a node
};
std::optional<RanksPer> ranks_per_resource(std::string_view map_by) {
  const std::vector<std::string_view> parts = split(map_by, ':');
  if (parts.size() < 3 || parts[0] != "ppr") return std::nullopt;
  RanksPer out;
  out.node = parts[2] == "node";
  const auto count = parse_integer(parts[1]);
  if (count && *count >= 1 && *count <= kMaxSlots) {
    out.count = static_cast<int>(*count);
  }
  return out;
}

// `map_by` in lower case.
bool has_modifier(std::string_view map_by, std::string_view modifier) {
  const std::vector<std::string_view> parts = split(map_by, ':');
  return std::find(parts.begin(), parts.end(), modifier) != parts.end();
}

class Parser {
 public:
  Parser(std::vector<std::string> words, LauncherSet launchers) {
    line_.words = std::move(words);
    line_.launchers = launchers;
  }

  Result<MpirunLine> parse() {
    if (line_.words.empty()) {
      return fail(Error{"usage", "the command line is empty", {}, {}, {}});
    }
    const LauncherSet named = launchers_by_name(line_.words[0]);
    if ((named & line_.launchers) != 0) line_.launchers &= named;
    while (at_ < line_.words.size()) {
      if (Status status = parse_app(); !status) return fail(status.error());
    }
    if (Status status = finish(); !status) return fail(status.error());
    return std::move(line_);
  }

 private:
  // The options, program and arguments up to a ":" or the end.
  Status parse_app() {
    app_ = MpirunApp();
    host_list_.clear();
    bool options_ended = false;
    while (at_ < line_.words.size() && line_.words[at_] != ":") {
      const std::string& word = line_.words[at_];
      if (word == "--") {
        ++at_;
        options_ended = true;
        break;
      }
      if (word.size() < 2 || word[0] != '-') break;
      if (Status status = parse_option(); !status) return status;
    }
    if (!options_ended) take_mpirun_rsh_words();
    if (at_ < line_.words.size() && line_.words[at_] != ":") {
      app_.program_at = at_;
      while (at_ < line_.words.size() && !ends_app(line_.words[at_])) {
        app_.argv.push_back(line_.words[at_++]);
      }
    }
    if (app_.argv.empty() && !may_lack_program()) {
      return usage(line_, at_, "a program should stand here",
                   "Write the program after the options.");
    }
    if (!app_.argv.empty()) line_.apps.push_back(std::move(app_));
    if (at_ < line_.words.size()) return skip_colon();
    return {};
  }

  // Only Open MPI and Hydra have ":"; elsewhere it is an argument.
  [[nodiscard]] bool ends_app(const std::string& word) const {
    return word == ":" &&
           (line_.launchers &
            (kOpenMpiLauncher | kHydraLauncher | kIntelLauncher)) != 0;
  }

  // Open MPI takes a colon without a program for nothing; Hydra crashes at it.
  Status skip_colon() {
    ++at_;
    const bool open_mpi = (line_.launchers & kOpenMpiLauncher) != 0;
    while (open_mpi && at_ < line_.words.size() && line_.words[at_] == ":") {
      ++at_;
    }
    if (at_ == line_.words.size() && !open_mpi) {
      return usage(line_, at_ - 1, "no program follows the colon");
    }
    return {};
  }

  [[nodiscard]] bool may_lack_program() const {
    return line_.information || !line_.app_file.empty();
  }

  Status parse_option() {
    const size_t first = at_;
    const std::string& word = line_.words[at_];
    std::string_view name = word;
    name.remove_prefix(name.starts_with("--") ? 2 : 1);
    std::optional<std::string_view> attached;
    const OptionRow* row = find_option(name, line_.launchers);
    if (row == nullptr) {
      const size_t equals = name.find('=');
      if (equals != std::string_view::npos) {
        row = find_option(name.substr(0, equals), line_.launchers);
        if (row != nullptr && row->values == 0) row = nullptr;
        if (row != nullptr) attached = name.substr(equals + 1);
      }
    }
    ++at_;
    if (row == nullptr) return note_unknown(first, name);
    line_.launchers &= row->launchers;
    LineOption option;
    option.name = std::string(row->name);
    option.meaning = row->meaning;
    option.at = first;
    if (attached) option.values.emplace_back(*attached);
    if (Status status = take_values(*row, option); !status) return status;
    option.count = at_ - first;
    Status status = apply(option);
    line_.options.push_back(std::move(option));
    return status;
  }

  Status take_values(const OptionRow& row, LineOption& option) {
    const bool pair = row.meaning == OptionMeaning::kEnvPair ||
                      row.meaning == OptionMeaning::kGlobalEnvPair;
    while (option.values.size() < static_cast<size_t>(row.values)) {
      // Hydra takes "-genv A=b" as well as "-genv A b".
      if (pair && option.values.size() == 1 &&
          option.values[0].find('=') != std::string::npos) {
        return {};
      }
      if (at_ == line_.words.size()) {
        return usage(line_, option.at, "its value is missing");
      }
      option.values.push_back(line_.words[at_++]);
    }
    return {};
  }

  Status note_unknown(size_t at, std::string_view name) {
    UnknownOption unknown;
    unknown.word = line_.words[at];
    unknown.at = at;
    // A longer option is not a typo, and comparing costs its square.
    constexpr size_t kLongestName = 48;
    constexpr size_t kMostGuesses = 8;
    const bool guess =
        name.size() <= kLongestName && line_.unknown.size() < kMostGuesses;
    const auto near =
        guess ? nearest(name, option_names(line_.launchers)) : std::nullopt;
    if (near) unknown.nearest = (near->size() == 1 ? "-" : "--") + *near;
    line_.unknown.push_back(std::move(unknown));
    return {};
  }

  // mpirun_rsh [options] [HOST...] [NAME=VALUE...] PROGRAM: without a hostfile
  // hosts are bare words, one per rank.
  void take_mpirun_rsh_words() {
    if (line_.launchers != kMpirunRshLauncher) return;
    if (line_.hostfiles.empty() && app_.np) {
      for (int i = 0; i < *app_.np && at_ + 1 < line_.words.size(); ++i) {
        if (is_assignment(line_.words[at_])) break;
        LineOption option{"host", OptionMeaning::kHosts, {}, at_, 1};
        option.values.push_back(line_.words[at_]);
        bare_hosts_.push_back(line_.words[at_++]);
        line_.options.push_back(std::move(option));
      }
    }
    while (at_ + 1 < line_.words.size() && is_assignment(line_.words[at_])) {
      app_.env.push_back(env_request(line_.words[at_++]));
    }
  }

  Status apply(const LineOption& option);
  Status apply_number(const LineOption& option);
  void apply_env(const LineOption& option);
  Status apply_hosts(const LineOption& option);
  Status apply_map_by(const LineOption& option);
  Status finish();

  MpirunLine line_;
  MpirunApp app_;
  std::string host_list_;                // of app_, from all its -H
  std::string line_host_list_;           // of all, from -hosts
  std::vector<std::string> bare_hosts_;  // of mpirun_rsh
  size_t at_ = 1;
};

Status Parser::apply(const LineOption& option) {
  const std::string value =
      option.values.empty() ? std::string() : option.values[0];
  switch (option.meaning) {
    case OptionMeaning::kProcesses:
    case OptionMeaning::kPerNode:
    case OptionMeaning::kTimeout:
      return apply_number(option);
    case OptionMeaning::kHosts:
      return apply_hosts(option);
    case OptionMeaning::kHostfile:
      line_.hostfiles.push_back(value);
      break;
    case OptionMeaning::kDirectory:
      app_.directory = value;
      break;
    case OptionMeaning::kMapBy:
      return apply_map_by(option);
    case OptionMeaning::kOnePerNode:
      line_.per_node = 1;
      break;
    case OptionMeaning::kByNode:
      line_.by_node = true;
      break;
    case OptionMeaning::kOversubscribe:
      line_.oversubscribe = true;
      break;
    case OptionMeaning::kRankfile:
      line_.rankfile = value;
      break;
    case OptionMeaning::kAppFile:
      line_.app_file = value;
      break;
    case OptionMeaning::kStdin:
      line_.stdin_target = value;
      break;
    case OptionMeaning::kTagOutput:
      line_.tag_output = true;
      break;
    case OptionMeaning::kInformation:
      line_.information = true;
      break;
    default:
      apply_env(option);
  }
  return {};
}

Status Parser::apply_number(const LineOption& option) {
  const auto number = parse_integer(option.values[0]);
  if (option.meaning == OptionMeaning::kTimeout) {
    constexpr int64_t kMostSeconds = 1'000'000'000'000;
    if (!number || *number < 0 || *number > kMostSeconds) {
      return usage(line_, option.at, "a time limit is a number of seconds");
    }
    if (*number > 0) line_.timeout_s = *number;
    return {};
  }
  if (!number || *number < 1 || *number > 1 << 24) {
    return usage(line_, option.at,
                 "\"" + option.values[0] + "\" is not a number of ranks",
                 "Give a whole number, 1 or more.");
  }
  const int count = static_cast<int>(*number);
  if (option.meaning == OptionMeaning::kProcesses) {
    app_.np = count;
  } else {
    line_.per_node = count;
  }
  return {};
}

void Parser::apply_env(const LineOption& option) {
  const auto add_names = [&option](std::vector<EnvRequest>& requests) {
    for (const std::string_view name : split(option.values[0], ',')) {
      if (!name.empty()) requests.push_back({std::string(name), std::nullopt});
    }
  };
  const auto add_pair = [&option](std::vector<EnvRequest>& requests) {
    if (option.values.size() == 1) {
      requests.push_back(env_request(option.values[0]));
    } else {
      requests.push_back({option.values[0], option.values[1]});
    }
  };
  switch (option.meaning) {
    case OptionMeaning::kEnv:
      app_.env.push_back(env_request(option.values[0]));
      break;
    case OptionMeaning::kEnvPair:
      add_pair(app_.env);
      break;
    case OptionMeaning::kGlobalEnvPair:
      add_pair(line_.env);
      break;
    case OptionMeaning::kEnvNames:
      add_names(app_.env);
      break;
    case OptionMeaning::kGlobalEnvNames:
      add_names(line_.env);
      break;
    default:
      break;
  }
}

// Several lists are one, as in Open MPI.
Status Parser::apply_hosts(const LineOption& option) {
  const bool of_line = names_all_hosts(option, line_.launchers);
  std::string& text = of_line ? line_host_list_ : host_list_;
  if (of_line && !text.empty() && !line_.apps.empty()) {
    return usage(line_, option.at, "the hosts of all programs are named again",
                 "Name them once: this mpiexec deals all programs over them.");
  }
  if (!text.empty()) text += ',';
  text += option.values[0];
  Result<Hostfile> list = parse_host_list(text, "the value of " + option.name);
  if (!list) return usage(line_, option.at, list.error().text());
  (of_line ? line_.hosts : app_.hosts) = std::move(list->hosts);
  return {};
}

Status Parser::apply_map_by(const LineOption& option) {
  line_.map_by = option.values[0];
  const std::string lower = to_lower(line_.map_by);
  if (lower == "node" || lower.starts_with("node:")) line_.by_node = true;
  if (has_modifier(lower, "oversubscribe")) line_.oversubscribe = true;
  const auto per = ranks_per_resource(lower);
  if (!per) return {};
  if (!per->count) {
    return usage(line_, option.at,
                 "\"" + line_.map_by + "\" asks for no number of ranks",
                 "Give a whole number, 1 or more: ppr:N:node.");
  }
  if (per->node) line_.per_node = per->count;
  return {};
}

Status Parser::finish() {
  if (line_.apps.empty() && !may_lack_program()) {
    return usage(line_, line_.words.size(), "no program is named",
                 "Write the program after the options.");
  }
  if (!bare_hosts_.empty() && !line_.apps.empty()) {
    Result<Hostfile> list =
        parse_host_list(join(bare_hosts_, ","), "the list of hosts");
    if (!list) return fail(list.error());
    line_.apps[0].hosts = std::move(list->hosts);
  }
  if (line_.apps.size() == 1 && line_.hosts.empty()) {
    line_.hosts = line_.apps[0].hosts;
  }
  int total = 0;
  for (const MpirunApp& app : line_.apps) {
    if (!app.np) return {};
    total += *app.np;
    if (total > 1 << 24) {
      return usage(line_, app.program_at, "the ranks add up to over 16777216");
    }
  }
  if (total > 0) line_.np = total;
  return {};
}

}  // namespace

bool names_all_hosts(const LineOption& option, LauncherSet launchers) {
  return option.meaning == OptionMeaning::kHosts &&
         (option.name == "hosts" || launchers == kHydraLauncher);
}

LauncherSet launchers_by_name(std::string_view program) {
  const std::string_view name = program.substr(program.rfind('/') + 1);
  if (name == "mpirun_rsh") return kMpirunRshLauncher;
  if (name == "horovodrun") return kHorovodLauncher;
  if (name == "orterun" || name == "prterun" || name == "prun" ||
      name == "oshrun" || name == "shmemrun" || name.ends_with(".openmpi")) {
    return kOpenMpiLauncher;
  }
  if (name.ends_with(".mpich")) return kHydraLauncher;
  if (name == "mpiexec.hydra" || name == "mpiexec.gforker" ||
      name.ends_with("_hydra")) {
    return kHydraLauncher | kIntelLauncher;
  }
  return kOpenMpiLauncher | kHydraLauncher | kIntelLauncher;
}

Result<MpirunLine> parse_mpirun_line(std::vector<std::string> words,
                                     LauncherSet launchers) {
  return Parser(std::move(words), launchers).parse();
}

}  // namespace muster
