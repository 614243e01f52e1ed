// SPDX-License-Identifier: Apache-2.0
#include "test_server.h"

#include <arpa/inet.h>
#include <libssh/libssh.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <stdexcept>

#include "base/log.h"
#include "sshd-lite/keygen.h"
#include "sshd-lite/server.h"

namespace muster::test {

namespace {

Result<ProgramPipes> run_shell(const std::string& command, pid_t& pid) {
  auto input = make_pipe();
  auto output = make_pipe();
  auto errors = make_pipe();
  SpawnOptions options;
  options.argv = {"/bin/sh", "-c", command};
  options.env = current_environment();
  options.fds = {{input->read.get(), 0},
                 {output->write.get(), 1},
                 {errors->write.get(), 2}};
  const auto started = spawn(options);
  if (!started) return tl::unexpected(started.error());
  pid = *started;
  return ProgramPipes{std::move(input->write), std::move(output->read),
                      std::move(errors->read)};
}

[[noreturn]] void serve(const std::string& key_directory, size_t limit,
                        int auth_timeout_ms, int audit, int report) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGPIPE, SIG_IGN);
  log::Options quiet;
  quiet.level = std::getenv("MUSTER_TEST_DEBUG") != nullptr
                    ? log::Level::kDebug
                    : log::Level::kError;
  log::configure(quiet);
  ssh_init();
  Loop loop;
  Reaper reaper(loop);
  auto keys = KeyStore::open(key_files_in(key_directory));
  if (!keys) ::_exit(1);
  std::map<ConnectionId, pid_t> programs;
  std::unique_ptr<Server> server;
  ServerEvents events;
  events.on_exec = [&](ConnectionId id,
                       const ExecRequest& request) -> Result<StartedProgram> {
    if (request.command.starts_with("refuse me")) {
      std::string why = "as asked";
      if (request.command != "refuse me") why += std::string(100'000, '.');
      return fail(Error{"exec_refused", "command refused", why, {}, {}});
    }
    pid_t pid = 0;
    auto pipes = run_shell(request.command, pid);
    if (!pipes) return tl::unexpected(pipes.error());
    programs[id] = pid;
    reaper.watch(pid, [&, id](const ChildExit& exit) {
      server->report_exit(id, exit.wait_status);
    });
    return StartedProgram{std::move(*pipes), pid, "any", {}};
  };
  ServerOptions options;
  options.address = "127.0.0.1";
  options.port = 0;
  options.max_unauthenticated = limit;
  options.auth_timeout = Milliseconds(auth_timeout_ms);
  options.audit.fd = audit;
  options.door_timeout = Milliseconds(auth_timeout_ms);
  auto listening =
      Server::listen(loop, reaper, *keys, options, std::move(events));
  if (!listening) ::_exit(1);
  server = std::move(*listening);
  const int port = server->port();
  if (::write(report, &port, sizeof port) != sizeof port) ::_exit(1);
  loop.run();
  ::_exit(0);
}

}  // namespace

KeyDirectory::KeyDirectory(const SshKey& key, const std::string& parent)
    : path_(parent + "/muster-test-keys-XXXXXX") {
  // As every program does that logs in: a server may leave at any time.
  ::signal(SIGPIPE, SIG_IGN);
  if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("mkdtemp");
  if (!write_key_files(key, path_)) throw std::runtime_error("keys");
}

KeyDirectory::~KeyDirectory() { std::filesystem::remove_all(path_); }

TestServer::TestServer(const std::string& key_directory,
                       size_t max_unauthenticated, int auth_timeout_ms,
                       int audit) {
  auto report = make_pipe();
  pid_ = ::fork();
  if (pid_ == 0) {
    serve(key_directory, max_unauthenticated, auth_timeout_ms, audit,
          report->write.get());
  }
  report->write.reset();
  if (::read(report->read.get(), &port_, sizeof port_) != sizeof port_) {
    throw std::runtime_error("the test server did not start");
  }
}

TestServer::~TestServer() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

int connect_to(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) !=
      0) {
    throw std::runtime_error("connect");
  }
  return fd;
}

StepByStep::StepByStep(int port) : session_(ssh_new()) {
  const bool no_files = false;
  const socket_t socket = connect_to(port);
  for (const auto& [option, value] :
       {std::pair<ssh_options_e, const void*>{SSH_OPTIONS_HOST, "worker"},
        {SSH_OPTIONS_PROCESS_CONFIG, &no_files},
        {SSH_OPTIONS_SSH_DIR, "/nonexistent"},
        {SSH_OPTIONS_KNOWNHOSTS, "/dev/null"},
        {SSH_OPTIONS_USER, "anyone"},
        {SSH_OPTIONS_FD, &socket}}) {
    ssh_options_set(session_, option, value);
  }
  if (ssh_connect(session_) != SSH_OK) throw std::runtime_error("ssh_connect");
}

StepByStep::~StepByStep() {
  ssh_disconnect(session_);
  ssh_free(session_);
}

int StepByStep::offer(const SshKey& key) {
  return ssh_userauth_publickey(session_, nullptr, key.get());
}

}  // namespace muster::test
