// SPDX-License-Identifier: Apache-2.0
// Which step failed when a program does not start, and what a child inherits.
#include "base/spawn.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "base/fd.h"
#include "catch.h"
#include "temporary_directory.h"

namespace muster {
namespace {

int wait_for(pid_t pid) {
  int status = -1;
  ::waitpid(pid, &status, 0);
  return status;
}

// Output of `script` run by /bin/sh with `options`.
std::string shell(const std::string& script, SpawnOptions options = {}) {
  auto pipe = make_pipe();
  REQUIRE(pipe);
  options.argv = {"/bin/sh", "-c", script};
  if (options.env.empty()) options.env = {{"PATH", "/usr/bin:/bin"}};
  options.fds.emplace_back(pipe->write.get(), 1);
  const auto pid = spawn(options);
  if (!pid) FAIL(pid.error().text());
  pipe->write.reset();
  std::string out;
  char buffer[4096];
  ssize_t n = 0;
  while ((n = ::read(pipe->read.get(), buffer, sizeof buffer)) > 0) {
    out.append(buffer, static_cast<size_t>(n));
  }
  wait_for(*pid);
  return out;
}

Error failure(std::vector<std::string> argv, const std::string& cwd = {},
              const std::string& path = "/usr/bin:/bin") {
  SpawnOptions options;
  options.argv = std::move(argv);
  options.cwd = cwd;
  options.env = {{"PATH", path}};
  const auto pid = spawn(options);
  if (pid) {
    wait_for(*pid);
    FAIL("it started");
  }
  CHECK(::waitpid(-1, nullptr, WNOHANG) < 0);  // nothing is left to reap
  return pid.error();
}

TEST_CASE("programs that cannot start") {
  TemporaryDirectory directory;
  directory.write("text", "not a program");
  directory.write("mode/prog", "#!/bin/sh\n");
  directory.write("loader", "#!/no/such/shell\n");
  directory.write("binary",
                  "\x7f"
                  "ELF garbage");
  for (const char* name : {"loader", "binary"}) {
    ::chmod(directory.at(name).c_str(), 0755);
  }
  CHECK(failure({"no-such-program"}).code == "exe_not_found");
  CHECK(failure({"/no/such/program"}).code == "exe_not_found");
  CHECK(failure({""}).code == "exe_not_found");
  CHECK(failure({}).code == "exe_not_found");
  CHECK(failure({directory.at("text")}).code == "exe_not_runnable");
  CHECK(failure({"prog"}, {}, directory.at("mode")).code == "exe_not_runnable");
  CHECK(failure({directory.path()}).code == "exe_not_runnable");
  CHECK(failure({directory.at("loader")}).code == "exe_not_found");
  CHECK(failure({directory.at("binary")}).code == "exe_not_runnable");
  CHECK(failure({"true"}, "/no/such/directory").code == "cwd_missing");
  CHECK(failure({"./prog"}, "/no/such/directory").code == "cwd_missing");
}

TEST_CASE("what makes a start impossible is named, not guessed at") {
  SpawnOptions options;
  options.argv = {"/bin/true"};
  options.env = {{"LONG", std::string(200'000, 'x')}};
  const auto long_environment = spawn(options);
  REQUIRE_FALSE(long_environment);
  CHECK(long_environment.error().text() ==
        "cannot start /bin/true: Argument list too long; its arguments and "
        "environment are longer than the kernel takes: pass less on");
  options.env = {};
  options.fds = {{-1, 1}};
  const auto no_source = spawn(options);
  REQUIRE_FALSE(no_source);
  CHECK(no_source.error().text() == "to start /bin/true: Bad file descriptor");
}

// Its message, from a mount that only the child sees; "" where it may not make
// one.
std::string refusal_on_noexec_mount() {
  const TemporaryDirectory directory;
  auto pipe = make_pipe();
  REQUIRE(pipe);
  const pid_t pid = ::fork();
  if (pid == 0) {
    const bool mounted =
        (::unshare(CLONE_NEWNS) == 0 ||
         ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0) &&
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
        ::mount("none", directory.path().c_str(), "tmpfs", MS_NOEXEC,
                nullptr) == 0;
    if (mounted) {
      directory.write("tool", "#!/bin/sh\n");
      ::chmod(directory.at("tool").c_str(), 0755);
      for (const auto& found : {find_program(directory.at("tool"), ""),
                                find_program("tool", directory.path())}) {
        (void)write_all(pipe->write.get(),
                        found ? "runs" : found.error().why + "\n");
      }
    }
    ::_exit(0);
  }
  pipe->write.reset();
  wait_for(pid);
  char text[512];
  const ssize_t n = ::read(pipe->read.get(), text, sizeof text);
  return {text, static_cast<size_t>(std::max<ssize_t>(n, 0))};
}

TEST_CASE("a mount that lets nothing run is named") {
  const std::string said = refusal_on_noexec_mount();
  if (said.empty()) {
    WARN("no mount can be made here");
    return;
  }
  CHECK(said ==
        "its file system is mounted noexec\n"
        "its file system is mounted noexec\n");
}

TEST_CASE("a start without a descriptor left is no start") {
  TemporaryDirectory directory;
  directory.write("loader", "#!/no/such/shell\n");
  ::chmod(directory.at("loader").c_str(), 0755);
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  rlimit low = before;
  low.rlim_cur = 64;
  ::setrlimit(RLIMIT_NOFILE, &low);
  std::vector<UniqueFd> all;
  while (true) {
    UniqueFd one(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!one) break;
    all.push_back(std::move(one));
  }
  all.resize(all.size() - 2);  // the pipe that tells of a failure, no more
  SpawnOptions options;
  options.argv = {directory.at("loader")};
  const auto started = spawn(options);
  all.clear();
  ::setrlimit(RLIMIT_NOFILE, &before);
  if (started) wait_for(*started);
  REQUIRE_FALSE(started);
  CHECK(started.error().code == "no_descriptors");
}

TEST_CASE("a child gets the environment and directory it was given") {
  TemporaryDirectory directory;
  SpawnOptions options;
  options.env = {{"PATH", "/usr/bin:/bin"}, {"X", "a b\n\"c\""}};
  options.cwd = directory.path();
  CHECK(shell("printf '%s|' \"$X\"; pwd; env | grep -c MUSTER_NOT_SET",
              options) == "a b\n\"c\"|" + directory.path() + "\n0\n");
}

TEST_CASE("standard input is /dev/null, unless given") {
  CHECK(shell("readlink /proc/self/fd/0 /proc/self/fd/2") ==
        "/dev/null\n/dev/null\n");
}

TEST_CASE("no descriptor of ours leaks, crossed ones are told apart") {
  // Without close-on-exec, and not among the numbers that the shell itself
  // uses.
  const UniqueFd leak(::fcntl(2, F_DUPFD, 200));
  CHECK(shell("ls /proc/$$/fd | tr '\\n' ' '")
            .find(" " + std::to_string(leak.get()) + " ") == std::string::npos);
  auto a = make_pipe();
  auto b = make_pipe();
  REQUIRE(a);
  REQUIRE(b);
  REQUIRE(write_all(a->write.get(), "A\n"));
  REQUIRE(write_all(b->write.get(), "B\n"));
  SpawnOptions options;  // each lands on the number of the other
  options.fds = {{a->read.get(), b->read.get()},
                 {b->read.get(), a->read.get()}};
  const std::string script = "read x <&" + std::to_string(b->read.get()) +
                             "; read y <&" + std::to_string(a->read.get()) +
                             "; echo $x$y";
  CHECK(shell(script, options) == "AB\n");
}

TEST_CASE("a child has no blocked or ignored signals and its own session") {
  sigset_t set;
  sigset_t before;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &set, &before);
  ::signal(SIGPIPE, SIG_IGN);
  const std::string status = shell("grep -E '^Sig(Blk|Ign)' /proc/self/status");
  ::signal(SIGPIPE, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  CHECK(status == "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
  CHECK(shell("test $(ps -o sid= -p $$ 2>/dev/null || cut -d' ' -f6 "
              "/proc/$$/stat) -eq $$ && echo own") == "own\n");
}

TEST_CASE("soft limits are raised") {
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  rlimit low = before;
  low.rlim_cur = 64;
  ::setrlimit(RLIMIT_NOFILE, &low);
  const std::string raised = shell("ulimit -Sn");
  SpawnOptions options;
  options.raise_soft_limits = false;
  const std::string kept = shell("ulimit -Sn", options);
  ::setrlimit(RLIMIT_NOFILE, &before);
  CHECK(std::stoul(raised) == std::min<rlim_t>(before.rlim_max, 1 << 20));
  CHECK(kept == "64\n");
}

// glibc gives threads 2 MiB, not the limit's 8, once the limit is "unlimited".
TEST_CASE("the stack limit, which is also that of threads, is left alone") {
  rlimit before{};
  ::getrlimit(RLIMIT_STACK, &before);
  rlimit low = before;
  low.rlim_cur = 4 << 20;
  ::setrlimit(RLIMIT_STACK, &low);
  const std::string kept = shell("ulimit -Ss");
  ::setrlimit(RLIMIT_STACK, &before);
  CHECK(kept == "4096\n");
}

TEST_CASE("looking for a program") {
  TemporaryDirectory directory;
  directory.write("bin/tool", "#!/bin/sh\n");
  ::chmod(directory.at("bin/tool").c_str(), 0755);
  CHECK(find_program("tool", "/no:" + directory.at("bin")) ==
        directory.at("bin/tool"));
  CHECK(find_program("bin/tool", "", directory.path()) == "bin/tool");
  CHECK(find_program(directory.at("bin/tool"), "") == directory.at("bin/tool"));
  const auto missing = find_program("tool", "/a:/b");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().text() ==
        "cannot start tool: not found in PATH; check the spelling and that the "
        "image of this host contains it (PATH=/a:/b)");
}

TEST_CASE("CPUs that are not there are no reason not to start, but told") {
  SpawnOptions options;
  options.argv = {"/bin/true"};
  options.env = {{"PATH", "/usr/bin:/bin"}};
  options.cpus = {9000};
  int bind_error = 0;
  auto pid = spawn(options, &bind_error);
  REQUIRE(pid);
  CHECK(wait_for(*pid) == 0);
  CHECK(bind_error == EINVAL);
  options.cpus = {::sched_getcpu()};
  pid = spawn(options, &bind_error);
  REQUIRE(pid);
  CHECK(wait_for(*pid) == 0);
  CHECK(bind_error == 0);
  // The reason why it did not start is the one that counts.
  options.cpus = {9000};
  options.cwd = "/no/such/directory";
  pid = spawn(options, &bind_error);
  REQUIRE_FALSE(pid);
  CHECK(pid.error().code == "cwd_missing");
  CHECK(bind_error == EINVAL);
}

TEST_CASE("environments as lists") {
  Environment env = {{"A", "1"}};
  set_env(env, "A", "2");
  set_env(env, "B", "");
  CHECK(env == Environment{{"A", "2"}, {"B", ""}});
  REQUIRE(find_env(env, "B") != nullptr);
  CHECK(find_env(env, "C") == nullptr);
  ::setenv("MUSTER_TEST_VALUE", "a=b", 1);
  const Environment own = current_environment();
  REQUIRE(find_env(own, "MUSTER_TEST_VALUE") != nullptr);
  CHECK(*find_env(own, "MUSTER_TEST_VALUE") == "a=b");
  ::unsetenv("MUSTER_TEST_VALUE");
}

}  // namespace
}  // namespace muster
