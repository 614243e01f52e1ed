// SPDX-License-Identifier: Apache-2.0
// Where a runtime directory lands, and that it goes with its owner.
#include "base/runtime_dir.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <iterator>

#include "catch.h"
#include "temporary_directory.h"

namespace muster {
namespace {

class Tmpdir {
 public:
  explicit Tmpdir(const std::string& value) {
    const char* old = ::getenv("TMPDIR");
    if (old != nullptr) old_ = old;
    ::setenv("TMPDIR", value.c_str(), 1);
  }
  ~Tmpdir() {
    if (old_.empty()) {
      ::unsetenv("TMPDIR");
    } else {
      ::setenv("TMPDIR", old_.c_str(), 1);
    }
  }

 private:
  std::string old_;
};

TEST_CASE("TMPDIR first, if a socket fits below it") {
  const Tmpdir set("/tmp/x");
  CHECK(writable_candidates() ==
        std::vector<std::string>{"/tmp/x", "/tmp", "/dev/shm"});
  const Tmpdir relative("x");
  CHECK(writable_candidates().front() == "/tmp");
  const Tmpdir deep("/" + std::string(100, 'x'));
  CHECK(writable_candidates().front() == "/tmp");
}

TEST_CASE("a directory that takes no file is not writable") {
  const Tmpdir set("/proc");
  for (const std::string& directory : writable_directories()) {
    CHECK(directory != "/proc");
  }
  auto made = RuntimeDir::create("unit-test-proc");
  REQUIRE(made);
  CHECK(made->path() == "/tmp/muster-unit-test-proc");
}

TEST_CASE("a runtime directory is private and goes with its owner") {
  TemporaryDirectory parent;
  const Tmpdir set(parent.path());
  std::string path;
  {
    auto made = RuntimeDir::create("a");
    REQUIRE(made);
    path = made->path();
    CHECK(path == parent.at("muster-a"));
    struct stat info {};
    REQUIRE(::stat(path.c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0700);
    std::ofstream(path + "/file") << "x";
    const RuntimeDir moved = std::move(*made);
    CHECK(moved.path() == path);
  }
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("keep() leaves it, create() takes it up again") {
  TemporaryDirectory parent;
  const Tmpdir set(parent.path());
  auto first = RuntimeDir::create("a");
  REQUIRE(first);
  const std::string path = first->path();
  first->keep();
  first = RuntimeDir();
  CHECK(std::filesystem::exists(path));
  CHECK(RuntimeDir::create("a")->path() == path);
}

// Makes an owned one in another process, which is then killed.
void leave_behind(const std::string& name) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto made = RuntimeDir::create_owned(name);
    ::raise(SIGKILL);
    ::_exit(made ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
}

TEST_CASE("what a killed owner left is removed, and nothing else") {
  TemporaryDirectory parent;
  const Tmpdir set(parent.path());
  leave_behind("run-dead");
  leave_behind("other-dead");
  auto living = RuntimeDir::create_owned("run-living");
  REQUIRE(living);
  std::filesystem::create_directory(parent.at("muster-run-older"));
  CHECK(abandoned(parent.at("muster-run-dead")));
  CHECK_FALSE(abandoned(parent.at("muster-run-living")));
  CHECK_FALSE(abandoned(parent.at("muster-run-older")));
  remove_abandoned("run-");
  CHECK_FALSE(std::filesystem::exists(parent.at("muster-run-dead")));
  CHECK(std::filesystem::exists(parent.at("muster-run-living")));
  CHECK(std::filesystem::exists(parent.at("muster-run-older")));
  CHECK(std::filesystem::exists(parent.at("muster-other-dead")));
  const std::string path = living->path();
  const RuntimeDir moved = std::move(*living);
  CHECK_FALSE(abandoned(path));
}

TEST_CASE("a link to what a killed owner left is not followed") {
  TemporaryDirectory parent;
  const Tmpdir set(parent.path());
  leave_behind("other");
  std::filesystem::create_directory_symlink(parent.at("muster-other"),
                                            parent.at("muster-run-link"));
  remove_abandoned("run-");
  CHECK(std::filesystem::exists(parent.at("muster-other/owner")));
}

// Where a directory of ours is made if TMPDIR is a file system without room:
// 0: elsewhere, and nothing is left in it.
int status_with_full_tmpdir(const std::string& tmpdir) {
  constexpr int kCannotMount = 77;
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", tmpdir.c_str(), "tmpfs", 0, "size=4k") != 0) {
      ::_exit(kCannotMount);
    }
    std::ofstream(tmpdir + "/full") << std::string(8192, 'x');
    const auto made = RuntimeDir::create("full-test");
    const bool elsewhere = made && !made->path().starts_with(tmpdir);
    const bool left = std::filesystem::exists(tmpdir + "/muster-full-test");
    const bool told = writable_directories().front() != tmpdir;
    // The copy of a directory goes with its owner, which _exit() skips.
    if (made) std::filesystem::remove_all(made->path());
    ::_exit(elsewhere && !left && told ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WEXITSTATUS(status) == kCannotMount ? 0 : status;  // needs root
}

TEST_CASE("a full file system is passed over, though it takes names") {
  TemporaryDirectory parent;
  const Tmpdir set(parent.path());
  CHECK(status_with_full_tmpdir(parent.path()) == 0);
}

// Makes every flock() of this process fail, for good, as on such file systems.
bool lose_flock(int error) {
  sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_flock, 0, 1),
      BPF_STMT(BPF_RET | BPF_K,
               SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{std::size(steps), steps};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST_CASE("file systems without flock are named") {
  TemporaryDirectory parent;
  const Tmpdir set(parent.path());
  for (const int error : {ENOLCK, ENOSYS, EOPNOTSUPP}) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (!lose_flock(error)) ::_exit(77);
      const auto made = RuntimeDir::create("no-flock");
      const bool named =
          !made && made.error().why.find("flock") != std::string::npos;
      ::_exit(named && writable_directories().front() == parent.path() ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK((WEXITSTATUS(status) == 77 || status == 0));
    CHECK(std::filesystem::is_empty(parent.path()));
  }
}

TEST_CASE("a name that another user has taken keeps nobody out") {
  TemporaryDirectory parent;
  const Tmpdir set(parent.path());
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
      ::_exit(77);
    }
    for (const char* directory : {"/tmp", "/dev/shm"}) {
      if (::mount("none", directory, "tmpfs", 0, "") != 0) ::_exit(77);
    }
    ::mkdir(parent.path().c_str(), 0777);
    for (const std::string& directory : writable_candidates()) {
      const std::string path = directory + "/muster-taken";
      if (::mkdir(path.c_str(), 0777) != 0 ||
          ::chown(path.c_str(), 1234, 1234) != 0) {
        ::_exit(77);
      }
    }
    auto made = RuntimeDir::create("taken");
    if (!made || !is_own_directory(made->path()) ||
        !made->path().starts_with(parent.at("muster-taken."))) {
      ::_exit(1);
    }
    const std::string first = made->path();
    made->keep();
    // Who looks for it by its name finds the same.
    auto again = RuntimeDir::create("taken");
    ::_exit(again && again->path() == first ? 0 : 2);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK((WEXITSTATUS(status) == 77 || status == 0));
}

TEST_CASE("a link in the way is never followed") {
  TemporaryDirectory parent;
  const Tmpdir set(parent.path());
  std::filesystem::create_directory(parent.at("elsewhere"));
  std::filesystem::create_directory_symlink(parent.at("elsewhere"),
                                            parent.at("muster-link"));
  auto made = RuntimeDir::create("link");
  REQUIRE(made);
  CHECK(made->path().starts_with(parent.at("muster-link.")));
  CHECK(std::filesystem::is_empty(parent.at("elsewhere")));
}

}  // namespace
}  // namespace muster
