// SPDX-License-Identifier: Apache-2.0
// `muster-agent ssh` and the launcher's RelayServer, end to end.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "agent_harness.h"
#include "base/loop.h"
#include "base/runtime_dir.h"
#include "base/spawn.h"
#include "catch.h"
#include "wire/frame.h"
#include "wire/relay_server.h"

using namespace muster;
using wire::RelayRequest;
using wire::RelayServer;

namespace {

// A launcher with nothing but a relay socket, and the relays it serves.
struct Bed {
  Loop loop;
  RuntimeDir dir;
  RelayServer::Callbacks callbacks;
  std::optional<RelayServer> server;
  std::optional<RelayRequest> request;
  std::string stdin_bytes;
  bool stdin_ended = false;
  bool hung_up = false;
  uint64_t written = 0;
  uint32_t id = 0;
  pid_t pid = 0;
  UniqueFd in;
  UniqueFd out;
  UniqueFd err;

  Bed() {
    dir = *RuntimeDir::create(test::unique_name("relay"));
    callbacks.on_request = [this](uint32_t new_id, const RelayRequest& r) {
      id = new_id;
      request = r;
    };
    callbacks.on_stdin = [this](uint32_t from, std::string_view bytes) {
      stdin_bytes.append(bytes);
      server->stdin_credit(from, static_cast<uint32_t>(bytes.size()));
    };
    callbacks.on_stdin_eof = [this](uint32_t) { stdin_ended = true; };
    callbacks.on_hangup = [this](uint32_t) { hung_up = true; };
    callbacks.on_written = [this](uint32_t, uint8_t, uint32_t bytes) {
      written += bytes;
    };
    server.emplace(loop, callbacks);
    REQUIRE(server->listen(dir.path() + "/launcher.sock"));
  }
  ~Bed() {
    if (pid != 0) ::kill(pid, SIGKILL);
    if (pid != 0) ::waitpid(pid, nullptr, 0);
  }

  // `hint`: the socket's path in the environment, else the parent chain.
  void start(std::vector<std::string> args, bool hint = true,
             std::vector<std::string> command = {test::agent_binary(), "ssh"}) {
    auto in_pipe = make_pipe();
    auto out_pipe = make_pipe();
    auto err_pipe = make_pipe();
    SpawnOptions options;
    options.argv = std::move(command);
    options.argv.insert(options.argv.end(), args.begin(), args.end());
    options.env = current_environment();
    if (hint) {
      set_env(options.env, "MUSTER_LAUNCHER_SOCKET",
              dir.path() + "/launcher.sock");
    }
    options.fds = {{in_pipe->read.get(), 0},
                   {out_pipe->write.get(), 1},
                   {err_pipe->write.get(), 2}};
    const auto child = spawn(options);
    REQUIRE(child);
    pid = *child;
    in = std::move(in_pipe->write);
    out = std::move(out_pipe->read);
    err = std::move(err_pipe->read);
  }
  bool run_until(const std::function<bool()>& done, int limit_ms = 60000) {
    if (done()) return true;  // a stop before run() would be lost
    Timer deadline(loop);
    Timer poll(loop);
    deadline.start(Milliseconds(limit_ms), [this] { loop.stop(); });
    std::function<void()> check = [&] {
      if (done()) return loop.stop();
      poll.start(Milliseconds(2), check);
    };
    poll.start(Milliseconds(2), check);
    loop.run();
    return done();
  }
  int wait_exit() {
    int status = -1;
    if (!run_until([this, &status] {
          if (pid != 0 && ::waitpid(pid, &status, WNOHANG) == pid) pid = 0;
          return pid == 0;
        })) {
      return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }
  static std::string drain(const UniqueFd& fd) {
    std::string text;
    char buffer[4096];
    for (ssize_t n; (n = ::read(fd.get(), buffer, sizeof buffer)) > 0;) {
      text.append(buffer, static_cast<size_t>(n));
    }
    return text;
  }
};

}  // namespace

TEST_CASE("a relayed command: request, both streams, exit code") {
  Bed bed;
  bed.start({"-x", "-o", "BatchMode=yes", "user@worker-1", "orted", "--flag",
             "\"a b\""});
  REQUIRE(bed.run_until([&] { return bed.request.has_value(); }));
  CHECK(bed.request->host == "worker-1");
  CHECK(bed.request->command == "orted --flag \"a b\"");
  CHECK(bed.request->stdin_open);
  bed.server->output(bed.id, wire::kStdout, "to out\n");
  bed.server->output(bed.id, wire::kStderr, "to err\n");
  bed.server->exited(bed.id, 7 << 8);
  CHECK(bed.wait_exit() == 7);
  CHECK(Bed::drain(bed.out) == "to out\n");
  CHECK(Bed::drain(bed.err) == "to err\n");
  CHECK(bed.written == 14);
  CHECK_FALSE(bed.hung_up);
}

TEST_CASE("under the name ssh it goes through the launcher, too") {
  Bed bed;
  const std::string ssh = bed.dir.path() + "/ssh";
  std::filesystem::create_symlink(test::agent_binary(), ssh);
  bed.start({"-q", "h", "true"}, true, {ssh});
  REQUIRE(bed.run_until([&] { return bed.request.has_value(); }));
  CHECK(bed.request->command == "true");
  bed.server->exited(bed.id, 0);
  CHECK(bed.wait_exit() == 0);
}

TEST_CASE("a launcher above is found without a hint") {
  Bed bed;
  bed.start({"h", "true"}, false);
  REQUIRE(bed.run_until([&] { return bed.request.has_value(); }));
  bed.server->exited(bed.id, SIGKILL);
  CHECK(bed.wait_exit() == 128 + SIGKILL);
}

TEST_CASE("stdin flows within credit and ends with EOF") {
  Bed bed;
  bed.start({"h", "cat"});
  REQUIRE(bed.run_until([&] { return bed.request.has_value(); }));
  const std::string sent(50000, 'i');
  set_nonblocking(bed.in.get());
  REQUIRE(write_all(bed.in.get(), sent));
  CHECK_FALSE(bed.run_until([&] { return !bed.stdin_bytes.empty(); }, 200));
  bed.server->stdin_credit(bed.id, 1000);
  REQUIRE(bed.run_until([&] { return bed.stdin_bytes.size() == sent.size(); }));
  CHECK(bed.stdin_bytes == sent);
  CHECK_FALSE(bed.stdin_ended);
  bed.in.reset();
  REQUIRE(bed.run_until([&] { return bed.stdin_ended; }));
  bed.server->output(bed.id, wire::kStdout, "after eof\n");
  bed.server->exited(bed.id, 0);
  CHECK(bed.wait_exit() == 0);
  CHECK(Bed::drain(bed.out) == "after eof\n");
}

TEST_CASE("-n sends no stdin") {
  Bed bed;
  bed.start({"-n", "h", "cat"});
  REQUIRE(bed.run_until([&] { return bed.request.has_value(); }));
  CHECK_FALSE(bed.request->stdin_open);
  bed.server->exited(bed.id, 0);
  CHECK(bed.wait_exit() == 0);
}

TEST_CASE("a reader that stalls holds back on_written") {
  Bed bed;
  bed.start({"h", "yes"});
  REQUIRE(bed.run_until([&] { return bed.request.has_value(); }));
  const std::string piece(32 * 1024, 'o');
  for (int i = 0; i < 64; ++i) {
    bed.server->output(bed.id, wire::kStdout, piece);
  }
  CHECK_FALSE(
      bed.run_until([&] { return bed.written == 64 * piece.size(); }, 300));
  bed.server->exited(bed.id, 0);
  std::string text;
  char buffer[65536];
  set_nonblocking(bed.out.get());
  REQUIRE(bed.run_until([&] {
    const ssize_t n = ::read(bed.out.get(), buffer, sizeof buffer);
    if (n > 0) text.append(buffer, static_cast<size_t>(n));
    return text.size() == 64 * piece.size();
  }));
  CHECK(bed.wait_exit() == 0);
  CHECK(bed.written == 64 * piece.size());
}

TEST_CASE("what cannot be run is a sentence and 255") {
  Bed bed;
  bed.start({"nowhere", "true"});
  REQUIRE(bed.run_until([&] { return bed.request.has_value(); }));
  bed.server->failed(bed.id, "no worker is called nowhere");
  CHECK(bed.wait_exit() == 255);
  CHECK(Bed::drain(bed.err) == "muster ssh: no worker is called nowhere\n");
}

TEST_CASE("a launcher that goes away ends the relay with 255") {
  Bed bed;
  bed.start({"h", "true"});
  REQUIRE(bed.run_until([&] { return bed.request.has_value(); }));
  bed.server.reset();
  CHECK(bed.wait_exit() == 255);
  CHECK(Bed::drain(bed.err).find("closed the connection") != std::string::npos);
}

TEST_CASE("a relay that is killed is a hangup") {
  Bed bed;
  bed.start({"h", "true"});
  REQUIRE(bed.run_until([&] { return bed.request.has_value(); }));
  ::kill(bed.pid, SIGTERM);
  REQUIRE(bed.run_until([&] { return bed.hung_up; }));
}

TEST_CASE("without a launcher the relay says so") {
  Bed bed;
  bed.server.reset();
  bed.start({"h", "true"}, false);
  CHECK(bed.wait_exit() == 255);
  CHECK(Bed::drain(bed.err).find("no muster launcher") != std::string::npos);
}
