// SPDX-License-Identifier: Apache-2.0
#include "fabric/collect/program_call.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>

#include "base/fd.h"
#include "base/text.h"

namespace muster {

namespace {

constexpr int kMostSteps = 12;
constexpr size_t kLargestScript = 64 << 10;

bool is_program(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

std::string in_directory(const std::string& cwd, const std::string& path) {
  const std::string whole =
      path.starts_with('/') || cwd.empty() ? path : cwd + "/" + path;
  return std::filesystem::path(whole).lexically_normal().string();
}

std::string on_path(const std::string& root, const std::string& name,
                    const Environment& env, const std::string& cwd) {
  if (name.empty()) return "";
  if (name.find('/') != name.npos) {
    const std::string path = in_directory(cwd, name);
    return is_program(root + path) ? path : "";
  }
  const std::string* given = find_env(env, "PATH");
  const std::string search =
      given != nullptr ? *given : "/usr/local/bin:/usr/bin:/bin";
  for (const auto directory : split(search, ':')) {
    std::string path = std::string(directory) + "/" + name;
    if (directory.starts_with('/') && is_program(root + path)) return path;
  }
  return "";
}

// Words of a shell's text, command by command; quotes are taken off, and what
// only the shell knows ($X, `…`) stays as it is written.
std::vector<std::vector<std::string>> commands_of(std::string_view text) {
  std::vector<std::vector<std::string>> out(1);
  std::string word;
  bool open = false;  // a word has begun
  char quote = 0;
  const auto end_word = [&] {
    if (open) out.back().push_back(std::move(word));
    word.clear();
    open = false;
  };
  const auto end_command = [&] {
    end_word();
    if (!out.back().empty()) out.emplace_back();
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      if (text[++i] == '\n') continue;
      word += text[i];
      open = true;
    } else if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      open = true;
    } else if (c == '#' && !open) {
      while (i + 1 < text.size() && text[i + 1] != '\n') ++i;
    } else if (c == ';' || c == '\n' || c == '&' || c == '|') {
      end_command();
    } else if (c == ' ' || c == '\t' || c == '\r') {
      end_word();
    } else {
      word += c;
      open = true;
    }
  }
  end_command();
  if (out.back().empty()) out.pop_back();
  return out;
}

// "NAME=VALUE" as a shell and env take it.
bool assign(const std::string& word, Environment& env) {
  const size_t equals = word.find('=');
  if (equals == word.npos || equals == 0) return false;
  const std::string name = word.substr(0, equals);
  if (name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                             "abcdefghijklmnopqrstuvwxyz0123456789_") !=
      name.npos) {
    return false;
  }
  std::string value = word.substr(equals + 1);
  // The only expansion that leads to other programs.
  for (const std::string& own : {"$" + name, "${" + name + "}"}) {
    const std::string* old = find_env(env, name);
    const size_t at = value.find(own);
    if (at != value.npos) value.replace(at, own.size(), old ? *old : "");
  }
  set_env(env, name, std::move(value));
  return true;
}

class Walk {
 public:
  Walk(const std::string& root, const ProgramCall& call) : root_(root) {
    out_.env = call.env;
    out_.cwd = call.cwd;
  }

  ProgramFile run(std::vector<std::string> argv) {
    if (!follow(std::move(argv), 0)) out_.path.clear();
    return std::move(out_);
  }

 private:
  bool follow(std::vector<std::string> argv, int steps);
  bool follow_text(std::string_view text, int steps);
  bool follow_shell(const std::vector<std::string>& argv, int steps);
  bool follow_script(const std::vector<std::string>& argv, int steps);
  bool prepare(const std::vector<std::string>& words);
  void activate(const std::string& script);

  [[nodiscard]] std::string find(const std::string& name) const {
    return on_path(root_, name, out_.env, out_.cwd);
  }

  std::string root_;
  ProgramFile out_;
};

template <size_t N>
bool among(const std::array<std::string_view, N>& names,
           std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::array<std::string_view, 5> kShells = {"sh", "bash", "dash",
                                                     "zsh", "ksh"};
// They run the first of their words that is a program.
constexpr std::array<std::string_view, 16> kWrappers = {
    "numactl", "taskset", "nice",   "ionice",   "chrt", "stdbuf",
    "timeout", "nohup",   "setsid", "time",     "nsys", "ncu",
    "exec",    "command", "tini",   "dumb-init"};

// PATH and VIRTUAL_ENV, as the script of a virtual environment or of conda
// sets them.
void Walk::activate(const std::string& script) {
  const std::string path = in_directory(out_.cwd, script);
  const std::string bin = path.substr(0, path.rfind('/'));
  const std::string* old = find_env(out_.env, "PATH");
  set_env(out_.env, "PATH", bin + (old != nullptr ? ":" + *old : ""));
  set_env(out_.env, "VIRTUAL_ENV", bin.substr(0, bin.rfind('/')));
}

// Commands of a shell that change what comes after them.
bool Walk::prepare(const std::vector<std::string>& words) {
  const std::string& name = words.front();
  if (name == "cd" && words.size() > 1) {
    out_.cwd = in_directory(out_.cwd, words[1]);
    return true;
  }
  if ((name == "source" || name == ".") && words.size() > 1) {
    if (base_name(words[1]) == "activate") activate(words[1]);
    return true;
  }
  const size_t first = name == "export" ? 1 : 0;
  const bool all = words.size() > first &&
                   std::all_of(words.begin() + static_cast<ptrdiff_t>(first),
                               words.end(), [](const std::string& word) {
                                 Environment nothing;
                                 return assign(word, nothing);
                               });
  if (!all) return name == "export" || name == "set" || name == "ulimit";
  for (size_t i = first; i < words.size(); ++i) assign(words[i], out_.env);
  return true;
}

bool Walk::follow_text(std::string_view text, int steps) {
  bool found = false;
  for (auto& words : commands_of(text)) {
    if (prepare(words)) continue;
    const ProgramFile before = out_;
    if (follow(words, steps)) {
      found = true;
    } else {
      out_ = before;
    }
  }
  return found;
}

// "bash -lc TEXT …", "sh script.sh".
bool Walk::follow_shell(const std::vector<std::string>& argv, int steps) {
  for (size_t i = 1; i < argv.size(); ++i) {
    const std::string& word = argv[i];
    const bool option = word.starts_with('-') && word.size() > 1;
    if (option && !word.starts_with("--") && word.ends_with('c')) {
      out_.by.push_back(base_name(argv[0]) + " -c");
      return i + 1 < argv.size() && follow_text(argv[i + 1], steps);
    }
    if (option) continue;
    const std::string path = in_directory(out_.cwd, word);
    const auto text = read_file(root_ + path, kLargestScript);
    out_.by.push_back(base_name(path));
    return text && follow_text(*text, steps);
  }
  return false;
}

// A file that begins with "#!": true, if what it says could be followed.
bool Walk::follow_script(const std::vector<std::string>& argv, int steps) {
  const std::string script = out_.path;
  std::string head(256, '\0');
  const UniqueFd file(
      ::open((root_ + script).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return false;
  const ssize_t n = ::pread(file.get(), head.data(), head.size(), 0);
  head.resize(n > 0 ? static_cast<size_t>(n) : 0);
  if (!head.starts_with("#!")) return true;  // a program: it is found
  const std::string line = head.substr(2, head.find('\n') - 2);
  std::vector<std::string> next;
  for (const auto word : split_words(line)) next.emplace_back(word);
  if (next.empty()) return false;
  out_.by.push_back(base_name(script));
  // As the kernel has it: interpreter, one argument, the script, its words.
  if (base_name(next[0]) == "env" && next.size() > 1) {
    std::erase(next, "-S");
  }
  next.push_back(script);
  next.insert(next.end(), argv.begin() + 1, argv.end());
  return follow(std::move(next), steps);
}

bool Walk::follow(std::vector<std::string> argv, int steps) {
  if (argv.empty() || ++steps > kMostSteps) return false;
  const std::string name = base_name(argv[0]);
  if (name == "env") {
    size_t i = 1;
    for (; i < argv.size(); ++i) {
      if (argv[i] == "-i" || argv[i] == "-") {
        out_.env.clear();
      } else if (argv[i] == "-u" && i + 1 < argv.size()) {
        const std::string gone = argv[++i];
        std::erase_if(out_.env, [&](auto& one) { return one.first == gone; });
      } else if (!argv[i].starts_with('-') && !assign(argv[i], out_.env)) {
        break;
      }
    }
    argv.erase(argv.begin(), argv.begin() + static_cast<ptrdiff_t>(i));
    return follow(std::move(argv), steps);
  }
  if (name == "muster") {  // its own commands name theirs behind "--"
    const auto mark = std::find(argv.begin(), argv.end(), "--");
    if (mark != argv.end() && mark + 1 != argv.end()) {
      argv.erase(argv.begin(), mark + 1);
      return follow(std::move(argv), steps);
    }
  }
  if (among(kShells, name)) return follow_shell(argv, steps);
  if (among(kWrappers, name)) {
    for (size_t i = 1; i < argv.size(); ++i) {
      if (argv[i].starts_with('-') || find(argv[i]).empty()) continue;
      argv.erase(argv.begin(), argv.begin() + static_cast<ptrdiff_t>(i));
      return follow(std::move(argv), steps);
    }
    return false;
  }
  out_.path = find(argv[0]);
  if (out_.path.empty()) return false;
  out_.options.clear();
  for (size_t i = 1; i < argv.size() && argv[i].starts_with('-'); ++i) {
    if (argv[i] == "-m" || argv[i] == "-c") break;
    out_.options.push_back(argv[i]);
  }
  return follow_script(argv, steps);
}

}  // namespace

ProgramFile find_program_file(const std::string& root,
                              const ProgramCall& call) {
  return Walk(root, call).run(call.argv);
}

std::string behind_links(const std::string& root, const std::string& path) {
  std::string now = path;
  std::error_code failed;
  for (int i = 0; i < 16; ++i) {
    const auto target = std::filesystem::read_symlink(root + now, failed);
    if (failed) break;
    const std::string directory = now.substr(0, now.rfind('/'));
    now = target.is_absolute()
              ? target.string()
              : std::filesystem::path(directory + "/" + target.string())
                    .lexically_normal()
                    .string();
  }
  return now;
}

}  // namespace muster
