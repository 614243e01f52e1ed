// SPDX-License-Identifier: Apache-2.0
#include "launcher/commands/status_main.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <set>
#include <utility>

#include "base/directory.h"
#include "base/fd.h"
#include "base/printable.h"
#include "base/runtime_dir.h"
#include "launcher/model/phase_clock.h"
#include "launcher/report/status.h"

namespace muster {

namespace {

int show(const char* command, const std::vector<std::string>& args,
         std::string (*text)(const JobStatus&)) {
  bool json = false;
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--help" || args[i] == "-h") {
      std::printf(
          "usage: muster %s [-o text|json]\n\nShows the launches that run in "
          "this pod. Exit codes: 0, 1 none runs, 2 usage.\n",
          command);
      return 0;
    }
    if (args[i] == "-o" && i + 1 < args.size() &&
        (args[i + 1] == "json" || args[i + 1] == "text")) {
      json = args[++i] == "json";
      continue;
    }
    if (args[i] == "-o") {
      std::fprintf(stderr, "muster %s: -o is text or json\n", command);
      return 2;
    }
    std::fprintf(stderr,
                 "muster %s: cannot read '%s'; usage: muster %s [-o "
                 "text|json]\n",
                 command, args[i].c_str(), command);
    return 2;
  }
  const auto launches = running_launches();
  if (launches.empty()) {
    std::fprintf(stderr, "muster %s: %s\n", command,
                 no_launch_sentence().c_str());
    return 1;
  }
  for (const RunningLaunch& launch : launches) {
    std::fputs(
        (json ? to_json(launch.status) : printable_lines(text(launch.status)))
            .c_str(),
        stdout);
  }
  return 0;
}

// A directory of another user may hold anything; root looks at all the same.
// That of a launcher which was killed holds what was true before.
bool is_run_directory(const std::string& path) {
  struct stat directory {};
  struct stat status {};
  return ::lstat(path.c_str(), &directory) == 0 && S_ISDIR(directory.st_mode) &&
         (directory.st_uid == ::geteuid() || ::geteuid() == 0) &&
         ::lstat((path + "/status.json").c_str(), &status) == 0 &&
         S_ISREG(status.st_mode) && !abandoned(path);
}

// The root directories of other containers whose processes are seen here, as
// from one that `kubectl debug --target` started.
struct OtherRoots {
  std::vector<std::string> paths;
  int closed = 0;  // processes whose root may not be entered
};

OtherRoots other_roots() {
  OtherRoots out;
  struct stat own {};
  if (::stat("/", &own) != 0) return out;
  std::set<std::pair<dev_t, ino_t>> known = {{own.st_dev, own.st_ino}};
  for (const std::string& name : names_in("/proc")) {
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string path = "/proc/" + name + "/root";
    struct stat root {};
    if (::stat(path.c_str(), &root) != 0) {
      if (errno == EACCES || errno == EPERM) ++out.closed;
      continue;
    }
    if (known.emplace(root.st_dev, root.st_ino).second) {
      out.paths.push_back(path);
    }
  }
  return out;
}

void add_launches(const std::string& root, std::vector<RunningLaunch>& out) {
  for (const std::string& candidate : writable_candidates()) {
    const std::string directory = root + candidate;
    for (const std::string& name : names_in(directory)) {
      const std::string path = directory + "/" + name;
      if (!name.starts_with("muster-run-") || !is_run_directory(path)) continue;
      if (auto now = status_in(path)) out.push_back({path, std::move(*now)});
    }
  }
}

}  // namespace

std::optional<JobStatus> status_in(const std::string& directory) {
  const auto text = read_file(directory + "/status.json", 64 << 20);
  if (!text) return {};
  auto status = job_status_from_json(*text);
  if (!status) return {};
  return aged(std::move(*status), steady_ms());
}

std::vector<RunningLaunch> running_launches() {
  std::vector<RunningLaunch> out;
  add_launches("", out);
  for (const std::string& root : other_roots().paths) add_launches(root, out);
  return out;
}

std::string no_launch_sentence() {
  if (const int closed = other_roots().closed; closed > 0) {
    return "no launch was found, and " + std::to_string(closed) +
           (closed == 1 ? " process" : " processes") +
           " cannot be looked into: run it in the launcher's pod as the "
           "launcher's user, or as root with SYS_PTRACE";
  }
  // Process 1 of a container other than a launcher's, as of `kubectl debug`.
  if (::getpid() == 1 || ::getppid() == 1) {
    return "no launch runs in this container. A debug container sees another "
           "one's launch if it aims at it: `kubectl debug POD -n "
           "NAMESPACE -it --image=IMAGE --target=CONTAINER --profile=general`";
  }
  return "no launch runs in this pod";
}

int status_main(const std::vector<std::string>& args) {
  return show("status", args, status_text);
}

int ps_main(const std::vector<std::string>& args) {
  return show("ps", args, ps_text);
}

}  // namespace muster
