// SPDX-License-Identifier: Apache-2.0
// pid 1's decisions with real processes: a shell script stands for the agent.
#include "worker/pod/pod_worker.h"

#include <libssh/libssh.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <optional>
#include <random>
#include <stdexcept>

#include "base/fd.h"
#include "base/log.h"
#include "base/process_table.h"
#include "catch.h"
#include "sshd-lite/client.h"
#include "sshd-lite/listener.h"
#include "test_server.h"
#include "worker/pod/probe.h"
#include "worker/pod/spawner.h"

using namespace muster;
using muster::test::connect_to;
using muster::test::KeyDirectory;
using muster::test::StepByStep;

namespace {

constexpr Milliseconds kLong{60'000};  // for what never comes

// A worker in a process of its own; `script` is what its agent does.
class TestWorker {
 public:
  TestWorker(const std::string& directory, const std::string& script,
             const std::function<void(PodOptions&)>& change, int log_to = -1) {
    const std::string agent = directory + "/muster-agent";
    REQUIRE(write_file_atomically(agent, "#!/bin/sh\n" + script + "\n", 0755));
    log_ = directory + "/termination-log";
    REQUIRE(write_file_atomically(log_, ""));
    PodOptions options;
    options.address = "127.0.0.1";
    options.port = free_port();
    options.keys = key_files_in(directory);
    options.agent = agent;
    options.termination_log = log_;
    change(options);
    port_ = options.port;
    pid_ = ::fork();
    if (pid_ == 0) run(options, log_to);
    wait_for_listener();
  }
  ~TestWorker() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  TestWorker(const TestWorker&) = delete;
  TestWorker& operator=(const TestWorker&) = delete;

  [[nodiscard]] int port() const { return port_; }
  void signal(int number) const { ::kill(pid_, number); }
  [[nodiscard]] std::string termination_log() const {
    return read_file(log_).value_or("unreadable");
  }
  // nullopt: still running after `limit`.
  std::optional<int> exit_code(Milliseconds limit) {
    for (const auto end = Clock::now() + limit; Clock::now() < end;) {
      int status = 0;
      if (::waitpid(pid_, &status, WNOHANG) == pid_) {
        pid_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      }
      ::usleep(10000);
    }
    return std::nullopt;
  }

 private:
  [[noreturn]] static void run(const PodOptions& options, int log_to) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    log::Options level;
    level.level = log_to < 0 ? log::Level::kError : log::Level::kInfo;
    log::configure(level);
    if (log_to >= 0) ::dup2(log_to, STDERR_FILENO);
    Loop loop;
    PodWorker worker(loop, options);
    if (!worker.start()) ::_exit(99);
    loop.run();
    ::_exit(worker.exit_code());
  }
  // One below those that the kernel hands out by itself: no connection of
  // another test takes it before the worker does.
  static int free_port() {
    std::random_device dice;
    for (int i = 0; i < 100; ++i) {
      const int port = 15000 + static_cast<int>(dice() % 15000);
      if (listen_on("127.0.0.1", port)) return port;
    }
    FAIL("no free port");
    return 0;
  }
  void wait_for_listener() const {
    for (int i = 0; i < 3000 && !probe_live(port_); ++i) ::usleep(20000);
  }

  pid_t pid_ = -1;
  int port_ = 0;
  std::string log_;
};

// -1 if it could not be started, else its exit status.
int run_program(const TestWorker& worker, const SshKey& key,
                const std::string& command,
                const std::function<void()>& on_open = {}) {
  Loop loop;
  int result = -1;
  SshClientOptions options;
  options.identity = &key;
  options.expected_host_key = &key;
  options.command = command;
  SshClientEvents events;
  events.on_open = on_open;
  events.on_failed = [&](const Error&) { loop.stop(); };
  events.on_exit = [&](int status) {
    result = status;
    loop.stop();
  };
  SshClient client(loop, UniqueFd(connect_to(worker.port())), options, events);
  Timer deadline(loop);
  deadline.start(kLong, [&] { loop.stop(); });
  loop.run();
  return result;
}

int run_agent(const TestWorker& worker, const SshKey& key,
              const std::function<void()>& on_open = {}) {
  return run_program(worker, key, "/elsewhere/muster-agent agent", on_open);
}

struct Fixture {
  SshKey key = std::move(*SshKey::generate(KeyType::kEcdsaP256));
  KeyDirectory keys{key};

  // The agent's script is past its trap.
  [[nodiscard]] std::string say_up() const {
    return ": > " + keys.path() + "/up";
  }
  void wait_for_up() const {
    const std::string mark = keys.path() + "/up";
    for (int i = 0; i < 6000 && ::access(mark.c_str(), F_OK) != 0; ++i) {
      ::usleep(10000);
    }
  }
};

void keep_defaults(PodOptions&) {}

bool listens(int port) {
  try {
    ::close(connect_to(port));
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

}  // namespace

TEST_CASE_METHOD(Fixture, "a worker stays after a job and is ready again") {
  TestWorker worker(keys.path(), "exit 80", keep_defaults);
  CHECK(run_agent(worker, key) == 80);
  CHECK(run_agent(worker, key) == 80);
  CHECK_FALSE(worker.exit_code(Milliseconds(300)));
  const auto job_keys = find_keys(keys.path());
  // The script ignores its words: "version" ends with 80 here.
  CHECK_FALSE(probe_ready(worker.port(), *job_keys));
  CHECK(probe_live(worker.port()));
}

TEST_CASE_METHOD(Fixture, "ready means that the agent runs") {
  TestWorker worker(keys.path(), "[ \"$1\" = version ]", keep_defaults);
  const auto job_keys = find_keys(keys.path());
  CHECK(probe_ready(worker.port(), *job_keys));
  const auto other = SshKey::generate(KeyType::kEcdsaP256);
  const KeyDirectory foreign(*other);
  const auto refused = probe_ready(worker.port(), *find_keys(foreign.path()));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == "ssh_hostkey");
  // Probes are no job: no orphan clock, no release.
  CHECK_FALSE(worker.exit_code(Milliseconds(300)));
}

TEST_CASE_METHOD(Fixture, "a released worker leaves with 0") {
  TestWorker worker(keys.path(), "exit 80",
                    [](PodOptions& o) { o.release_on_success = true; });
  CHECK(run_agent(worker, key) == 80);
  CHECK(worker.exit_code(kLong) == 0);
  CHECK(worker.termination_log().empty());
}

TEST_CASE_METHOD(Fixture, "only the final success releases") {
  TestWorker worker(keys.path(), "exit 0",
                    [](PodOptions& o) { o.release_on_success = true; });
  CHECK(run_agent(worker, key) == 0);
  CHECK_FALSE(worker.exit_code(Milliseconds(500)));
}

TEST_CASE_METHOD(Fixture, "a worker whose launcher is gone leaves with 201") {
  TestWorker worker(keys.path(), "exit 3",
                    [](PodOptions& o) { o.orphan_grace = Milliseconds(400); });
  CHECK(run_agent(worker, key) == 3);
  CHECK(worker.exit_code(kLong) == 201);
  CHECK(worker.termination_log().find("launcher") != std::string::npos);
}

TEST_CASE_METHOD(Fixture, "a worker goes on whose log nobody reads") {
  auto log = make_pipe();
  set_nonblocking(log->write.get());
  while (::write(log->write.get(), "full\n", 5) > 0) {
  }
  set_nonblocking(log->write.get(), false);
  TestWorker worker(
      keys.path(), "exit 80",
      [](PodOptions& o) { o.release_on_success = true; }, log->write.get());
  CHECK(run_agent(worker, key) == 80);
  CHECK(worker.exit_code(Milliseconds(20'000)) == 0);
}

TEST_CASE_METHOD(Fixture, "a signal does not prolong a goodbye") {
  TestWorker worker(keys.path(), "exit 3", [](PodOptions& o) {
    o.allow_any_command = true;
    o.orphan_grace = Milliseconds(200);
    o.stop_grace = Milliseconds(20'000);
  });
  const pid_t guest = ::fork();
  if (guest == 0) {
    run_program(worker, key, "trap '' TERM; " + say_up() + "; sleep 60");
    ::_exit(0);
  }
  wait_for_up();
  CHECK(run_agent(worker, key) == 3);
  for (int i = 0; i < 1000 && worker.termination_log().empty(); ++i) {
    ::usleep(10000);
  }
  worker.signal(SIGTERM);
  CHECK(worker.exit_code(Milliseconds(10'000)) == 201);
  ::kill(guest, SIGKILL);
  ::waitpid(guest, nullptr, 0);
}

TEST_CASE_METHOD(Fixture, "a returning launcher stops the orphan clock") {
  TestWorker worker(keys.path(),
                    "[ -e " + keys.path() +
                        "/second ] && exec sleep 3\n"
                        "touch " +
                        keys.path() + "/second; exit 3",
                    [](PodOptions& o) { o.orphan_grace = Milliseconds(2500); });
  CHECK(run_agent(worker, key) == 3);
  CHECK(run_agent(worker, key) == 0);
  CHECK_FALSE(worker.exit_code(Milliseconds(200)));
}

TEST_CASE_METHOD(Fixture, "an idle worker stops with 0") {
  TestWorker worker(keys.path(), "exit 0", keep_defaults);
  worker.signal(SIGTERM);
  CHECK(worker.exit_code(kLong) == 0);
}

TEST_CASE_METHOD(Fixture, "SIGTERM reaches the agent, and the client hears") {
  TestWorker worker(
      keys.path(),
      "trap 'exit 7' TERM\n" + say_up() + "\nwhile :; do sleep 0.05; done",
      keep_defaults);
  CHECK(run_agent(worker, key, [&] {
          wait_for_up();
          worker.signal(SIGTERM);
        }) == 7);
  CHECK(worker.exit_code(kLong) == 143);
}

TEST_CASE_METHOD(Fixture, "an agent that ignores SIGTERM is killed") {
  TestWorker worker(
      keys.path(),
      "trap '' TERM\n" + say_up() + "\nwhile :; do sleep 0.05; done",
      [](PodOptions& o) { o.stop_grace = Milliseconds(300); });
  CHECK(run_agent(worker, key, [&] {
          wait_for_up();
          worker.signal(SIGTERM);
        }) == 128 + SIGKILL);
  CHECK(worker.exit_code(kLong) == 143);
}

TEST_CASE_METHOD(Fixture, "a worker that is told to stop starts nothing more") {
  TestWorker worker(keys.path(), "sleep 60", [](PodOptions& o) {
    o.allow_any_command = true;
    o.stop_grace = Milliseconds(20'000);
  });
  const pid_t guest = ::fork();
  if (guest == 0) {
    run_program(worker, key,
                "trap 'sleep 3; exit' TERM; " + say_up() +
                    "; while :; do sleep 0.05; done");
    ::_exit(0);
  }
  wait_for_up();
  StepByStep late(worker.port());
  REQUIRE(late.offer(key) == SSH_AUTH_SUCCESS);
  worker.signal(SIGTERM);
  while (listens(worker.port())) ::usleep(10'000);
  ssh_channel channel = ssh_channel_new(late.session());
  REQUIRE(ssh_channel_open_session(channel) == SSH_OK);
  CHECK(ssh_channel_request_exec(channel, "muster-agent agent") == SSH_ERROR);
  // Were it there, it would have to be killed.
  CHECK(worker.exit_code(Milliseconds(15'000)) == 0);
  ::waitpid(guest, nullptr, 0);
}

TEST_CASE_METHOD(Fixture, "what an agent leaves behind is ended") {
  const std::string mark = "MUSTER_TEST_LEFTOVER";
  // One that hides in a session of its own, one that ignores TERM.
  TestWorker worker(keys.path(),
                    "export " + mark + "=" + keys.path() +
                        "\nsetsid sleep 300 >/dev/null 2>&1 &\n"
                        "(trap '' TERM; exec sleep 300) >/dev/null 2>&1 &\n"
                        "sleep 0.1; exit 0",
                    keep_defaults);
  CHECK(run_agent(worker, key) == 0);
  size_t left = 99;
  for (int i = 0; i < 1200 && left > 0; ++i) {
    ::usleep(50000);
    left = processes_with_env(mark, keys.path()).size();
  }
  CHECK(left == 0);
}

TEST_CASE("a port in use is one sentence with the likely cause") {
  const auto first = listen_on("127.0.0.1", 0);
  REQUIRE(first);
  const auto second = listen_on("127.0.0.1", local_port(first->get()));
  REQUIRE_FALSE(second);
  CHECK(second.error().code == "port_in_use");
  CHECK(second.error().hint.find("hostNetwork") != std::string::npos);
  CHECK_FALSE(listen_on("localhost", 0));
}

TEST_CASE("a refused command is quoted without its secrets") {
  Loop loop;
  Reaper reaper(loop);
  Spawner spawner(
      loop, reaper, {{}, {{"DB_PASS", "correct horse"}}, Milliseconds{100}},
      [](const ProgramExit&) {}, [] {});
  for (const auto& [command, shown] :
       {std::pair{"curl -u me:hunter2x9 https://x",
                  "not \"curl -u me:[masked] https://x\""},
        std::pair{"run-it with correct horse",
                  "not \"run-it with [masked]\""}}) {
    const auto refused = spawner.start(1, ExecRequest{command, {}});
    REQUIRE_FALSE(refused);
    CAPTURE(refused.error().text());
    CHECK(refused.error().text().find(shown) != std::string::npos);
  }
}
