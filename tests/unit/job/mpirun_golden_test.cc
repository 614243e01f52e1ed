// SPDX-License-Identifier: Apache-2.0
// tests/golden/mpirun_lines.txt: real command lines, what is understood of
// them, and what they become. With MUSTER_REWRITE_GOLDEN=1 in the environment
// the file is written anew, to be read before it is committed.
#include <cstdlib>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "catch.h"
#include "golden_words.h"
#include "job/mpirun_line.h"
#include "job/mpirun_rewrite.h"

namespace muster {
namespace {

const std::string kGolden = std::string(MUSTER_GOLDEN) + "/mpirun_lines.txt";

std::string quoted(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  for (const std::string& word : words) out.push_back(shell_quote(word));
  return join(out, " ");
}

std::string env_text(const std::vector<EnvRequest>& env) {
  std::vector<std::string> out;
  for (const EnvRequest& request : env) {
    out.push_back(shell_quote(
        request.value ? request.name + "=" + *request.value : request.name));
  }
  return join(out, " ");
}

std::string hosts_text(const std::vector<HostEntry>& hosts) {
  std::vector<std::string> out;
  for (const HostEntry& host : hosts) {
    out.push_back(host.name +
                  (host.slots_given ? "*" + std::to_string(host.slots) : ""));
  }
  return join(out, ",");
}

void add(std::string& out, const std::string& name, const std::string& value) {
  if (!value.empty()) out += " " + name + "{" + value + "}";
}

std::string number(const std::optional<int>& value) {
  return value ? std::to_string(*value) : "";
}

std::string launchers_text(LauncherSet set) {
  std::string out;
  if ((set & kOpenMpiLauncher) != 0) out += "O";
  if ((set & kHydraLauncher) != 0) out += "H";
  if ((set & kIntelLauncher) != 0) out += "I";
  if ((set & kMpirunRshLauncher) != 0) out += "R";
  if ((set & kHorovodLauncher) != 0) out += "V";
  return out;
}

std::string summary(const MpirunLine& line) {
  std::string out = launchers_text(line.launchers);
  add(out, "np", number(line.np));
  add(out, "hostfiles", join(line.hostfiles, " "));
  add(out, "hosts", hosts_text(line.hosts));
  add(out, "env", env_text(line.env));
  add(out, "map", line.map_by);
  add(out, "per_node", number(line.per_node));
  add(out, "timeout", line.timeout_s ? std::to_string(*line.timeout_s) : "");
  add(out, "stdin", line.stdin_target);
  add(out, "app_file", line.app_file);
  add(out, "rankfile", line.rankfile);
  if (line.by_node) out += " by_node";
  if (line.oversubscribe) out += " oversubscribe";
  if (line.tag_output) out += " tag";
  if (line.information) out += " information";
  for (const UnknownOption& unknown : line.unknown) {
    add(out, "unknown",
        std::to_string(unknown.at) + " " + unknown.word +
            (unknown.nearest.empty() ? "" : " near ") + unknown.nearest);
  }
  for (const MpirunApp& app : line.apps) {
    out += " |";
    add(out, "np", number(app.np));
    add(out, "hosts", hosts_text(app.hosts));
    add(out, "env", env_text(app.env));
    add(out, "cwd", app.directory);
    out += " " + quoted(app.argv);
  }
  return out;
}

// The lines of the file that say what became of `command`.
std::vector<std::string> outcome(std::string_view command) {
  const auto line = parse_mpirun_line(golden_words(command));
  if (!line) return {"! " + line.error().text()};
  std::vector<std::string> out = {"= " + summary(*line)};
  Replacement replacement;
  replacement.launcher =
      static_cast<LauncherSet>(line->launchers & -line->launchers);
  replacement.hostfile = "/run/hosts";
  replacement.options = {"OURS"};
  replacement.wrapper = {"WRAP"};
  replacement.host_names = {{"n1", "w-1"}};
  const auto rewritten = rewrite_mpirun_line(*line, replacement);
  if (!rewritten) {
    out.push_back("! " + rewritten.error().text());
    return out;
  }
  out.push_back("> " + quoted(rewritten->words));
  if (!rewritten->dropped.empty()) {
    out.push_back("- " + join(rewritten->dropped, " ; "));
  }
  return out;
}

TEST_CASE("real mpirun lines") {
  const auto text = read_file(kGolden);
  REQUIRE(text);
  std::string actual;
  int commands = 0;
  for (const std::string_view line : split(*text, '\n')) {
    if (line.empty() || line[0] == '#') actual += std::string(line) + "\n";
    if (!line.starts_with("$ ")) continue;
    ++commands;
    actual += std::string(line) + "\n";
    for (const std::string& result : outcome(line.substr(2))) {
      actual += result + "\n";
    }
  }
  actual.pop_back();  // the piece behind the last newline
  CHECK(commands >= 60);
  if (std::getenv("MUSTER_REWRITE_GOLDEN") != nullptr) {
    REQUIRE(write_file_atomically(kGolden, actual));
    return;
  }
  const std::vector<std::string_view> want = split(*text, '\n');
  const std::vector<std::string_view> have = split(actual, '\n');
  std::string command;
  for (size_t i = 0; i < want.size() && i < have.size(); ++i) {
    if (want[i].starts_with("$ ")) command = std::string(want[i]);
    INFO(command);
    REQUIRE(have[i] == want[i]);
  }
  CHECK(have.size() == want.size());
}

}  // namespace
}  // namespace muster
