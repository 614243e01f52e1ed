// SPDX-License-Identifier: Apache-2.0
// Starting, output, stdin, signals, stopping.
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>

#include "agent_harness.h"
#include "base/process_table.h"
#include "catch.h"
#include "job/cpu_list.h"
#include "wire/modex_messages.h"
#include "worker/processes/agent_process.h"

using namespace muster;
using muster::test::AgentHarness;
using muster::test::eventually;
using wire::FrameType;

namespace {

// Pieces end at a line's end, or are part of a line and of no other.
bool every_piece_is_whole(const test::ProcessLog& log) {
  for (const std::string& piece : log.out_pieces) {
    if (piece.size() > 32 * 1024) return false;
    if (piece.empty() || piece.back() == '\n') continue;
    if (piece.find('\n') != std::string::npos) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("both streams and the exit code arrive") {
  AgentHarness agent;
  REQUIRE(agent.say_hello());
  REQUIRE(agent.start(7, "echo out; echo err >&2; exit 3"));
  REQUIRE(agent.wait_exit(7));
  const auto& log = agent.processes[7];
  CHECK(log.out == "out\n");
  CHECK(log.err == "err\n");
  CHECK(WEXITSTATUS(log.exited->wait_status) == 3);
  CHECK(log.ended_before_exit);
  CHECK(log.exited->bytes_lost == 0);
  CHECK(log.exited->max_rss_kib > 0);
}

// The kernel has no CPU 9000: sched_setaffinity() says EINVAL.
TEST_CASE("a rank that is not bound is told, and what PMIx says of it is so") {
  AgentHarness agent;
  REQUIRE(agent.say_hello());
  const std::string here = std::to_string(::sched_getcpu());
  wire::JobMap map;
  map.nspace = test::unique_name("n");
  map.size = 3;
  map.nodes = {{"w-0", "0-2"}};
  map.cpus = {"9000", here, here + ",9000"};
  agent.send(FrameType::kJobMap, 0, wire::to_json(map));
  for (int rank = 0; rank < map.size; ++rank) {
    wire::StartRequest request;
    request.kind = wire::ProcessKind::kRank;
    request.rank = rank;
    request.cpus = *parse_cpu_list(map.cpus[static_cast<size_t>(rank)]);
    request.argv = {"/bin/sh", "-c",
                    "echo \"${PMIX_RANK:-$PMI_RANK} "
                    "${PMIX_RANK:+$OMPI_MCA_orte_base_applied_binding}\""};
    const auto id = static_cast<uint32_t>(rank + 1);
    REQUIRE(agent.start(id, request));
    REQUIRE(agent.wait_exit(id));
  }
  std::string told;
  for (const wire::Frame& frame : agent.frames[FrameType::kLog]) {
    const auto line = wire::from_json<wire::LogLine>(frame.payload);
    if (line && line->text.find("bound") != std::string::npos) {
      told += line->level + ": " + line->text + "\n";
    }
  }
  CHECK(told == "warn: rank 0 is not bound to CPUs 9000: Invalid argument\n");
  CHECK(agent.processes[1].out == "0 \n");
  if (agent.processes[2].out != "1 \n") {  // built with PMIx, and it is there
    CHECK(agent.processes[2].out == "1 " + here + "\n");
    CHECK(agent.processes[3].out == "2 " + here + "\n");
  }
}

TEST_CASE("that a rank loads MPI is seen, not where torch brings it along") {
  AgentHarness agent;
  REQUIRE(agent.say_hello());
  const std::string files =
      "d=$(mktemp -d) && trap 'rm -r $d' EXIT && "
      "cp $(command -v sleep) $d/libmpi.so.40 && "
      "cp $(grep -om1 '/.*/libc[.-].*' /proc/self/maps) "
      "$d/libtorch_cpu.so.2 && cd $d && ";
  REQUIRE(agent.start(1, files + "./libmpi.so.40 1"));
  REQUIRE(agent.start(2, files + "LD_PRELOAD=./libtorch_cpu.so.2 "
                                 "./libmpi.so.40 1"));
  REQUIRE(agent.wait_exit(1));
  REQUIRE(agent.wait_exit(2));
  CHECK(agent.processes[1].exited->wait_status == 0);
  CHECK(agent.processes[1].exited->loaded_mpi);
  CHECK(agent.processes[2].exited->wait_status == 0);
  CHECK(agent.processes[2].err.empty());  // the loader did preload it
  CHECK_FALSE(agent.processes[2].exited->loaded_mpi);
}

TEST_CASE("a line written in pieces arrives whole") {
  AgentHarness agent;
  REQUIRE(agent.say_hello());
  wire::StartRequest request;
  request.argv = {"/bin/sh", "-c",
                  "printf 'one '; sleep 0.2; printf 'line\\nnext'; "
                  "sleep 0.2; printf ' line\\n'"};
  request.kind = wire::ProcessKind::kRank;
  request.rank = 1;  // the text of rank 0 may be a prompt, which does not wait
  REQUIRE(agent.start(1, request));
  REQUIRE(agent.wait_exit(1));
  const auto& log = agent.processes[1];
  CHECK(log.out == "one line\nnext line\n");
  CHECK(every_piece_is_whole(log));
  CHECK(log.out_pieces[0] == "one line\n");
}

TEST_CASE("a prompt without a line end is shown") {
  AgentHarness agent;
  REQUIRE(agent.say_hello());
  REQUIRE(agent.start(1, "printf 'continue? '; sleep 30"));
  REQUIRE(agent.run_until([&] { return !agent.processes[1].out.empty(); }, 20));
  CHECK(agent.processes[1].out_flags[0] == wire::kStdout);
}

TEST_CASE("an unfinished last line is not lost") {
  AgentHarness agent;
  REQUIRE(agent.say_hello());
  REQUIRE(agent.start(1, "printf 'no newline'"));
  REQUIRE(agent.wait_exit(1));
  CHECK(agent.processes[1].out == "no newline");
  CHECK((agent.processes[1].out_flags.back() & wire::kEnd) != 0);
}

TEST_CASE("ten megabytes without a newline arrive in order") {
  AgentHarness agent;
  REQUIRE(agent.say_hello());
  REQUIRE(agent.start(1, "head -c 10000000 /dev/zero | tr '\\0' x"));
  REQUIRE(agent.wait_exit(1, 60));
  CHECK(agent.processes[1].out == std::string(10'000'000, 'x'));
  CHECK(every_piece_is_whole(agent.processes[1]));
}

TEST_CASE("many lines are neither torn nor reordered") {
  AgentHarness agent;
  REQUIRE(agent.say_hello());
  REQUIRE(agent.start(1, "seq 1 200000"));
  REQUIRE(agent.wait_exit(1, 60));
  std::string expected;
  for (int i = 1; i <= 200000; ++i) expected += std::to_string(i) + "\n";
  CHECK(agent.processes[1].out == expected);
  CHECK(every_piece_is_whole(agent.processes[1]));
}

TEST_CASE("without credit the process waits and control still flows") {
  AgentHarness agent;
  agent.give_credit = false;
  REQUIRE(agent.say_hello());
  wire::StartRequest request;
  request.argv = {"/bin/sh", "-c", "seq 1 200000; echo done >&2"};
  request.credit = 10000;
  REQUIRE(agent.start(1, request));
  const size_t beats = agent.frames[FrameType::kHeartbeat].size();
  REQUIRE(agent.run_until(
      [&] { return agent.frames[FrameType::kHeartbeat].size() >= beats + 5; }));
  const size_t stalled = agent.processes[1].out.size();
  CHECK(stalled > 0);
  CHECK(stalled <= 10000 + 32 * 1024);
  CHECK_FALSE(agent.processes[1].exited);
  CHECK(every_piece_is_whole(agent.processes[1]));
  // Another process starts and ends meanwhile.
  REQUIRE(agent.start(2, "exit 5"));
  REQUIRE(agent.wait_exit(2));

  agent.give_credit = true;
  agent.send(FrameType::kOutputCredit, 1, wire::u32_payload(1 << 20),
             wire::kStdout);
  REQUIRE(agent.wait_exit(1, 30));
  std::string expected;
  for (int i = 1; i <= 200000; ++i) expected += std::to_string(i) + "\n";
  CHECK(agent.processes[1].out == expected);
  CHECK(agent.processes[1].err == "done\n");
}

TEST_CASE("an exit is not held up by missing credit") {
  AgentHarness agent;
  agent.give_credit = false;
  REQUIRE(agent.say_hello());
  wire::StartRequest request;
  request.argv = {"/bin/sh", "-c", "seq 1 10000; exit 9"};  // fits the pipe
  request.credit = 0;
  REQUIRE(agent.start(1, request));
  REQUIRE(agent.wait_exit(1, 5));
  CHECK(agent.processes[1].out.size() == 48894);
  CHECK(agent.processes[1].exited->bytes_lost == 0);
}

TEST_CASE("what cannot be started says why, with the shell's codes") {
  AgentHarness agent;
  REQUIRE(agent.say_hello());
  wire::StartRequest request;
  request.argv = {"no-such-program-anywhere"};
  CHECK_FALSE(agent.start(1, request));
  REQUIRE(agent.processes[1].failed);
  CHECK(agent.processes[1].failed->exit_code == 127);
  CHECK(agent.processes[1].failed->error.text().find(
            "no-such-program-anywhere") != std::string::npos);
  request.argv = {"/etc/passwd"};
  CHECK_FALSE(agent.start(2, request));
  CHECK(agent.processes[2].failed->exit_code == 126);
  request.argv = {"/bin/true"};
  request.cwd = "/no/such/directory";
  CHECK_FALSE(agent.start(3, request));
  CHECK(agent.processes[3].failed->error.code == "cwd_missing");
  request.argv.clear();
  CHECK_FALSE(agent.start(4, request));
}

TEST_CASE("the launcher's directory is taken where it is there") {
  AgentHarness agent;
  REQUIRE(agent.say_hello());
  wire::StartRequest request;
  request.argv = {"/bin/pwd"};
  request.cwd_if_there = "/usr";
  REQUIRE(agent.start(1, request));
  REQUIRE(agent.wait_exit(1));
  CHECK(agent.processes[1].out == "/usr\n");
  request.cwd = "/etc";  // what was asked for
  REQUIRE(agent.start(2, request));
  REQUIRE(agent.wait_exit(2));
  CHECK(agent.processes[2].out == "/etc\n");
  request.cwd.clear();
  const std::string own = std::filesystem::current_path().string() + "\n";
  uint32_t id = 3;
  for (const char* none : {"/no/such/directory", "/etc/passwd", "/proc/1/fd"}) {
    request.cwd_if_there = none;
    if (::geteuid() == 0 && ::access(none, X_OK) == 0) continue;
    REQUIRE(agent.start(id, request));
    REQUIRE(agent.wait_exit(id));
    CHECK(agent.processes[id].out == own);
    ++id;
  }
}

TEST_CASE("an id in use is refused, the process keeps running") {
  AgentHarness agent;
  REQUIRE(agent.say_hello());
  REQUIRE(agent.start(1, "sleep 0.3; echo alive"));
  agent.processes[1].started.reset();
  CHECK_FALSE(agent.start(1, "true"));
  REQUIRE(agent.wait_exit(1));
  CHECK(agent.processes[1].out == "alive\n");
}

TEST_CASE(
    "environment: the pod's, minus unset, plus the request's, plus ours") {
  AgentHarness agent({{"FROM_POD", "pod"}, {"TO_REMOVE", "x"}});
  REQUIRE(agent.say_hello());
  wire::StartRequest request;
  request.kind = wire::ProcessKind::kRank;
  request.rank = 12;
  request.argv = {"/bin/sh", "-c",
                  "echo $FROM_POD,$TO_REMOVE,$ADDED,$MUSTER_RANK,"
                  "$MUSTER_LAUNCH_ID"};
  request.env = {{"ADDED", "added"}};
  request.unset = {"TO_REMOVE"};
  REQUIRE(agent.start(1, request));
  REQUIRE(agent.wait_exit(1));
  CHECK(agent.processes[1].out ==
        "pod,,added,12," + agent.hello.launch_id + "\n");
}

TEST_CASE("stdin reaches the process, within credit, and EOF ends it") {
  AgentHarness agent;
  REQUIRE(agent.say_hello());
  wire::StartRequest request;
  request.argv = {"/bin/cat"};
  request.stdin_open = true;
  REQUIRE(agent.start(1, request));
  std::string sent;
  for (int i = 0; i < 400; ++i) {
    const std::string piece(1000, static_cast<char>('a' + i % 26));
    REQUIRE(agent.run_until(
        [&] { return agent.processes[1].stdin_credit >= piece.size(); }));
    agent.processes[1].stdin_credit -= 1000;
    agent.send(FrameType::kStdin, 1, piece);
    sent += piece;
  }
  agent.send(FrameType::kStdinEof, 1, "");
  REQUIRE(agent.wait_exit(1));
  CHECK(agent.processes[1].out == sent);
}

TEST_CASE("a process that does not read its stdin blocks nobody") {
  AgentHarness agent;
  REQUIRE(agent.say_hello());
  wire::StartRequest request;
  request.argv = {"/bin/sh", "-c", "exec 0<&-; sleep 0.5; echo done"};
  request.stdin_open = true;
  REQUIRE(agent.start(1, request));
  agent.send(FrameType::kStdin, 1, std::string(60000, 'x'));
  agent.send(FrameType::kStdinEof, 1, "");
  REQUIRE(agent.wait_exit(1));
  CHECK(agent.processes[1].out == "done\n");
}

TEST_CASE("without stdin_open the process reads /dev/null") {
  AgentHarness agent;
  REQUIRE(agent.say_hello());
  REQUIRE(agent.start(1, "cat; echo end"));
  REQUIRE(agent.wait_exit(1));
  CHECK(agent.processes[1].out == "end\n");
}

TEST_CASE("signals go to the whole process group") {
  AgentHarness agent;
  REQUIRE(agent.say_hello());
  REQUIRE(agent.start(1, "sleep 100; echo survived"));
  REQUIRE(agent.start(2, "exec sleep 100"));
  agent.send(FrameType::kSignal, 1,
             wire::to_json(wire::SignalRequest{SIGUSR1}));
  REQUIRE(agent.wait_exit(1));
  CHECK(WTERMSIG(agent.processes[1].exited->wait_status) == SIGUSR1);
  CHECK_FALSE(agent.processes[2].exited);
  agent.send(FrameType::kSignal, 0, wire::to_json(wire::SignalRequest{SIGINT}));
  REQUIRE(agent.wait_exit(2));
  CHECK(WTERMSIG(agent.processes[2].exited->wait_status) == SIGINT);
}

TEST_CASE("stop: TERM, grace, KILL, then Stopped") {
  AgentHarness agent;
  REQUIRE(agent.say_hello());
  REQUIRE(agent.start(1,
                      "trap 'echo got TERM; exit 4' TERM; echo up; "
                      "while :; do sleep 0.05; done"));
  REQUIRE(agent.start(2, "trap '' TERM; echo up; while :; do sleep 1; done"));
  REQUIRE(agent.run_until([&] {
    return !agent.processes[1].out.empty() && !agent.processes[2].out.empty();
  }));
  agent.send(FrameType::kStop, 0, wire::to_json(wire::StopRequest{700, false}));
  const auto start = std::chrono::steady_clock::now();
  REQUIRE(agent.run_until(
      [&] { return !agent.frames[FrameType::kStopped].empty(); }));
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - start;
  CHECK(took.count() > 0.6);
  CHECK(took.count() < 30);
  CHECK(agent.processes[1].out == "up\ngot TERM\n");
  REQUIRE(agent.processes[1].exited);
  CHECK(WEXITSTATUS(agent.processes[1].exited->wait_status) == 4);
  REQUIRE(agent.processes[2].exited);
  CHECK(WTERMSIG(agent.processes[2].exited->wait_status) == SIGKILL);
}

TEST_CASE("a second stop with now=true does not wait for the grace") {
  AgentHarness agent;
  REQUIRE(agent.say_hello());
  REQUIRE(agent.start(1, "trap '' TERM; echo up; while :; do sleep 1; done"));
  REQUIRE(agent.run_until([&] { return !agent.processes[1].out.empty(); }));
  agent.send(FrameType::kStop, 0,
             wire::to_json(wire::StopRequest{60000, false}));
  agent.send(
      FrameType::kStart, 5,
      wire::to_json(wire::StartRequest{wire::ProcessKind::kTool, {"true"}}));
  REQUIRE(
      agent.run_until([&] { return agent.processes[5].failed.has_value(); }));
  agent.send(FrameType::kStop, 0, wire::to_json(wire::StopRequest{0, true}));
  REQUIRE(agent.run_until(
      [&] { return !agent.frames[FrameType::kStopped].empty(); }, 40));
  CHECK(agent.frames[FrameType::kStopped].size() == 1);
}

TEST_CASE("a grandchild that daemonized is swept") {
  AgentHarness agent;
  REQUIRE(agent.say_hello());
  REQUIRE(agent.start(1,
                      "(setsid sh -c 'trap \"\" TERM; exec sleep 1000' "
                      ">/dev/null 2>&1 & echo $!)"));
  REQUIRE(agent.wait_exit(1));
  const pid_t daemon = std::stoi(agent.processes[1].out);
  REQUIRE(is_alive(daemon));
  agent.send(FrameType::kStop, 0, wire::to_json(wire::StopRequest{200, false}));
  REQUIRE(agent.run_until(
      [&] { return !agent.frames[FrameType::kStopped].empty(); }));
  CHECK_FALSE(is_alive(daemon));
}

TEST_CASE("a daemonized grandchild without our environment is swept too") {
  AgentHarness agent;
  REQUIRE(agent.say_hello());
  REQUIRE(agent.start(1,
                      "(setsid env -i sleep 1000 >/dev/null 2>&1 & "
                      "echo $!)"));
  REQUIRE(agent.wait_exit(1));
  const pid_t daemon = std::stoi(agent.processes[1].out);
  agent.send(FrameType::kStop, 0, wire::to_json(wire::StopRequest{200, false}));
  REQUIRE(agent.run_until(
      [&] { return !agent.frames[FrameType::kStopped].empty(); }));
  CHECK(eventually([daemon] { return !is_alive(daemon); }));
}

TEST_CASE("a grandchild that holds the pipes delays the exit by 2 s at most") {
  AgentHarness agent;
  REQUIRE(agent.say_hello());
  REQUIRE(agent.start(1, "sleep 60 & echo parent; exit 6"));
  const auto start = std::chrono::steady_clock::now();
  REQUIRE(agent.wait_exit(1));
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - start;
  CHECK(took.count() > 1.5);
  CHECK(took.count() < 40);
  CHECK(WEXITSTATUS(agent.processes[1].exited->wait_status) == 6);
  CHECK(agent.processes[1].exited->ended_ms_ago > 1500);
  CHECK(agent.processes[1].ended_before_exit);
}

TEST_CASE("that a rank failed is told before a grandchild lets its pipes go") {
  AgentHarness agent;
  REQUIRE(agent.say_hello());
  wire::StartRequest request;
  request.kind = wire::ProcessKind::kRank;
  request.rank = 0;
  const std::string held = "(sleep 1; echo late) & echo said; exit ";
  request.argv = {"/bin/sh", "-c", held + "6"};
  REQUIRE(agent.start(1, request));
  REQUIRE(agent.wait_exit(1));
  auto& rank = agent.processes[1];
  CHECK(WEXITSTATUS(rank.exited->wait_status) == 6);
  CHECK(rank.exited->draining);
  CHECK(rank.exited->ended_ms_ago < 900);
  CHECK(rank.out == "said\n");
  rank.exited.reset();
  REQUIRE(agent.wait_exit(1));
  CHECK_FALSE(rank.exited->draining);
  CHECK(WEXITSTATUS(rank.exited->wait_status) == 6);
  CHECK(rank.out == "said\nlate\n");
  CHECK(rank.ended_before_exit);
  // One that ended well keeps nobody waiting.
  request.argv = {"/bin/sh", "-c", held + "0"};
  REQUIRE(agent.start(2, request));
  REQUIRE(agent.wait_exit(2));
  CHECK_FALSE(agent.processes[2].exited->draining);
  CHECK(agent.processes[2].out == "said\nlate\n");
}

TEST_CASE("a kill for memory is told of a rank, and of a shell's command") {
  struct Case {
    int wait_status;
    int64_t before;
    int64_t after;
    bool told;
  };
  const auto one = GENERATE(
      Case{SIGKILL, 1, 2, true}, Case{137 << 8, 1, 2, true},
      Case{SIGKILL, 1, 1, false}, Case{137 << 8, 1, 1, false},
      Case{SIGKILL, -1, 2, false},
      // Another rank of the pod may have been killed, and this one missed it.
      Case{1 << 8, 1, 2, false}, Case{0, 1, 2, false});
  Loop loop;
  std::optional<wire::Exited> told;
  const SendFrame send = [&](FrameType type, uint8_t, uint32_t,
                             std::string_view payload) {
    if (type == FrameType::kExited) {
      told = *wire::from_json<wire::Exited>(payload);
    }
  };
  AgentProcessInfo info;
  info.pid = ::getpid();
  info.oom_kills_before = one.before;
  auto out = make_pipe();
  auto err = make_pipe();
  RecentProcesses recent;
  AgentProcess process(loop, recent, send, info,
                       {UniqueFd(), std::move(out->read), std::move(err->read)},
                       wire::kFirstCredit, [&] { loop.stop(); });
  out->write.reset();
  err->write.reset();
  wire::Exited exit;
  exit.wait_status = one.wait_status;
  process.exited(exit, one.after);
  loop.run();
  REQUIRE(told);
  INFO(one.wait_status << " " << one.before << " " << one.after);
  CHECK(told->oom_killed == one.told);
}
