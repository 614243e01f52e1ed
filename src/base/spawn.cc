// SPDX-License-Identifier: Apache-2.0
#include "base/spawn.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>

#include "base/close_from.h"
#include "base/cpu_mask.h"
#include "base/fd.h"
#include "base/no_descriptors.h"
#include "base/text.h"

extern char** environ;

namespace muster {

namespace {

// kBinding alone lets the start go on.
enum class Stage : int { kBinding, kDirectory, kDescriptors, kExec };

struct StageReport {
  Stage stage;
  int error;
};

struct ChildPlan {
  const char* path;
  char* const* argv;
  char* const* envp;
  const SpawnOptions* options;
  CpuMask cpus;
  std::vector<std::pair<int, int>> fds;  // sources moved above all targets
  pid_t parent;
  int report;
};

void report_stage(int report, Stage stage, int error) {
  const StageReport message{stage, error};
  [[maybe_unused]] const ssize_t n = ::write(report, &message, sizeof message);
}

[[noreturn]] void child_fails(int report, Stage stage) {
  report_stage(report, stage, errno);
  ::_exit(127);
}

// Not the stack's: with an infinite hard limit, as in most containers, the C
// library gives each thread 2 MiB instead of the soft limit's usual 8.
void raise_soft_limits() {
  for (const auto resource : {RLIMIT_MEMLOCK, RLIMIT_NOFILE, RLIMIT_CORE}) {
    rlimit limit{};
    if (::getrlimit(resource, &limit) != 0) continue;
    limit.rlim_cur = limit.rlim_max;
    // A program that loops to RLIMIT_NOFILE must not loop for ever.
    if (resource == RLIMIT_NOFILE) {
      limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 1 << 20);
    }
    ::setrlimit(resource, &limit);
  }
}

// The numbers in the child that the plan does not name.
void fill_stdio(const ChildPlan& plan) {
  for (int target = 0; target < 3; ++target) {
    const bool given =
        std::any_of(plan.fds.begin(), plan.fds.end(),
                    [target](const auto& f) { return f.second == target; });
    if (given) continue;
    const int null = ::open("/dev/null", target == 0 ? O_RDONLY : O_WRONLY);
    if (null < 0 || null == target) continue;
    ::dup2(null, target);
    ::close(null);
  }
}

// Runs between fork and exec: async-signal-safe calls only.
[[noreturn]] void run_child(const ChildPlan& plan) {
  const SpawnOptions& options = *plan.options;
  if (options.new_session) ::setsid();
  if (options.parent_death_signal != 0) {
    ::prctl(PR_SET_PDEATHSIG, options.parent_death_signal);
    if (::getppid() != plan.parent) ::_exit(127);
  }
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action {};
    action.sa_handler = SIG_DFL;
    ::sigaction(signal, &action, nullptr);
  }
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (options.raise_soft_limits) raise_soft_limits();
  if (!plan.cpus.empty()) {
    const int error = bind_to(plan.cpus);
    if (error != 0) report_stage(plan.report, Stage::kBinding, error);
  }
  int highest = 2;
  for (const auto& [source, target] : plan.fds) {
    if (::dup2(source, target) < 0) {
      child_fails(plan.report, Stage::kDescriptors);
    }
    highest = std::max(highest, target);
  }
  if (!options.inherit_stdio) fill_stdio(plan);
  // Everything of ours is close-on-exec already; this catches descriptors that
  // libraries opened without it, and inherited ones.
  close_on_exec_from(highest + 1);
  if (!options.cwd.empty() && ::chdir(options.cwd.c_str()) != 0) {
    child_fails(plan.report, Stage::kDirectory);
  }
  ::execve(plan.path, plan.argv, plan.envp);
  child_fails(plan.report, Stage::kExec);
}

// GCC and Clang have different macros for it.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MUSTER_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MUSTER_SANITIZED 1
#endif
#endif

// As vfork: the child borrows our memory until its exec, which spares copying
// our page tables, most of the cost of a start. It has a stack of its own, and
// only runs run_child(). Sanitizers watch stacks: they get a real fork.
pid_t start_child(const ChildPlan& plan) {
#if defined(MUSTER_SANITIZED)
  const pid_t pid = ::fork();
  if (pid == 0) run_child(plan);
  return pid;
#else
  constexpr size_t kStack = 64 * 1024;
  const auto stack = std::make_unique_for_overwrite<char[]>(kStack);
  const auto top = reinterpret_cast<uintptr_t>(stack.get() + kStack) &
                   ~static_cast<uintptr_t>(15);
  return ::clone(
      [](void* data) -> int { run_child(*static_cast<ChildPlan*>(data)); },
      reinterpret_cast<void*>(top), CLONE_VM | CLONE_VFORK | SIGCHLD,
      const_cast<ChildPlan*>(&plan));
#endif
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  out.reserve(strings.size() + 1);
  for (std::string& s : strings) out.push_back(s.data());
  out.push_back(nullptr);
  return out;
}

const char* exec_hint(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return "the file or its interpreter (#! line, ELF loader) is not in this "
             "image";
    case ENOEXEC:
      return "a script begins with #! and its interpreter; a program is built "
             "for this machine";
    case E2BIG:
      return "its arguments and environment are longer than the kernel takes: "
             "pass less on";
    default:
      return "check its mode and that it was built for this machine";
  }
}

Error spawn_error(const StageReport& report, const SpawnOptions& options) {
  switch (report.stage) {
    case Stage::kDirectory:
      return Error{"cwd_missing", "cannot enter the working directory",
                   strerror(report.error), options.cwd,
                   "give one that exists on every host with --wdir"};
    case Stage::kDescriptors:
      return Error{"resources",
                   "cannot prepare descriptors for " + options.argv[0],
                   strerror(report.error),
                   {},
                   {}};
    case Stage::kBinding:
    case Stage::kExec:
      break;
  }
  const bool missing = report.error == ENOENT || report.error == ENOTDIR;
  return Error{missing ? "exe_not_found" : "exe_not_runnable",
               "cannot start " + options.argv[0],
               strerror(report.error),
               {},
               exec_hint(report.error)};
}

Result<std::string> path_of(const SpawnOptions& options) {
  const std::string* search = find_env(options.env, "PATH");
  const std::string name = !options.program.empty() ? options.program
                           : options.argv.empty()   ? ""
                                                    : options.argv[0];
  auto path = find_program(
      name, search ? *search : "/usr/local/bin:/usr/bin:/bin", options.cwd);
  struct stat directory {};
  if (!path && !options.cwd.empty() &&
      ::stat(options.cwd.c_str(), &directory) != 0) {
    // "./prog" is missing because its directory is: say that.
    return fail(spawn_error({Stage::kDirectory, errno}, options));
  }
  return path;
}

// The child's descriptors, and its end of the report, moved above all numbers
// that it gets: so that no dup2 overwrites a later source. Owned by `moved`.
Status move_descriptors(const SpawnOptions& options, int report,
                        ChildPlan& plan, std::vector<UniqueFd>& moved) {
  int first_free = 3;
  for (const auto& [source, target] : options.fds) {
    first_free = std::max(first_free, target + 1);
  }
  const auto move = [&](int fd) {
    moved.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, first_free));
    return moved.back().get();
  };
  for (const auto& [source, target] : options.fds) {
    plan.fds.emplace_back(move(source), target);
    if (!moved.back())
      return fail_descriptor(std::string("to start ") + plan.path);
  }
  plan.report = move(report);
  if (!moved.back())
    return fail_descriptor(std::string("to start ") + plan.path);
  return {};
}

// Signals stay blocked across the fork so that no handler of ours runs in the
// child.
Result<pid_t> start_without_signals(const ChildPlan& plan) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t pid = start_child(plan);
  const int error = errno;
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  if (pid >= 0) return pid;
  return fail(Error{
      "resources",
      "cannot fork to start " + plan.options->argv[0],
      strerror(error),
      {},
      error == EAGAIN ? "the pod's process limit (pids) is reached" : ""});
}

// nullopt: it has become the program. A binding that failed goes to
// `bind_error`.
std::optional<StageReport> read_report(int fd, int& bind_error) {
  for (;;) {
    StageReport report{};
    ssize_t n;
    do {
      n = ::read(fd, &report, sizeof report);
    } while (n < 0 && errno == EINTR);
    if (n != static_cast<ssize_t>(sizeof report)) return std::nullopt;
    if (report.stage != Stage::kBinding) return report;
    bind_error = report.error;
  }
}

}  // namespace

Result<pid_t> spawn(const SpawnOptions& options, int* bind_error) {
  const auto path = path_of(options);
  if (!path) return tl::unexpected(path.error());
  std::vector<std::string> argv = options.argv;
  std::vector<std::string> env;
  env.reserve(options.env.size());
  for (const auto& [name, value] : options.env) {
    env.push_back(name + "=" + value);
  }
  std::vector<char*> argv_pointers = pointers(argv);
  std::vector<char*> env_pointers = pointers(env);
  auto report = make_pipe();
  if (!report) return tl::unexpected(report.error());
  ChildPlan plan{path->c_str(),
                 argv_pointers.data(),
                 env_pointers.data(),
                 &options,
                 cpu_mask(options.cpus),
                 {},
                 ::getpid(),
                 -1};
  std::vector<UniqueFd> moved;
  if (auto done = move_descriptors(options, report->write.get(), plan, moved);
      !done) {
    return tl::unexpected(done.error());
  }
  report->write.reset();
  const auto pid = start_without_signals(plan);
  if (!pid) return pid;
  moved.clear();  // with them our copy of the report's end
  int unbound = 0;
  const auto failed = read_report(report->read.get(), unbound);
  if (bind_error != nullptr) *bind_error = unbound;
  if (!failed) return pid;
  while (::waitpid(*pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return fail(spawn_error(*failed, options));
}

namespace {

// `file` exists, and yet cannot run.
tl::unexpected<Error> not_runnable(const std::string& name,
                                   const std::string& file,
                                   const std::string& why) {
  struct statvfs mount {};
  const bool noexec =
      ::statvfs(file.c_str(), &mount) == 0 && (mount.f_flag & ST_NOEXEC) != 0;
  return fail(Error{"exe_not_runnable",
                    "cannot start " + name,
                    noexec ? "its file system is mounted noexec" : why,
                    {},
                    noexec ? "put it where programs may run, as in the image"
                           : "make it executable (chmod +x)"});
}

}  // namespace

Result<std::string> find_program(const std::string& name,
                                 const std::string& search_path,
                                 const std::string& cwd) {
  const auto not_found = [&name](const std::string& why,
                                 const std::string& where = {}) {
    const bool blank = trim(name).empty();
    return fail(Error{"exe_not_found",
                      "cannot start " + (blank ? "\"" + name + "\"" : name),
                      why,
                      {},
                      "check the spelling and that the image of this host "
                      "contains it" +
                          where});
  };
  if (name.empty()) return not_found("empty program name");
  if (name.find('/') != std::string::npos) {
    const std::string full =
        name[0] == '/' || cwd.empty() ? name : cwd + "/" + name;
    struct stat info {};
    if (::stat(full.c_str(), &info) != 0) {
      const int error = errno;
      return error == EACCES ? not_runnable(name, full, strerror(error))
                             : not_found(strerror(error));
    }
    if (S_ISDIR(info.st_mode)) {
      return fail(Error{"exe_not_runnable",
                        "cannot start " + name,
                        "is a directory",
                        {},
                        "name a program"});
    }
    if (::access(full.c_str(), X_OK) != 0) {
      return not_runnable(name, full, strerror(errno));
    }
    return name;
  }
  std::string unrunnable;
  for (const std::string_view directory : split(search_path, ':')) {
    const std::string full =
        (directory.empty() ? "." : std::string(directory)) + "/" + name;
    struct stat info {};
    if (::stat(full.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    if (::access(full.c_str(), X_OK) == 0) return full;
    if (unrunnable.empty()) unrunnable = full;
  }
  if (!unrunnable.empty()) {
    return not_runnable(name, unrunnable, "found, but not executable");
  }
  return not_found("not found in PATH", " (PATH=" + search_path + ")");
}

Environment current_environment() {
  Environment env;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    env.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return env;
}

const std::string* find_env(const Environment& env, std::string_view name) {
  for (const auto& [key, value] : env) {
    if (key == name) return &value;
  }
  return nullptr;
}

void set_env(Environment& env, std::string_view name, std::string value) {
  for (auto& [key, old] : env) {
    if (key == name) {
      old = std::move(value);
      return;
    }
  }
  env.emplace_back(std::string(name), std::move(value));
}

}  // namespace muster
