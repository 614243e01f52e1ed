// SPDX-License-Identifier: Apache-2.0
// Timers, descriptors and signals of the loop, above all what happens to
// objects that go away inside their own callbacks.
#include "base/loop.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "base/fd.h"
#include "catch.h"
#include "temporary_directory.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

// Runs until stop(), but never longer than 10 s.
void run(Loop& loop) {
  bool late = false;
  Timer guard(loop);
  guard.start(10s, [&] {
    late = true;
    loop.stop();
  });
  loop.run();
  CHECK_FALSE(late);
}

TEST_CASE("timers fire in order, once") {
  Loop loop;
  std::string order;
  Timer a(loop);
  Timer b(loop);
  b.start(20ms, [&] {
    order += "b";
    loop.stop();
  });
  a.start(1ms, [&] { order += "a"; });
  CHECK(a.pending());
  run(loop);
  CHECK(order == "ab");
  CHECK_FALSE(a.pending());
}

TEST_CASE("a timer started again forgets its first task") {
  Loop loop;
  std::string order;
  Timer timer(loop);
  timer.start(1ms, [&] { order += "old"; });
  timer.start(2ms, [&] {
    order += "new";
    timer.start(1ms, [&] {  // from its own callback
      order += "again";
      loop.stop();
    });
  });
  run(loop);
  CHECK(order == "newagain");
}

TEST_CASE("a cancelled or destroyed timer stays silent") {
  Loop loop;
  bool fired = false;
  Timer cancelled(loop);
  auto destroyed = std::make_unique<Timer>(loop);
  // Both are due when the first callback runs, so their handlers are queued.
  Timer first(loop);
  first.start(1ms, [&] {
    std::this_thread::sleep_for(10ms);
    cancelled.cancel();
    destroyed.reset();
  });
  cancelled.start(2ms, [&] { fired = true; });
  destroyed->start(2ms, [&] { fired = true; });
  Timer end(loop);
  end.start(50ms, [&] { loop.stop(); });
  run(loop);
  CHECK_FALSE(fired);
}

TEST_CASE("a callback may destroy its timer") {
  Loop loop;
  auto timer = std::make_unique<Timer>(loop);
  timer->start(1ms, [&] {
    timer.reset();
    loop.stop();
  });
  run(loop);
  CHECK_FALSE(timer);
}

TEST_CASE("post works from another thread, and run() again after stop()") {
  Loop loop;
  std::thread other([&] { loop.post([&] { loop.stop(); }); });
  run(loop);
  other.join();
  loop.post([&] { loop.stop(); });
  run(loop);
}

TEST_CASE("a pipe is readable until it is empty") {
  Loop loop;
  auto pipe = make_pipe();
  REQUIRE(pipe);
  REQUIRE(write_all(pipe->write.get(), "abc"));
  std::string seen;
  FdWatch watch(loop, pipe->read.get());
  watch.on_readable([&] {  // level-triggered: one byte at a time is enough
    char byte = 0;
    if (::read(pipe->read.get(), &byte, 1) == 1) seen += byte;
    if (seen.size() == 3) {
      watch.stop_reading();
      loop.stop();
    }
  });
  run(loop);
  CHECK(seen == "abc");
}

// Of two watches of one descriptor the second is refused by epoll, as the
// first of a user that has too many.
TEST_CASE("a watch that epoll does not take works all the same") {
  Loop loop;
  auto sockets = make_socketpair(SOCK_STREAM);
  REQUIRE(sockets);
  const int fd = sockets->read.get();
  const FdWatch taken(loop, fd);
  std::string seen;
  FdWatch watch(loop, fd);
  watch.on_writable([&] {
    watch.stop_writing();
    seen += "w";
    REQUIRE(write_all(sockets->write.get(), "x"));
    watch.on_readable([&] {
      char byte = 0;
      if (::read(fd, &byte, 1) == 1) seen += byte;
      loop.stop();
    });
  });
  run(loop);
  CHECK(seen == "wx");
}

TEST_CASE("a watch of nothing waits, and harms nobody") {
  Loop loop;
  FdWatch watch(loop, -1);
  bool called = false;
  watch.on_readable([&] { called = true; });
  Timer end(loop);
  end.start(50ms, [&] { loop.stop(); });
  run(loop);
  CHECK_FALSE(called);
}

TEST_CASE("stop and start again from the callback") {
  Loop loop;
  auto pipe = make_pipe();
  REQUIRE(pipe);
  REQUIRE(write_all(pipe->write.get(), "x"));
  int calls = 0;
  FdWatch watch(loop, pipe->read.get());
  std::function<void()> ready = [&] {
    if (++calls == 3) return loop.stop();
    watch.stop_reading();
    watch.on_readable(ready);
  };
  watch.on_readable(ready);
  run(loop);
  CHECK(calls == 3);
}

TEST_CASE("a callback may destroy its watch") {
  Loop loop;
  auto pipe = make_pipe();
  REQUIRE(pipe);
  auto watch = std::make_unique<FdWatch>(loop, pipe->write.get());
  watch->on_writable([&] {
    watch.reset();
    loop.stop();
  });
  run(loop);
  CHECK(::fcntl(pipe->write.get(), F_GETFD) >= 0);  // the caller's to close
}

TEST_CASE("a closed peer is readable") {
  Loop loop;
  auto pipe = make_pipe();
  REQUIRE(pipe);
  pipe->write.reset();
  FdWatch watch(loop, pipe->read.get());
  watch.on_readable([&] {
    watch.stop_reading();
    loop.stop();
  });
  run(loop);
}

TEST_CASE("regular files are always ready") {
  Loop loop;
  TemporaryDirectory directory;
  directory.write("f", "ab");
  const UniqueFd file(::open(directory.at("f").c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(file);
  std::string seen;
  FdWatch watch(loop, file.get());
  watch.on_readable([&] {
    char byte = 0;
    if (::read(file.get(), &byte, 1) == 1) {
      seen += byte;
      return;
    }
    watch.stop_reading();
    loop.stop();
  });
  run(loop);
  CHECK(seen == "ab");
  watch.on_writable([&] {
    watch.stop_writing();
    loop.stop();
  });
  run(loop);
}

// epoll takes none of them, and none of them ever makes anybody wait.
TEST_CASE("devices and directories are always ready") {
  for (const char* path : {"/dev/null", "/dev/zero", "/"}) {
    Loop loop;
    const UniqueFd file(::open(path, O_RDONLY | O_CLOEXEC));
    REQUIRE(file);
    int calls = 0;
    FdWatch watch(loop, file.get());
    watch.on_readable([&] {
      if (++calls < 3) return;
      watch.stop_reading();
      loop.stop();
    });
    run(loop);
    CHECK(calls == 3);
  }
}

// Others share the description: the shell, the next program of a script.
TEST_CASE("a descriptor that blocks goes on blocking") {
  Loop loop;
  auto pipe = make_pipe();
  REQUIRE(pipe);
  {
    FdWatch watch(loop, pipe->read.get());
    watch.on_readable([&] {
      watch.stop_reading();
      loop.stop();
    });
    REQUIRE(write_all(pipe->write.get(), "x"));
    run(loop);
    CHECK((::fcntl(pipe->read.get(), F_GETFL) & O_NONBLOCK) == 0);
  }
  CHECK((::fcntl(pipe->read.get(), F_GETFL) & O_NONBLOCK) == 0);
}

TEST_CASE("what somebody else has read first makes nobody wait") {
  Loop loop;
  auto pipe = make_pipe();
  REQUIRE(pipe);
  REQUIRE(write_all(pipe->write.get(), "x"));
  FdWatch first(loop, pipe->read.get());
  const UniqueFd same(::fcntl(pipe->read.get(), F_DUPFD_CLOEXEC, 0));
  FdWatch second(loop, same.get());
  int calls = 0;
  const auto take = [&] {
    char byte = 0;
    calls += static_cast<int>(::read(pipe->read.get(), &byte, 1));
  };
  first.on_readable(take);
  second.on_readable(take);
  Timer end(loop);
  end.start(100ms, [&] { loop.stop(); });
  ::alarm(20);  // should a read wait all the same
  run(loop);
  ::alarm(0);
  CHECK(calls == 1);
}

TEST_CASE("a delay of centuries is not over at once") {
  Loop loop;
  Timer century(loop);
  Timer end(loop);
  bool fired = false;
  for (const Milliseconds delay :
       {Milliseconds{86'400'000'000'000}, Milliseconds::max()}) {
    century.start(delay, [&] { fired = true; });
    end.start(20ms, [&] { loop.stop(); });
    run(loop);
  }
  CHECK_FALSE(fired);
}

TEST_CASE("signals arrive with their sender") {
  sigset_t before;
  ::sigprocmask(SIG_SETMASK, nullptr, &before);
  {
    Loop loop;
    pid_t sender = 0;
    SignalWatch watch(loop, {SIGUSR1}, [&](const signalfd_siginfo& info) {
      sender = static_cast<pid_t>(info.ssi_pid);
      loop.stop();
    });
    ::kill(::getpid(), SIGUSR1);
    run(loop);
    CHECK(sender == ::getpid());
  }
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace
}  // namespace muster
