// SPDX-License-Identifier: Apache-2.0
#include "fabric/collect/python_path.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>

#include "base/directory.h"
#include "base/fd.h"
#include "base/text.h"

namespace muster {

namespace {

bool is_directory(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::string parent(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

// "key = value" lines of pyvenv.cfg; nothing where there is none.
std::map<std::string, std::string> venv_lines(const std::string& file) {
  std::map<std::string, std::string> out;
  const auto text = read_file(file, 64 << 10);
  if (!text) return out;
  for (const auto line : split(*text, '\n')) {
    const size_t equals = line.find('=');
    if (equals == line.npos) continue;
    out[to_lower(trim(line.substr(0, equals)))] =
        std::string(trim(line.substr(equals + 1)));
  }
  return out;
}

bool is_version(std::string_view name) {
  return name.starts_with("python3.") &&
         parse_integer(name.substr(8)).has_value();
}

// "python3.12": by the interpreter's name, or as the only or newest one that
// has a directory in the prefix.
std::string version_of(const std::string& root, const std::string& prefix,
                       const std::string& interpreter) {
  const std::string real = behind_links(root, interpreter);
  const std::string name = real.substr(real.rfind('/') + 1);
  if (is_version(name)) return name;
  int64_t newest = -1;
  for (const std::string& one : names_in(root + prefix + "/lib")) {
    if (is_version(one))
      newest = std::max(newest, *parse_integer(one.substr(8)));
  }
  return newest < 0 ? "" : "python3." + std::to_string(newest);
}

class Places {
 public:
  Places(const std::string& root, PythonPlace& out) : root_(root), out_(out) {}

  void add(const std::string& directory) {
    if (directory.empty() || !is_directory(root_ + directory)) return;
    auto& all = out_.packages;
    if (std::find(all.begin(), all.end(), directory) != all.end()) return;
    all.push_back(directory);
    add_linked(directory);
  }
  void add_prefix(const std::string& prefix, const std::string& version) {
    for (const char* lib : {"/lib/", "/lib64/"}) {
      add(prefix + lib + version + "/site-packages");
    }
  }
  // Debian's own, besides.
  void add_system(const std::string& prefix, const std::string& version) {
    if (prefix == "/usr") add("/usr/local/lib/" + version + "/dist-packages");
    add_prefix(prefix, version);
    if (prefix == "/usr") {
      add("/usr/local/lib/" + version + "/site-packages");
      add("/usr/lib/python3/dist-packages");
    }
  }

 private:
  // Directories that *.pth files add.
  void add_linked(const std::string& directory) {
    std::vector<std::string> files = names_in(root_ + directory);
    std::erase_if(files, [](auto& name) { return !name.ends_with(".pth"); });
    std::sort(files.begin(), files.end());
    for (const std::string& file : files) {
      const auto text = read_file(root_ + directory + "/" + file, 64 << 10);
      if (!text) continue;
      for (const auto line : split(*text, '\n')) {
        const std::string path(trim(line));
        if (path.empty() || path[0] == '#' || path.starts_with("import ")) {
          continue;
        }
        add(path[0] == '/' ? path : directory + "/" + path);
      }
    }
  }

  std::string root_;
  PythonPlace& out_;
};

bool has_option(const ProgramFile& program, char letter) {
  return std::any_of(program.options.begin(), program.options.end(),
                     [letter](const std::string& option) {
                       return option.size() > 1 && option[1] != '-' &&
                              option.find(letter) != option.npos;
                     });
}

bool is_set(const Environment& env, const char* name) {
  const std::string* value = find_env(env, name);
  return value != nullptr && !value->empty();
}

}  // namespace

bool is_python(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  for (const std::string_view start : {"python", "pypy"}) {
    if (!name.starts_with(start)) continue;
    return name.find_first_not_of("0123456789.", start.size()) == name.npos;
  }
  return false;
}

PythonPlace python_place(const std::string& root, const ProgramFile& program) {
  PythonPlace out;
  Places places(root, out);
  const bool isolated = has_option(program, 'I');
  const std::string* paths = find_env(program.env, "PYTHONPATH");
  if (paths != nullptr && !isolated && !has_option(program, 'E')) {
    for (const auto path : split(*paths, ':')) {
      const std::string directory(path);
      places.add(directory.starts_with('/') ? directory
                                            : program.cwd + "/" + directory);
    }
  }
  const std::string own = parent(parent(program.path));
  const auto venv = venv_lines(root + own + "/pyvenv.cfg");
  const std::string real = behind_links(root, program.path);
  std::string base = venv.empty() ? own : "";
  if (const auto home = venv.find("home"); home != venv.end()) {
    base = parent(home->second);
  }
  std::string version = version_of(root, own, program.path);
  if (version.empty()) version = version_of(root, base, program.path);
  // A link into another prefix (/usr/local/bin/python) leads there.
  if (venv.empty() && !is_directory(root + own + "/lib/" + version)) {
    base = parent(parent(real));
  }
  out.prefix = venv.empty() ? base : own;
  const bool shares =
      venv.empty() ||
      (venv.contains("include-system-site-packages") &&
       to_lower(venv.at("include-system-site-packages")) == "true");
  if (!venv.empty()) {
    out.kind = "virtual environment";
    places.add_prefix(own, version);
  } else if (is_directory(root + base + "/conda-meta")) {
    out.kind = "conda";
  }
  if (shares && !isolated && !has_option(program, 's') &&
      !is_set(program.env, "PYTHONNOUSERSITE")) {
    const std::string* user = find_env(program.env, "PYTHONUSERBASE");
    const std::string* home = find_env(program.env, "HOME");
    const std::string there = user != nullptr   ? *user
                              : home != nullptr ? *home + "/.local"
                                                : "";
    if (!there.empty()) {
      places.add(there + "/lib/" + version + "/site-packages");
    }
  }
  if (shares && !base.empty()) places.add_system(base, version);
  return out;
}

}  // namespace muster
