// SPDX-License-Identifier: Apache-2.0
// What a user may name as a file to write: files, links, devices, pipes.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>

#include "base/directory.h"
#include "base/fd.h"
#include "catch.h"
#include "temporary_directory.h"

namespace muster {
namespace {

struct stat status_of(const std::string& path) {
  struct stat info {};
  REQUIRE(::lstat(path.c_str(), &info) == 0);
  return info;
}

// In a process of its own; its exit status.
int in_child(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

constexpr int kSkipped = 77;

TEST_CASE("a device is written and stays one") {
  const TemporaryDirectory directory;
  const std::string null = directory.at("null");
  if (::mknod(null.c_str(), S_IFCHR | 0666, makedev(1, 3)) != 0) {
    WARN("needs root");
    return;
  }
  CHECK(write_file_atomically(null, "x"));
  CHECK(S_ISCHR(status_of(null).st_mode));
  const std::string full = directory.at("full");
  REQUIRE(::mknod(full.c_str(), S_IFCHR | 0666, makedev(1, 7)) == 0);
  const Status written = write_file_atomically(full, "x");
  REQUIRE_FALSE(written);
  CHECK(written.error().why == "No space left on device");
  CHECK(S_ISCHR(status_of(full).st_mode));
}

TEST_CASE("links are followed, to files that are not yet there, too") {
  const TemporaryDirectory directory;
  directory.write("in/old", "old");
  directory.link("one", "in/old");
  directory.link("two", directory.at("one"));
  directory.link("new", "in/new");
  directory.link("round", "round");
  CHECK(write_file_atomically(directory.at("two"), "x"));
  CHECK(write_file_atomically(directory.at("new"), "y"));
  CHECK_FALSE(write_file_atomically(directory.at("round"), "z"));
  CHECK(read_file(directory.at("in/old")) == "x");
  CHECK(read_file(directory.at("in/new")) == "y");
  for (const char* name : {"one", "two", "new", "round"}) {
    CHECK(S_ISLNK(status_of(directory.at(name)).st_mode));
  }
  CHECK(names_in(directory.at("in")).size() == 2);
}

TEST_CASE("descriptors are written where they stand") {
  const TemporaryDirectory directory;
  directory.write("log", "");
  directory.link("out", "/dev/stdout");
  const int status = in_child([&] {
    const UniqueFd log(
        ::open(directory.at("log").c_str(), O_WRONLY | O_CLOEXEC));
    ::dup2(log.get(), STDOUT_FILENO);
    if (!write_all(STDOUT_FILENO, "before,")) return 1;
    if (!write_file_atomically("/dev/stdout", "a,")) return 2;
    if (!write_file_atomically("/dev/fd/1", "b,")) return 3;
    if (!write_file_atomically("/proc/self/fd/1", "c,")) return 4;
    if (!write_file_atomically(directory.at("out"), "d,")) return 5;
    // Ours alone, and none at all.
    if (write_file_atomically("/dev/fd/" + std::to_string(log.get()), "e")) {
      return 6;
    }
    if (write_file_atomically("/dev/fd/987", "f")) return 7;
    return write_all(STDOUT_FILENO, "after") ? 0 : 8;
  });
  CHECK(status == 0);
  CHECK(read_file(directory.at("log")) == "before,a,b,c,d,after");
}

TEST_CASE("a pipe is written if somebody reads it") {
  const TemporaryDirectory directory;
  const std::string path = directory.at("pipe");
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const Status unread = write_file_atomically(path, "x");
  REQUIRE_FALSE(unread);
  CHECK(unread.error().why == "no process reads this pipe");
  const UniqueFd reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK));
  REQUIRE(write_file_atomically(path, "text"));
  CHECK(read_file(path) == "text");
  CHECK(S_ISFIFO(status_of(path).st_mode));
}

TEST_CASE("a reader that stops reading is not waited for without end") {
  const TemporaryDirectory directory;
  const std::string path = directory.at("pipe");
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const UniqueFd reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK));
  const Status slow = write_file_atomically(path, std::string(1 << 20, 'x'));
  REQUIRE_FALSE(slow);
  CHECK(slow.error().why == "its reader takes nothing for 10 s");
}

TEST_CASE("mode and owner of a replaced file are kept") {
  const TemporaryDirectory directory;
  directory.write("f", "old");
  REQUIRE(::chmod(directory.at("f").c_str(), 0664) == 0);
  if (::geteuid() == 0) {
    REQUIRE(::chown(directory.at("f").c_str(), 1234, 1235) == 0);
  }
  const struct stat before = status_of(directory.at("f"));
  REQUIRE(write_file_atomically(directory.at("f"), "new"));
  const struct stat after = status_of(directory.at("f"));
  CHECK(after.st_mode == before.st_mode);
  CHECK(after.st_uid == before.st_uid);
  CHECK(after.st_gid == before.st_gid);
  CHECK(after.st_ino != before.st_ino);
}

TEST_CASE("what others put into a shared directory is not obeyed") {
  if (::geteuid() != 0) {
    WARN("needs root");
    return;
  }
  const TemporaryDirectory directory;
  REQUIRE(::chmod(directory.path().c_str(), 01777) == 0);
  directory.write("in/victim", "precious");
  directory.link("link", directory.at("in/victim"));
  REQUIRE(::mkfifo(directory.at("pipe").c_str(), 0666) == 0);
  directory.write("file", "theirs");
  for (const char* name : {"link", "pipe", "file"}) {
    REQUIRE(::lchown(directory.at(name).c_str(), 1234, 1234) == 0);
  }
  CHECK_FALSE(write_file_atomically(directory.at("link"), "x"));
  CHECK_FALSE(write_file_atomically(directory.at("pipe"), "x"));
  CHECK(read_file(directory.at("in/victim")) == "precious");
  CHECK(write_file_atomically(directory.at("file"), "ours"));
  CHECK(status_of(directory.at("file")).st_uid == 0);
}

TEST_CASE("a file that is a mount is written in place") {
  const TemporaryDirectory directory;
  directory.write("from", "a longer text that was there before");
  directory.write("mount", "");
  directory.write("frozen/mount", "");
  const int status = in_child([&] {
    const auto bind = [](const std::string& from, const std::string& to) {
      return ::mount(from.c_str(), to.c_str(), nullptr, MS_BIND, nullptr) == 0;
    };
    if (::unshare(CLONE_NEWNS) != 0) return kSkipped;
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        !bind(directory.at("from"), directory.at("mount"))) {
      return kSkipped;
    }
    if (!write_file_atomically(directory.at("mount"), "one")) return 1;
    if (read_file(directory.at("from")) != "one") return 2;
    // The directory read-only, the file not.
    const std::string frozen = directory.at("frozen");
    if (!bind(frozen, frozen) ||
        ::mount(nullptr, frozen.c_str(), nullptr,
                MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) != 0) {
      return kSkipped;
    }
    const Status refused = write_file_atomically(frozen + "/mount", "two");
    if (refused || refused.error().why != "Read-only file system") return 3;
    if (!bind(directory.at("from"), frozen + "/mount")) return kSkipped;
    if (!write_file_atomically(frozen + "/mount", "three")) return 4;
    return read_file(directory.at("from")) == "three" ? 0 : 5;
  });
  if (status == kSkipped) {
    WARN("needs mount namespaces");
    return;
  }
  CHECK(status == 0);
}

TEST_CASE("a full file system keeps the old file") {
  const TemporaryDirectory directory;
  const int status = in_child([&] {
    const std::string at = directory.path();
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", at.c_str(), "tmpfs", 0, "size=64k") != 0) {
      return kSkipped;
    }
    if (!write_file_atomically(at + "/f", "old")) return 1;
    const Status full =
        write_file_atomically(at + "/f", std::string(1 << 20, 'x'));
    if (full || full.error().why != "No space left on device") return 2;
    if (read_file(at + "/f") != "old") return 3;
    return names_in(at).size() == 1 ? 0 : 4;
  });
  if (status == kSkipped) {
    WARN("needs mount namespaces");
    return;
  }
  CHECK(status == 0);
}

TEST_CASE("a name as long as names may be is written") {
  const TemporaryDirectory directory;
  CHECK(write_file_atomically(directory.at(std::string(255, 'n')), "x"));
}

}  // namespace
}  // namespace muster
