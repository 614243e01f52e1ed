// SPDX-License-Identifier: Apache-2.0
// The rank wrapper, against a real agent and alone.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent_harness.h"
#include "base/process_table.h"
#include "base/spawn.h"
#include "catch.h"
#include "job/cpu_list.h"
#include "worker/facts/facts_cpu.h"
#include "worker/rank/rank_place.h"
#include "worker/rank/rank_protocol.h"

using namespace muster;
using muster::test::agent_binary;
using muster::test::AgentHarness;
using wire::FrameType;

namespace {

// A tool that stands for orted: it starts the wrapper, which starts `script`.
wire::StartRequest daemon_with_rank(const std::string& script,
                                    const std::string& before = "") {
  wire::StartRequest request;
  request.kind = wire::ProcessKind::kDaemon;
  request.argv = {"/bin/sh", "-c",
                  before + " \"$0\" rank -- sh -c \"$1\"; echo daemon $?",
                  agent_binary(), script};
  return request;
}

bool wait_attached(AgentHarness& agent) {
  return agent.run_until(
      [&] { return agent.processes[wire::kAttachedIds].attached.has_value(); });
}

}  // namespace

TEST_CASE("a wrapped rank reports place, output and exit") {
  AgentHarness agent;
  REQUIRE(agent.say_hello());
  auto request = daemon_with_rank(
      "echo $RANK/$WORLD_SIZE/$LOCAL_RANK/$LOCAL_WORLD_SIZE $EXTRA $MINE;"
      "echo err >&2; exit 7",
      "OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=8 "
      "OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_LOCAL_SIZE=2 MINE=user");
  request.rank_env = {{"EXTRA", "from-plan"}, {"MINE", "plan"}};
  REQUIRE(agent.start(1, request));
  REQUIRE(wait_attached(agent));
  REQUIRE(agent.wait_exit(wire::kAttachedIds));
  const auto& rank = agent.processes[wire::kAttachedIds];
  CHECK(rank.attached->rank == 3);
  CHECK(rank.attached->size == 8);
  CHECK(rank.attached->local_rank == 1);
  CHECK(rank.attached->parent_id == 1);
  CHECK(rank.attached->program == "sh");
  CHECK(rank.attached->pid > 0);
  CHECK(rank.out == "3/8/1/2 from-plan user\n");
  CHECK(rank.err == "err\n");
  CHECK(WEXITSTATUS(rank.exited->wait_status) == 7);
  CHECK(rank.ended_before_exit);
  REQUIRE(agent.wait_exit(1));
  CHECK(agent.processes[1].out == "daemon 7\n");
}

TEST_CASE("a wrapped rank goes to the place of its local rank") {
  const std::vector<int> cpus = allowed_cpus();
  REQUIRE_FALSE(cpus.empty());
  const std::string last = std::to_string(cpus.back());
  const std::string script =
      "echo $MUSTER_CPUS/$GPU $(sed -n "
      "'s/Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)";
  const auto run = [&](const std::string& local) {
    AgentHarness agent;
    REQUIRE(agent.say_hello());
    auto request =
        daemon_with_rank(script,
                         "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_LOCAL_RANK=1 "
                         "MUSTER_CPUS=77 OMPI_COMM_WORLD_LOCAL_SIZE=" +
                             local);
    request.local_rank_env = {
        {{"GPU", "a"}, {"MUSTER_CPUS", "60000"}},
        {{"GPU", "b"}, {"MUSTER_CPUS", last}},
    };
    REQUIRE(agent.start(1, request));
    REQUIRE(wait_attached(agent));
    REQUIRE(agent.wait_exit(wire::kAttachedIds));
    CHECK(agent.processes[wire::kAttachedIds].attached->local_size ==
          std::stoi(local));
    return agent.processes[wire::kAttachedIds].out;
  };
  CHECK(run("2") == last + "/b " + last + "\n");
  // Three where two were planned: nobody knows whose place is whose, and what
  // came from elsewhere in the environment binds nobody.
  CHECK(run("3") == "77/ " + cpu_list_text(cpus) + "\n");
}

TEST_CASE("wrapped ranks that outnumber the CPUs yield, unless told not to") {
  const auto run = [](const std::string& local_size, const std::string& more) {
    AgentHarness agent;
    REQUIRE(agent.say_hello());
    REQUIRE(agent.start(
        1, daemon_with_rank("echo \"[$OMPI_MCA_mpi_yield_when_idle]\"",
                            "OMPI_COMM_WORLD_RANK=0 "
                            "OMPI_COMM_WORLD_LOCAL_RANK=0 " +
                                more +
                                " OMPI_COMM_WORLD_LOCAL_SIZE=" + local_size)));
    REQUIRE(wait_attached(agent));
    REQUIRE(agent.wait_exit(wire::kAttachedIds));
    return agent.processes[wire::kAttachedIds].out;
  };
  CHECK(run("1", "") == "[]\n");
  CHECK(run("60000", "") == "[1]\n");
  CHECK(run("60000", "OMPI_MCA_mpi_yield_when_idle=0") == "[0]\n");
}

TEST_CASE("a rank with another MPI's library is alone unless one joins later") {
  const auto lonely = [](const std::string& then) {
    AgentHarness agent;
    REQUIRE(agent.say_hello());
    REQUIRE(agent.start(
        1, daemon_with_rank("d=$(mktemp -d) && trap 'rm -r $d' EXIT && "
                            "for f in libopen-pal.so.40 libmpich.so.12; do "
                            "cp $(command -v sleep) $d/$f; done; "
                            "$d/libopen-pal.so.40 0.7; " +
                                then,
                            "PMI_RANK=1 PMI_SIZE=2 PMI_FD=9")));
    REQUIRE(wait_attached(agent));
    REQUIRE(agent.wait_exit(wire::kAttachedIds));
    return agent.processes[wire::kAttachedIds].exited->lonely_mpi;
  };
  CHECK(lonely("$d/libopen-pal.so.40 3") == "Open MPI");
  CHECK(lonely("$d/libmpich.so.12 3").empty());
}

TEST_CASE("CPUs that a wrapped rank cannot have are told, and it runs") {
  AgentHarness agent;
  REQUIRE(agent.say_hello());
  auto request = daemon_with_rank("echo ran",
                                  "OMPI_COMM_WORLD_RANK=0 "
                                  "OMPI_COMM_WORLD_LOCAL_RANK=0 "
                                  "OMPI_COMM_WORLD_LOCAL_SIZE=1");
  request.local_rank_env = {{{"MUSTER_CPUS", "65000"}}};
  REQUIRE(agent.start(1, request));
  REQUIRE(agent.wait_exit(wire::kAttachedIds));
  const auto& rank = agent.processes[wire::kAttachedIds];
  CHECK(rank.out == "ran\n");
  CHECK(rank.err.find("not bound to CPUs 65000") != std::string::npos);
}

TEST_CASE("a wrapped rank that is killed kills its wrapper the same way") {
  AgentHarness agent;
  REQUIRE(agent.say_hello());
  REQUIRE(agent.start(1, daemon_with_rank("kill -SEGV $$")));
  REQUIRE(agent.wait_exit(wire::kAttachedIds));
  const int status = agent.processes[wire::kAttachedIds].exited->wait_status;
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGSEGV);
  REQUIRE(agent.wait_exit(1));
  CHECK(agent.processes[1].out == "daemon 139\n");
}

TEST_CASE("a program that is not there ends a wrapped rank with 127") {
  AgentHarness agent;
  REQUIRE(agent.say_hello());
  wire::StartRequest request;
  request.argv = {"/bin/sh", "-c", "\"$0\" rank no-such-program; echo $?",
                  agent_binary()};
  REQUIRE(agent.start(1, request));
  REQUIRE(agent.wait_exit(wire::kAttachedIds));
  const auto& rank = agent.processes[wire::kAttachedIds];
  CHECK(WEXITSTATUS(rank.exited->wait_status) == 127);
  CHECK(rank.err.find("cannot start no-such-program") != std::string::npos);
  REQUIRE(agent.wait_exit(1));
  CHECK(agent.processes[1].out == "127\n");
}

TEST_CASE("what the kernel does not start is sh's, but no foreign program") {
  const auto started = [](const std::string& text) {
    const std::string path = test::unique_name("/tmp/not-a-program-");
    REQUIRE(write_file_atomically(path, text, 0755));
    AgentHarness agent;
    REQUIRE(agent.say_hello());
    wire::StartRequest request;
    request.argv = {"/bin/sh", "-c", "\"$0\" rank \"$1\"; true", agent_binary(),
                    path};
    REQUIRE(agent.start(1, request));
    REQUIRE(agent.wait_exit(wire::kAttachedIds));
    ::unlink(path.c_str());
    return agent.processes[wire::kAttachedIds];
  };
  const auto script = started("echo read by sh\n");
  CHECK(script.out == "read by sh\n");
  CHECK(WEXITSTATUS(script.exited->wait_status) == 0);
  const auto foreign = started("\177ELF\nexit 5\n");
  CHECK(foreign.err.find("Exec format error") != std::string::npos);
  CHECK(WEXITSTATUS(foreign.exited->wait_status) == 126);
}

TEST_CASE("the wrapper passes signals on and keeps inherited descriptors") {
  AgentHarness agent;
  REQUIRE(agent.say_hello());
  wire::StartRequest request;
  request.argv = {"/bin/sh", "-c",
                  "exec 9</etc/hostname; \"$0\" rank sh -c '"
                  "trap \"echo got USR1; exit 0\" USR1; "
                  "test -e /dev/fd/9 && echo fd open; "
                  "while :; do sleep 0.05; done' & "
                  "sleep 0.1; wait $!",
                  agent_binary()};
  REQUIRE(agent.start(1, request));
  REQUIRE(wait_attached(agent));
  auto& rank = agent.processes[wire::kAttachedIds];
  REQUIRE(agent.run_until([&] { return !rank.out.empty(); }));
  ::kill(parent_of(rank.attached->pid), SIGUSR1);
  REQUIRE(agent.wait_exit(wire::kAttachedIds));
  CHECK(rank.out == "fd open\ngot USR1\n");
}

TEST_CASE("a wrapper that is killed takes its rank along and is reported") {
  AgentHarness agent;
  REQUIRE(agent.say_hello());
  REQUIRE(agent.start(1, daemon_with_rank("exec sleep 100")));
  REQUIRE(wait_attached(agent));
  const pid_t pid = agent.processes[wire::kAttachedIds].attached->pid;
  ::kill(parent_of(pid), SIGKILL);
  REQUIRE(agent.wait_exit(wire::kAttachedIds));
  CHECK(WTERMSIG(agent.processes[wire::kAttachedIds].exited->wait_status) ==
        SIGKILL);
  CHECK(agent.run_until([&] { return !is_alive(pid); }));
}

TEST_CASE("stop ends wrapped ranks with one TERM") {
  AgentHarness agent;
  REQUIRE(agent.say_hello());
  REQUIRE(agent.start(
      1, daemon_with_rank("trap 'echo TERM' TERM; echo up; "
                          "i=0; while [ $i -lt 12 ]; do sleep 0.05; "
                          "i=$((i+1)); done",
                          "trap : TERM;")));
  REQUIRE(wait_attached(agent));
  auto& rank = agent.processes[wire::kAttachedIds];
  REQUIRE(agent.run_until([&] { return !rank.out.empty(); }));
  agent.send(FrameType::kStop, 0,
             wire::to_json(wire::StopRequest{5000, false}));
  REQUIRE(agent.run_until(
      [&] { return !agent.frames[FrameType::kStopped].empty(); }));
  REQUIRE(rank.exited);
  CHECK(rank.out == "up\nTERM\n");
}

TEST_CASE("credits hold a wrapped rank back") {
  AgentHarness agent;
  agent.give_credit = false;
  REQUIRE(agent.say_hello());
  REQUIRE(agent.start(1, daemon_with_rank("seq 1 200000")));
  REQUIRE(wait_attached(agent));
  auto& rank = agent.processes[wire::kAttachedIds];
  const size_t beats = agent.frames[FrameType::kHeartbeat].size();
  REQUIRE(agent.run_until(
      [&] { return agent.frames[FrameType::kHeartbeat].size() >= beats + 3; }));
  CHECK(rank.out.size() <= (64 + 32) * 1024);
  agent.give_credit = true;
  agent.send(FrameType::kOutputCredit, wire::kAttachedIds,
             wire::u32_payload(1 << 20), wire::kStdout);
  REQUIRE(agent.wait_exit(wire::kAttachedIds));
  CHECK(rank.out.size() == 1288895);
}

// Runs only where the MPI is installed; two real ranks under its own daemons.
TEST_CASE("ranks that a real mpirun starts attach") {
  const std::string search = "/usr/bin:/usr/local/bin";
  struct Launcher {
    std::string program;
    std::vector<std::string> options;
    std::string stdout_is;  // as each gives it to a rank
  };
  const std::string many(300000, 'x');  // none is lost when the rank ends
  const Launcher launchers[] = {
      {"mpirun.openmpi",
       {"--allow-run-as-root", "--oversubscribe", "-np", "2", "--mca",
        "orte_fork_agent", agent_binary() + " rank"},
       "a terminal"},
      {"mpiexec.hydra", {"-n", "2", agent_binary(), "rank"}, "a pipe"}};
  for (const Launcher& launcher : launchers) {
    if (!find_program(launcher.program, search)) continue;
    INFO(launcher.program);
    AgentHarness agent;
    REQUIRE(agent.say_hello());
    wire::StartRequest request;
    request.argv = {launcher.program};
    request.argv.insert(request.argv.end(), launcher.options.begin(),
                        launcher.options.end());
    for (const char* word :
         {"sh", "-c",
          "sleep 0.2; test -t 1 && is='a terminal'; echo $RANK of $WORLD_SIZE "
          "has ${is:-a pipe}; head -c 300000 /dev/zero | tr '\\0' x"}) {
      request.argv.emplace_back(word);
    }
    REQUIRE(agent.start(1, request));
    REQUIRE(agent.wait_exit(1, 60));
    CHECK(agent.processes[1].err.empty());
    CHECK(agent.processes[1].exited->wait_status == 0);
    for (const uint32_t id : {wire::kAttachedIds, wire::kAttachedIds + 1}) {
      REQUIRE(agent.wait_exit(id));
      const auto& rank = agent.processes[id];
      CHECK(rank.attached->size == 2);
      CHECK(rank.attached->parent_id == 1);
      CHECK(rank.exited->wait_status == 0);
      CHECK(rank.out == std::to_string(rank.attached->rank) + " of 2 has " +
                            launcher.stdout_is + "\n" + many);
    }
    CHECK(agent.processes[wire::kAttachedIds].attached->rank !=
          agent.processes[wire::kAttachedIds + 1].attached->rank);
  }
}

TEST_CASE("without an agent above, the wrapper becomes the program") {
  const std::string command =
      agent_binary() + " rank -- sh -c 'echo $RANK; exit 9' 2>&1";
  FILE* pipe = ::popen(("env PMI_RANK=4 " + command).c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string out;
  char buffer[256];
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) out += buffer;
  const int status = ::pclose(pipe);
  CHECK(WEXITSTATUS(status) == 9);
  CHECK(out.find("no agent above") != std::string::npos);
  CHECK(out.substr(out.size() - 2) == "4\n");
}

TEST_CASE("rank_place reads every MPI's names and ignores nonsense") {
  CHECK(rank_place({{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}}).rank == 2);
  CHECK(rank_place({{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}}).size == 4);
  CHECK(rank_place({{"PMIX_RANK", "5"}}).rank == 5);
  CHECK(rank_place({{"MPI_LOCALRANKID", "1"}}).local_rank == 1);
  CHECK(rank_place({{"PMI_RANK", "two"}}).rank == -1);
  CHECK(rank_place({{"PMI_RANK", "-1"}}).rank == -1);
  CHECK(rank_place({}).size == -1);
}

TEST_CASE("add_missing leaves the user's values alone, but for our own") {
  Environment env{{"RANK", "user"}, {"MUSTER_AGENT", "other"}};
  add_missing(env, {{"RANK", "1"}, {"MUSTER_AGENT", "mine"}, {"NEW", "x"}});
  CHECK(*find_env(env, "RANK") == "user");
  CHECK(*find_env(env, "MUSTER_AGENT") == "mine");
  CHECK(*find_env(env, "NEW") == "x");
}

TEST_CASE("rank messages survive any value, reject other packets") {
  const Environment env{{"A", "x=y\nz"}, {"B", ""}};
  CHECK(parse_environment(encode_environment(env)) == env);
  CHECK_FALSE(parse_rank_message(""));
  CHECK_FALSE(parse_rank_message("?"));
  const auto packet = encode_rank_message(RankMessage::kExited, "{}");
  CHECK(parse_rank_message(packet)->body == "{}");
}
