// SPDX-License-Identifier: Apache-2.0
// Where a process of ours is, and that it is none the worse for the question.
#include "stacks/process_stack.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <set>

#include "base/fd.h"
#include "catch.h"
#include "stacks/thread_freeze.h"

using namespace muster;

// Not in an anonymous namespace: their names are looked for.
extern "C" {
// Both say by a byte that they are there.
[[gnu::noinline]] void wait_for_ever(int pipe, int there) {
  char byte = 0;
  if (::write(there, "w", 1) != 1) return;
  while (::read(pipe, &byte, 1) > 0) {
  }
  asm volatile("");
}
[[gnu::noinline]] void spin_for_ever(volatile bool* there) {
  for (;;) *there = true;
}
}

namespace {

struct Child {
  explicit Child(bool spins) {
    auto made = make_pipe();
    REQUIRE(made);
    pipe = std::move(*made);
    auto told = std::move(*make_pipe());
    spinning = static_cast<volatile bool*>(
        ::mmap(nullptr, sizeof(bool), PROT_READ | PROT_WRITE,
               MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    pid = ::fork();
    if (pid == 0) {
      ::signal(SIGTERM, SIG_DFL);  // Catch's handler is not for children
      pipe.write.reset();
      if (spins) spin_for_ever(spinning);
      wait_for_ever(pipe.read.get(), told.write.get());
      ::_exit(7);
    }
    told.write.reset();
    if (spins) {
      while (!*spinning) ::usleep(1000);
      return;
    }
    char byte = 0;
    REQUIRE(::read(told.read.get(), &byte, 1) == 1);
    const std::string stat = "/proc/" + std::to_string(pid) + "/stat";
    while (read_file(stat).value_or("").find(") S ") == std::string::npos) {
      ::usleep(1000);
    }
  }
  ~Child() {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    ::munmap(const_cast<bool*>(spinning), sizeof(bool));
  }
  Pipe pipe;
  pid_t pid = 0;
  volatile bool* spinning = nullptr;
};

StackSnapshot look_at(pid_t pid) {
  const auto frozen = freeze(pid);
  INFO((frozen ? "" : frozen.error().text()));
  REQUIRE(frozen);
  int status = 0;
  REQUIRE(::waitpid(pid, &status, __WALL) == pid);
  auto snapshot = copy_and_thaw(pid, status);
  REQUIRE(snapshot);
  return std::move(*snapshot);
}

std::vector<std::string> names(const StackSnapshot& snapshot) {
  std::vector<std::string> out;
  for (const StackFrame& frame : StackReader().frames(snapshot)) {
    out.push_back(frame.function);
  }
  return out;
}

bool has(const std::vector<std::string>& all, const std::string& name) {
  return std::find(all.begin(), all.end(), name) != all.end();
}

}  // namespace

TEST_CASE("a process that waits or spins is found in its function") {
  const Child waits(false);
  const auto in_read = names(look_at(waits.pid));
  CHECK(has(in_read, "wait_for_ever"));
  CHECK(in_read.size() > 2);
  const Child spins(true);
  CHECK(names(look_at(spins.pid)).front() == "spin_for_ever");
}

TEST_CASE("it goes on as if nothing had been") {
  Child child(false);
  for (int i = 0; i < 20; ++i) look_at(child.pid);
  child.pipe.write.reset();  // its read() ends, and so does it
  int status = 0;
  REQUIRE(::waitpid(child.pid, &status, 0) == child.pid);
  CHECK(WEXITSTATUS(status) == 7);
}

TEST_CASE("a signal that comes just then is not lost") {
  Child child(false);
  REQUIRE(freeze(child.pid));
  ::kill(child.pid, SIGTERM);
  int status = 0;
  REQUIRE(::waitpid(child.pid, &status, __WALL) == child.pid);
  REQUIRE(copy_and_thaw(child.pid, status));
  REQUIRE(::waitpid(child.pid, &status, 0) == child.pid);
  CHECK(WTERMSIG(status) == SIGTERM);
}

TEST_CASE("processes that cannot be looked at say why") {
  const auto gone = freeze(999'999'999);
  REQUIRE_FALSE(gone);
  CHECK(gone.error().code == "not_traceable");
}

TEST_CASE("broken stacks and broken files end the list and nothing else") {
  const Child child(false);
  const StackSnapshot good = look_at(child.pid);
  std::minstd_rand random(7);
  StackReader reader;
  for (int i = 0; i < 40; ++i) {
    StackSnapshot bad = good;
    for (int n = 0; n < 40; ++n) {
      bad.stack[random() % bad.stack.size()] = static_cast<char>(random());
    }
    bad.registers.values[random() % CallRegisters::kCount] = random();
    CHECK(reader.frames(bad).size() <= StackReader::kMaxFrames);
  }
  const auto program = read_file("/proc/self/exe", 512 << 20);
  REQUIRE(program);
  const std::string path = "/tmp/muster-test-elf-" + std::to_string(::getpid());
  for (int i = 0; i < 50; ++i) {
    std::string bytes = program->substr(0, 64 << 10);
    for (int n = 0; n < 8; ++n) bytes[16 + random() % 800] = '\xff';
    const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600));
    REQUIRE(write_all(fd.get(), bytes));
    if (const auto file = ElfFile::open(path)) {
      static_cast<void>(file->function_at(0x1000));
      static_cast<void>(caller_of(*file, 0x1000, good.registers, [](uint64_t) {
        return std::optional<uint64_t>(0);
      }));
    }
  }
  ::unlink(path.c_str());
}

TEST_CASE("maps are read, and only what can be executed") {
  const auto maps = parse_maps(
      "55d0-55e0 r-xp 00002000 08:01 12   /usr/bin/a b\n"
      "55f0-55ff rw-p 00000000 08:01 12   /usr/bin/c\n"
      "7f00-7f10 r-xp 00000000 00:00 0    [vdso]\nnonsense\n");
  REQUIRE(maps.size() == 2);
  CHECK(maps[0].begin == 0x55d0);
  CHECK(maps[0].offset == 0x2000);
  CHECK(maps[0].path == "/usr/bin/a b");
  CHECK(maps[1].path == "[vdso]");
}

namespace {

// "mark" of the caller of the function that begins so; empty: it is not there.
std::string mark_behind(const StackSnapshot& snapshot, const char* function) {
  const auto frames = StackReader().frames(snapshot);
  for (size_t i = 0; i + 1 < frames.size(); ++i) {
    if (frames[i].function == function) {
      return stack_mark(snapshot, frames[i + 1]);
    }
  }
  return {};
}

}  // namespace

// Comes back from its call a thousand times a second.
extern "C" {
[[gnu::noinline]] void inner_call(volatile int* turn) {
  ::usleep(1000);
  *turn = *turn + 1;
}
[[gnu::noinline]] void calls_again() {
  volatile int turn = 0;
  for (;;) inner_call(&turn);
}
}

TEST_CASE("marks are compared as far as they are known") {
  CHECK(same_mark("7f-a", "7f-a"));
  CHECK_FALSE(same_mark("7f-a", "7f-b"));
  CHECK(same_mark("7f-a", "7f"));
  CHECK(same_mark("7f", "7f-a"));
  CHECK_FALSE(same_mark("7f", "80-a"));
}

TEST_CASE("the mark of callers stays while a call goes on, and no longer") {
  Child child(true);  // spins: its innermost frame is another each time
  const std::string mark = mark_behind(look_at(child.pid), "spin_for_ever");
  CHECK_FALSE(mark.empty());
  for (int i = 0; i < 5; ++i) {
    ::usleep(2000);
    CHECK(mark_behind(look_at(child.pid), "spin_for_ever") == mark);
  }
  const pid_t again = ::fork();
  if (again == 0) {
    ::signal(SIGTERM, SIG_DFL);
    calls_again();
  }
  std::set<std::string> marks;
  for (int i = 0; i < 20'000 && marks.size() < 2; ++i) {
    ::usleep(1000);
    const std::string one = mark_behind(look_at(again), "inner_call");
    if (!one.empty()) marks.insert(one);
  }
  ::kill(again, SIGKILL);
  ::waitpid(again, nullptr, 0);
  CHECK(marks.size() == 2);
}
