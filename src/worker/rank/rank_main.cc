// SPDX-License-Identifier: Apache-2.0
#include "worker/rank/rank_main.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

#include "base/fd.h"
#include "job/binding.h"
#include "job/cpu_list.h"
#include "wire/messages.h"
#include "worker/base/agent_exit.h"
#include "worker/rank/loaded_mpi.h"
#include "worker/rank/rank_child.h"
#include "worker/rank/rank_discovery.h"
#include "worker/rank/rank_place.h"
#include "worker/rank/rank_protocol.h"
#include "worker/rank/rank_terminal.h"

namespace muster {

namespace {

constexpr timeval kAgentDeadline{10, 0};

void complain(const std::string& text) {
  std::fprintf(stderr, "muster-agent: %s\n", text.c_str());
}

struct Attachment {
  UniqueFd socket;
  Pipe out;  // the agent owns the read ends by now
  Pipe err;
  Environment env;  // to add
};

wire::Attached describe(const std::vector<std::string>& command,
                        const Environment& env) {
  const RankPlace place = rank_place(env);
  wire::Attached out;
  out.rank = place.rank;
  out.size = place.size;
  out.local_rank = place.local_rank;
  out.local_size = place.local_size;
  out.program = command[0];
  const MpiServers servers = mpi_servers(env);
  out.pmix = servers.pmix;
  out.pmi = servers.pmi;
  return out;
}

bool tell(int socket, RankMessage tag, const std::string& body,
          std::span<const int> fds = {}) {
  return send_with_fds(socket, encode_rank_message(tag, body), fds).has_value();
}

// nullopt: there is no agent above, or it does not answer.
std::optional<Attachment> attach(const wire::Attached& self,
                                 const Environment& env) {
  Attachment out;
  out.socket = connect_agent(parent_chain(::getpid()), run_directories(env));
  auto out_pipe = make_output_like(STDOUT_FILENO);
  auto err_pipe = make_output_like(STDERR_FILENO);
  if (!out.socket || !out_pipe || !err_pipe) return std::nullopt;
  for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    ::setsockopt(out.socket.get(), SOL_SOCKET, option, &kAgentDeadline,
                 sizeof kAgentDeadline);
  }
  const int ends[] = {out_pipe->read.get(), err_pipe->read.get()};
  if (!tell(out.socket.get(), RankMessage::kAttach, wire::to_json(self),
            ends)) {
    return std::nullopt;
  }
  const auto packet = receive_with_fds(out.socket.get(), kRankMessageLimit);
  if (!packet) return std::nullopt;
  const auto message = parse_rank_message(packet->bytes);
  if (!message || message->tag != RankMessage::kEnvironment) {
    return std::nullopt;
  }
  out.env = parse_environment(message->body);
  out_pipe->read.reset();
  err_pipe->read.reset();
  out.out = std::move(*out_pipe);
  out.err = std::move(*err_pipe);
  return out;
}

int shell_code(int saved_errno) {
  return saved_errno == ENOENT || saved_errno == ENOTDIR ? 127 : 126;
}

int cannot_start(const std::string& program, int saved_errno) {
  complain("cannot start " + program + ": " + strerror(saved_errno));
  return shell_code(saved_errno);
}

// For mpirun this process' end is the rank's, and the agent may want mpirun to
// notice it later. That agent's own end is an answer, too.
void wait_for_leave(int socket) {
  constexpr timeval kForever{};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &kForever, sizeof kForever);
  char byte;
  while (::recv(socket, &byte, 1, 0) < 0 && errno == EINTR) {
  }
}

// Runs the program with the agent attached; returns its wait status.
int run_attached(const RankCommand& command, Attachment& agent,
                 wire::Attached self) {
  const auto child =
      start_rank(command, agent.out.write.get(), agent.err.write.get());
  wire::Exited exit;
  if (child) {
    self.pid = child->pid;
    agent.out.write.reset();
    agent.err.write.reset();
    tell(agent.socket.get(), RankMessage::kStarted, wire::to_json(self));
    exit = to_exited(wait_for_rank(*child));
  } else {
    // The agent takes this for the rank's end: the only report.
    const std::string text = "muster-agent: cannot start " + command.argv[0] +
                             ": " + strerror(child.error()) + "\n";
    static_cast<void>(write_all(agent.err.write.get(), text));
    agent.out.write.reset();
    agent.err.write.reset();
    self.pid = ::getpid();
    tell(agent.socket.get(), RankMessage::kStarted, wire::to_json(self));
    exit.wait_status = shell_code(child.error()) << 8;
  }
  if (tell(agent.socket.get(), RankMessage::kExited, wire::to_json(exit))) {
    wait_for_leave(agent.socket.get());
  }
  return exit.wait_status;
}

}  // namespace

int rank_main(std::vector<std::string> command) {
  if (!command.empty() && command[0] == "--") command.erase(command.begin());
  if (command.empty()) {
    complain("rank: no program given; usage: muster-agent rank [--] PROGRAM");
    return 2;
  }
  RankCommand program{command, current_environment()};
  const wire::Attached self = describe(command, program.env);
  auto agent = attach(self, program.env);
  add_missing(program.env, rank_variables(rank_place(program.env)));
  if (!agent) {
    complain("no agent above this process; " + command[0] +
             " runs without muster's logs and exit report");
    return cannot_start(command[0], exec_rank(program));
  }
  add_missing(program.env, agent->env);
  if (const std::string* cpus = find_env(agent->env, kCpusVariable)) {
    program.cpus = parse_cpu_list(*cpus).value_or(std::vector<int>{});
  }
  return leave_like(run_attached(program, *agent, self));
}

}  // namespace muster
